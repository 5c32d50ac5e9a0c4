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

// ErrAlarm is returned if OnInterrupt did not run its function.
var ErrAlarm = errors.New("eal: alarm")

// OnInterrupt runs fn on EAL's interrupt thread and waits for it. Drivers handle the events of
// their devices on that thread, so no event is handled meanwhile. It must run inside a Call. Since
// the main thread waits, fn may access the main thread's state. fn must not use Call.
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
