package prefetch

import "unsafe"

// cacheLine is the size of a cache line of amd64.
const cacheLine = 64

// Line fetches the first cache line of *p. It reads nothing: p may be nil.
func Line[T any](p *T) { lines(unsafe.Pointer(p), 1) }

// Object fetches the memory of *p. It reads nothing: p may be nil.
func Object[T any](p *T) {
	lines(unsafe.Pointer(p), (unsafe.Sizeof(*p)+cacheLine-1)/cacheLine)
}

// Between fetches the memory from *from up to before *to. It reads nothing.
func Between[A, B any](from *A, to *B) {
	first := uintptr(unsafe.Pointer(from)) / cacheLine
	last := (uintptr(unsafe.Pointer(to)) - 1) / cacheLine
	lines(unsafe.Pointer(from), last-first+1)
}
