//go:build !amd64

package prefetch

import "unsafe"

// lines does nothing: prefetching is a matter of speed.
func lines(unsafe.Pointer, uintptr) {}
