//go:build go1.26 && !go1.28 && amd64 && !race && !asan && !msan && !goroce_cgo

package ccall

import "unsafe"

// Call calls the C function fn, of type void (*)(void *), with an argument.
func Call(fn, arg unsafe.Pointer) { asmcgocall(fn, arg) }

//go:linkname asmcgocall runtime.asmcgocall
//go:noescape
func asmcgocall(fn, arg unsafe.Pointer) int32
