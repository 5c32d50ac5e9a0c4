package goroce

import (
	"sync"
	"time"
)

// deadline is a time that can be changed while callers wait for it.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer   // nil without a time to come
	passed chan struct{} // closed while the time has passed
}

func newDeadline() *deadline { return &deadline{passed: make(chan struct{})} }

// set changes the deadline; the zero time means none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.passed // the timer's function closes it
	}
	d.timer = nil
	if isClosed(d.passed) {
		d.passed = make(chan struct{})
	}
	passed := d.passed
	switch left := time.Until(t); {
	case t.IsZero():
	case left <= 0:
		close(passed)
	default:
		d.timer = time.AfterFunc(left, func() { close(passed) })
	}
}

// reached returns a channel that is closed when the deadline passes, unless it is changed before.
func (d *deadline) reached() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
