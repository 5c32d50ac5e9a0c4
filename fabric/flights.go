package fabric

import "github.com/goroce/goroce/units"

// flight is a frame on a link, and when it has arrived completely at the far end.
type flight struct {
	at units.Time
	f  *frame
}

// flights is a queue of frames on a link. A ring instead of a list: an operation accesses no frame
// but its own, and most frames in flight have left the processor's caches.
type flights struct {
	ring       []flight // its length is a power of two
	head, tail uint32   // of the first flight, and after the last
}

func (q *flights) empty() bool    { return q.head == q.tail }
func (q *flights) first() *flight { return &q.ring[q.head&uint32(len(q.ring)-1)] }

func (q *flights) push(x flight) {
	if int(q.tail-q.head) == len(q.ring) {
		q.grow()
	}
	q.ring[q.tail&uint32(len(q.ring)-1)] = x
	q.tail++
}

func (q *flights) pop() *frame {
	f := q.first().f
	q.head++
	return f
}

func (q *flights) grow() {
	old := *q
	*q = flights{ring: make([]flight, max(8, 2*len(old.ring)))}
	for ; !old.empty(); old.head++ {
		q.ring[q.tail] = *old.first()
		q.tail++
	}
}
