package goroce

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/goroce/goroce/internal/queue"
	"github.com/goroce/goroce/units"
)

// ErrOnCore is returned by a call that waits for a polling core, or for a peer, when it is made on
// a polling core: in a function of Host.Do or in a Program. There it would never return.
var ErrOnCore = errors.New("goroce: blocking call on a polling core")

// defaultSpin is how long a caller spins before its goroutine waits: several round trips in a rack,
// and what it takes to wake a goroutine.
const defaultSpin = 20 * units.Microsecond

// spinTime returns how long a caller spins, for an Options.Spin. Spinning needs a processor beside
// those of the polling cores, or it delays what it waits for.
func spinTime(asked units.Duration) units.Duration {
	switch {
	case asked < 0:
		return 0
	case asked > 0:
		return asked
	case int(polling.Load()) >= processors():
		return 0
	}
	return defaultSpin
}

// spinner measures the time of one caller's spinning.
type spinner struct {
	until, yieldAt units.Time
}

// spinYield is how long a caller spins between letting other goroutines run.
const spinYield = 2 * units.Microsecond

// again waits a moment and reports whether the caller may spin on. The first call begins the time.
func (s *spinner) again(limit units.Duration) bool {
	if limit == 0 {
		return false
	}
	now := processClock().Now()
	switch {
	case s.until == 0:
		s.until, s.yieldAt = now.Add(limit), now.Add(spinYield)
	case now.After(s.until):
		return false
	case now.After(s.yieldAt):
		runtime.Gosched()
		s.yieldAt = processClock().Now().Add(spinYield)
	}
	relax(2)
	return true
}

// waitQueue is a queue whose consumers can wait: by spinning, which costs the producer nothing,
// then in a thread, then in the Go scheduler.
type waitQueue[T any] struct {
	values  *queue.Queue[T]
	waiting atomic.Int32
	doze    doze
	dozing  atomic.Bool   // one consumer at a time
	wake    chan struct{} // holds a token if a waiting consumer may find a value
}

func newWaitQueue[T any](n int) waitQueue[T] {
	return waitQueue[T]{values: queue.New[T](n), wake: make(chan struct{}, 1)}
}

// put adds a value, and reports whether it woke a consumer. The queue must have room for it.
func (q *waitQueue[T]) put(v *T) (woke bool) {
	q.values.Put(v)
	return q.signal()
}

// signal wakes a waiting consumer, and reports whether there is one.
func (q *waitQueue[T]) signal() (woke bool) {
	if q.doze.wake() {
		return true
	}
	if q.waiting.Load() == 0 {
		return false
	}
	select {
	case q.wake <- struct{}{}:
	default: // a token is there
	}
	return true
}

// take waits for a value. Without one it returns the context's error, or errEnded after ended is
// closed.
func (q *waitQueue[T]) take(ctx context.Context, ended <-chan struct{}, spin units.Duration,
	v *T) error {
	if q.values.Take(v) {
		return nil
	}
	for s := (spinner{}); s.again(spin); {
		if q.values.Take(v) {
			return nil
		}
	}
	return q.wait(ctx, ended, v)
}

func (q *waitQueue[T]) hasValues() bool { return q.values.Len() > 0 }

// errEnded is the result of a waitQueue whose producer has ended.
var errEnded = errors.New("ended")

func (q *waitQueue[T]) wait(ctx context.Context, ended <-chan struct{}, v *T) error {
	if onPollingCore() {
		return ErrOnCore
	}
	if q.dozing.CompareAndSwap(false, true) {
		q.doze.try(q.hasValues)
		q.dozing.Store(false)
	}
	q.waiting.Add(1)
	defer q.waiting.Add(-1)
	for !q.values.Take(v) {
		select {
		case <-q.wake:
		case <-ended:
			if q.values.Take(v) { // came before the end
				return nil
			}
			return errEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if q.values.Len() > 0 { // one token may stand for several values
		q.signal()
	}
	return nil
}
