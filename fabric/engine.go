package fabric

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// eventKind is the action of an event, and determines what its id refers to.
type eventKind uint8

const (
	eventTransmit eventKind = iota // a port tries to send its next frame
	eventArrive                    // the first frame on a port's wire reaches the far end
	eventPoll                      // a host polls
	eventCall                      // a function is called
)

// event is a scheduled action.
type event struct {
	at   units.Time
	id   int32
	kind eventKind
}

// engine is virtual time and the event queue, a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, JACM
// 1990). Bucket i holds the events whose time differs from last in bit i-1 as the highest bit. When
// the lower buckets are empty, the earliest time in bucket i becomes last and its events move to
// lower buckets. This works because time never moves backward. Events of one instant are always in
// the same bucket, in the order in which they were scheduled, and run in that order.
type engine struct {
	now     units.Time
	last    units.Time // no event is before this time
	buckets [65][]event
	filled  uint64 // bit i-1 is set if bucket i > 0 is not empty
	next    int    // index in bucket 0, which holds the events at last

	functions []func()
	idle      []int32 // free indices of functions
}

// schedule adds an event at a time that is not before now.
func (q *engine) schedule(at units.Time, kind eventKind, id int32) {
	q.put(event{at: at, id: id, kind: kind})
}

func (q *engine) put(e event) {
	i := bits.Len64(uint64(e.at ^ q.last))
	q.buckets[i] = append(q.buckets[i], e)
	q.filled |= 1 << i >> 1
}

// call schedules a call of f.
func (q *engine) call(at units.Time, f func()) {
	var id int32
	if n := len(q.idle); n > 0 {
		id = q.idle[n-1]
		q.idle = q.idle[:n-1]
	} else {
		id = int32(len(q.functions))
		q.functions = append(q.functions, nil)
	}
	q.functions[id] = f
	q.schedule(at, eventCall, id)
}

// run calls a scheduled function.
func (q *engine) run(id int32) {
	f := q.functions[id]
	q.functions[id] = nil
	q.idle = append(q.idle, id)
	f()
}

// pop removes the next event if it is not after until, and advances time to it.
func (q *engine) pop(until units.Time) (event, bool) {
	if q.next == len(q.buckets[0]) {
		if q.filled == 0 {
			return event{}, false
		}
		i := bits.TrailingZeros64(q.filled) + 1
		bucket := q.buckets[i]
		first := bucket[0].at
		for _, e := range bucket[1:] {
			first = min(first, e.at)
		}
		if first.After(until) {
			return event{}, false
		}
		q.last, q.now = first, first
		q.buckets[0], q.next = q.buckets[0][:0], 0
		q.filled &^= 1 << i >> 1
		q.buckets[i] = bucket[:0]
		if len(bucket) == 1 {
			return bucket[0], true
		}
		for _, e := range bucket {
			q.put(e)
		}
	}
	e := q.buckets[0][q.next]
	q.next++
	q.now = e.at
	return e, true
}
