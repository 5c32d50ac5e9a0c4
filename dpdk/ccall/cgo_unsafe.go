//go:build !(go1.26 && !go1.28 && amd64 && !race && !asan && !msan && !goroce_cgo)

package ccall

/*
#cgo noescape gr_call
#cgo nocallback gr_call
#include <stdint.h>

static void gr_call(uintptr_t fn, uintptr_t arg) { ((void (*)(void *))fn)((void *)arg); }
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Call calls the C function fn, of type void (*)(void *), with an argument.
func Call(fn, arg unsafe.Pointer) {
	// as a number, since the argument holds pointers to Go memory, which cgo would reject
	C.gr_call(C.uintptr_t(uintptr(fn)), C.uintptr_t(uintptr(arg)))
	runtime.KeepAlive(arg)
}
