package eal

/*
#include "interrupt.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
)

// ErrAlarm says that OnInterrupt did not run its function.
var ErrAlarm = errors.New("eal: alarm")

// OnInterrupt runs fn on EAL's interrupt thread, where drivers handle what they are told about
// their devices, and waits for it: nothing of that kind happens meanwhile. It must run inside a
// Call, and the main thread's state may be used in fn, since the main thread waits. fn must not
// Call in turn.
func OnInterrupt(fn func() error) error {
	done := make(chan error, 1)
	call := cgo.NewHandle(func() { done <- fn() })
	if rc := C.gr_on_interrupt(C.uintptr_t(call)); rc != 0 {
		call.Delete()
		return fmt.Errorf("%w: %w", ErrAlarm, Errno(int(rc)))
	}
	return <-done
}

//export goOnInterrupt
func goOnInterrupt(call C.uintptr_t) {
	h := cgo.Handle(call)
	fn := h.Value().(func())
	h.Delete()
	fn()
}
