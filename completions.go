package goroce

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Completions is a bounded queue of completions, for operations that a program posts without
// waiting (Conn.Post). It may serve several connections and several goroutines.
type Completions struct {
	done     waitQueue[Completion]
	capacity int64
	reserved atomic.Int64 // operations posted, and completions that nobody has taken
}

// Completion is the outcome of an operation.
type Completion struct {
	ID    uint64 // Request.ID
	Conn  *Conn
	Op    transport.Op
	Value uint64 // of an atomic: the memory before the operation
	Err   error  // nil, or an *OpError
}

// NewCompletions returns a queue of n places. An operation takes a place from Post until its
// completion is taken from the queue.
func NewCompletions(n int) (*Completions, error) {
	const most = 1 << 20
	if n < 1 || n > most {
		return nil, fmt.Errorf("goroce: completions: %d places, want 1 to %d: %w", n, most,
			transport.ErrInvalid)
	}
	return &Completions{done: newWaitQueue[Completion](n), capacity: int64(n)}, nil
}

// reserve takes a place and reports whether there was one.
func (q *Completions) reserve() bool {
	if q.reserved.Add(1) <= q.capacity {
		return true
	}
	q.reserved.Add(-1)
	return false
}

func (q *Completions) release() { q.reserved.Add(-1) }

// Pending returns the number of places taken: operations that have not completed, and completions
// in the queue.
func (q *Completions) Pending() int { return int(q.reserved.Load()) }

// Poll moves up to len(to) completions from the queue and returns how many. It does not wait.
func (q *Completions) Poll(to []Completion) int {
	for i := range to {
		if !q.done.values.Take(&to[i]) {
			return i
		}
		q.release()
	}
	return len(to)
}

// Next waits for a completion. Operations of a connection that ends complete with errors, so that
// each completes in the end. Other goroutines may post while Next waits.
func (q *Completions) Next(ctx context.Context) (Completion, error) {
	var c Completion
	if err := q.done.take(ctx, nil, spinTime(0), &c); err != nil {
		return Completion{}, fmt.Errorf("goroce: completions: %w", err)
	}
	q.release()
	return c, nil
}

// calls has the calls that are not in use.
var calls = sync.Pool{New: func() any { return &call{wake: make(chan struct{}, 1)} }}

// call is an operation whose caller waits for it.
type call struct {
	state atomic.Uint32
	value uint64
	err   error
	wake  chan struct{} // holds a token once a parked call is done
	doze  doze
}

// The bits of call.state.
const (
	callPosted    = 1 << iota // the core has posted the operation
	callParked                // the caller waits for wake
	callDone                  // value and err are set
	callAbandoned             // the caller is gone; the call belongs to the core
)

// post marks the operation as posted. It reports false if the caller is gone.
func (k *call) post() bool { return k.state.Or(callPosted)&callAbandoned == 0 }

// finish gives the caller its result, and reports whether it woke it.
func (k *call) finish(value uint64, err error) (woke bool) {
	k.value, k.err = value, err
	woke = k.state.Or(callDone)&(callParked|callAbandoned) == callParked
	if woke {
		k.wake <- struct{}{}
		return true
	}
	return k.doze.wake()
}

// abandonedError is why wait left an operation behind, wrapped with the cause.
type abandonedError struct {
	withdrawn bool
	error
}

// wait returns the result, or an abandonedError, after which the call may not be reused.
func (k *call) wait(ctx context.Context, spin units.Duration) (uint64, error) {
	for s := (spinner{}); s.again(spin); {
		if k.state.Load()&callDone != 0 {
			return k.value, k.err
		}
	}
	if onPollingCore() {
		return k.abandon(ErrOnCore)
	}
	k.doze.try(k.isDone)
	if k.state.Or(callParked)&callDone != 0 {
		return k.value, k.err
	}
	select {
	case <-k.wake:
		return k.value, k.err
	case <-ctx.Done():
		return k.abandon(ctx.Err())
	}
}

func (k *call) isDone() bool { return k.state.Load()&callDone != 0 }

// abandon leaves the operation to the core, unless it is done.
func (k *call) abandon(why error) (uint64, error) {
	before := k.state.Or(callAbandoned)
	if before&callDone != 0 {
		if before&callParked != 0 {
			<-k.wake
		}
		return k.value, k.err
	}
	return 0, abandonedError{before&callPosted == 0, why}
}
