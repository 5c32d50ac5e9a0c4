package prefetch

import "unsafe"

// lines fetches n cache lines, the first of which holds p.
//
//go:noescape
func lines(p unsafe.Pointer, n uintptr)
