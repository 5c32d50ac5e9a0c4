package queue

import "sync/atomic"

// Queue is a bounded queue. Its methods are safe for concurrent use; none waits, and none
// allocates. A producer and a consumer touch different cache lines unless the queue is nearly empty
// or full.
type Queue[T any] struct {
	cells []cell[T]
	mask  uint64
	_     [32]byte
	in    atomic.Uint64 // values put so far, and the next place
	_     [56]byte
	out   atomic.Uint64 // values taken so far
	_     [56]byte
}

// cell holds one value. A cell whose turn is t waits for the t-th put, and one whose turn is t+1
// has its value. (D. Vyukov, "Bounded MPMC queue", 2010.)
type cell[T any] struct {
	turn  atomic.Uint64
	value T
}

// New returns a queue for at least n values.
func New[T any](n int) *Queue[T] {
	size := 2 // with one cell, full and empty would look alike
	for size < n {
		size *= 2
	}
	q := &Queue[T]{cells: make([]cell[T], size), mask: uint64(size - 1)}
	for i := range q.cells {
		q.cells[i].turn.Store(uint64(i))
	}
	return q
}

// Put adds a copy of *v and reports whether there was room.
func (q *Queue[T]) Put(v *T) bool {
	at := q.in.Load()
	for {
		c := &q.cells[at&q.mask]
		switch turn := c.turn.Load(); {
		case turn == at:
			if q.in.CompareAndSwap(at, at+1) {
				c.value = *v
				c.turn.Store(at + 1)
				return true
			}
			at = q.in.Load()
		case int64(turn-at) < 0:
			return false // the value of a round before has not been taken
		default:
			at = q.in.Load() // another producer was faster
		}
	}
}

// Take moves the oldest value to *v and reports whether there was one. The queue keeps no reference
// to it.
func (q *Queue[T]) Take(v *T) bool {
	at := q.out.Load()
	for {
		c := &q.cells[at&q.mask]
		switch turn := c.turn.Load(); {
		case turn == at+1:
			if q.out.CompareAndSwap(at, at+1) {
				var zero T
				*v, c.value = c.value, zero
				c.turn.Store(at + q.mask + 1)
				return true
			}
			at = q.out.Load()
		case int64(turn-(at+1)) < 0:
			return false
		default:
			at = q.out.Load() // another consumer was faster
		}
	}
}

// Len returns the number of values, which may be out of date at once.
func (q *Queue[T]) Len() int { return int(max(0, int64(q.in.Load()-q.out.Load()))) }

// Cap returns how many values have room.
func (q *Queue[T]) Cap() int { return len(q.cells) }
