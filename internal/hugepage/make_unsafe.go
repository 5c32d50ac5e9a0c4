package hugepage

import "unsafe"

// Make returns n zero bytes, on huge pages if they fill one.
func Make(n int) []byte {
	mem := make([]byte, n)
	if n >= pageSize {
		Advise(uintptr(unsafe.Pointer(&mem[0])), uintptr(n))
	}
	return mem
}
