package fabric

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// happening is what an event does, and to whom its id belongs.
type happening uint8

const (
	transmits happening = iota // a port looks for its next frame
	arrives                    // the first frame on a port's wire is at the far end
	polls                      // a host
	calls                      // a function
)

// event is something that will happen.
type event struct {
	at   units.Time
	id   int32
	what happening
}

// engine is time, and the queue of what will happen: a radix heap (Ahuja, Mehlhorn, Orlin and
// Tarjan, JACM 1990). Bucket i holds the events whose time first differs from that of the last one
// in bit i-1; when the buckets below are empty, an event there becomes the last and the others move
// down. Time only moves forward, so that is all there is to do. Events of one instant are always in
// the same bucket, in the order in which they were scheduled, and happen in that order.
type engine struct {
	now     units.Time
	last    units.Time // no event is before
	buckets [65][]event
	filled  uint64 // which buckets above the first hold something, bit i-1 for bucket i
	next    int    // in bucket 0, which holds the events at last

	functions []func()
	idle      []int32 // free places in functions
}

// schedule makes something happen at a time that is not before now.
func (q *engine) schedule(at units.Time, what happening, id int32) {
	q.put(event{at: at, id: id, what: what})
}

func (q *engine) put(e event) {
	i := bits.Len64(uint64(e.at ^ q.last))
	q.buckets[i] = append(q.buckets[i], e)
	q.filled |= 1 << i >> 1
}

// call schedules a function.
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
	q.schedule(at, calls, id)
}

// run runs a scheduled function.
func (q *engine) run(id int32) {
	f := q.functions[id]
	q.functions[id] = nil
	q.idle = append(q.idle, id)
	f()
}

// pop takes out the next event, if it is not after until, and moves time there.
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
