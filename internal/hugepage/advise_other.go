//go:build !linux

package hugepage

// Advise does nothing: huge pages are a matter of speed.
func Advise(addr, size uintptr) {}
