package faults

/*
#cgo pkg-config: libdpdk
#cgo CFLAGS: -DALLOW_EXPERIMENTAL_API
#cgo LDFLAGS: -Wl,--no-as-needed -lrte_net_ring -lrte_hash -Wl,--as-needed -ldl
#include <stdlib.h>
#include "fault.h"
*/
import "C"

import (
	"testing"
	"unsafe"
)

// Arm makes the n-th of the following calls of the named function fail, or with "" the n-th call of
// any wrapped function. The end of the test disarms it.
func Arm(tb testing.TB, n int, name string) {
	tb.Helper()
	tb.Cleanup(func() { Disarm() })
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	C.gr_fault_arm(C.uint(n), s)
}

// Disarm lets all calls succeed again and returns the name of the function whose call failed, or
// "".
func Disarm() string { return C.GoString(C.gr_fault_disarm()) }
