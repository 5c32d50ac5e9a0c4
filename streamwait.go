package goroce

import (
	"net"
	"os"
	"sync/atomic"
)

// streamWaiter is where the one caller of a direction waits for the polling core.
type streamWaiter struct {
	doze    doze
	waiting atomic.Bool
	wake    chan struct{} // holds a token if the caller should look again
}

// signal wakes the caller, and reports whether there is one.
func (w *streamWaiter) signal() (woke bool) {
	if w.doze.wake() {
		return true
	}
	if woke = w.waiting.Load(); woke {
		select {
		case w.wake <- struct{}{}:
		default: // a token is there
		}
	}
	return woke
}

// await waits until ready returns true or an error, or the stream or the deadline ends.
func (w *streamWaiter) await(s *Stream, d *deadline, ready func() (bool, error)) error {
	passed := d.reached()
	switch {
	case isClosed(s.closed):
		return net.ErrClosed
	case isClosed(passed):
		return os.ErrDeadlineExceeded
	}
	if is, err := ready(); is || err != nil {
		return err
	}
	for spin, limit := (spinner{}), spinTime(s.conn.spin); spin.again(limit); {
		if is, err := ready(); is || err != nil {
			return err
		}
	}
	if onPollingCore() {
		return ErrOnCore
	}
	w.doze.try(func() bool { is, err := ready(); return is || err != nil })
	w.waiting.Store(true)
	defer w.waiting.Store(false)
	for {
		if is, err := ready(); is || err != nil {
			return err
		}
		select {
		case <-w.wake:
		case <-s.conn.failed:
		case <-s.closed:
			return net.ErrClosed
		case <-passed:
			if passed = d.reached(); isClosed(passed) {
				return os.ErrDeadlineExceeded
			}
		}
	}
}
