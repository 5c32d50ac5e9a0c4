package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// realtime gives the calling thread priority over other programs on its core, as cores that poll
// ports have (sched(7): SCHED_FIFO, at the lowest priority). It returns a function that undoes it.
func realtime() (undo func(), err error) {
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return nil, fmt.Errorf("--realtime: %w", err)
	}
	err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO,
		Priority: 1}, 0)
	if err != nil {
		return nil, fmt.Errorf("--realtime: %w", err)
	}
	return func() { _ = unix.SchedSetAttr(0, was, 0) }, nil
}
