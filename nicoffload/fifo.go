package nicoffload

import "math/bits"

// fifo is a queue of messages in the NIC's memory, in their external layout. Flushed messages can
// be fetched. Positions count bytes and never wrap; a message may wrap around the end of the
// buffer, by whole Slots.
type fifo struct {
	buf                 []byte // its length is a power of two
	head, flushed, tail uint64
	essentialBytes      int // bytes of essential messages
}

func newFifo(slots int) fifo { return fifo{buf: make([]byte, slots*Slot)} }

func (q *fifo) waiting() int { return int(q.tail - q.flushed) }
func (q *fifo) used() int    { return int(q.tail - q.head) }
func (q *fifo) room() int    { return len(q.buf) - q.used() }

// at returns the Slot at a position.
func (q *fifo) at(pos uint64) []byte {
	i := pos & uint64(len(q.buf)-1)
	return q.buf[i : i+Slot : i+Slot]
}

// push adds a message; the caller has checked that there is room.
func (q *fifo) push(b []byte) {
	i := q.tail & uint64(len(q.buf)-1)
	if n := copy(q.buf[i:], b); n < len(b) {
		copy(q.buf, b[n:])
	}
	q.tail += uint64(len(b))
	if isEssential(b) {
		q.essentialBytes += len(b)
	}
}

// next returns the length of the message at a position.
func (q *fifo) next(pos uint64) int {
	h := q.at(pos)
	n := Slot * (1 + bits.OnesCount8(h[5]&optionalSlots))
	if h[5]&hasSegment != 0 {
		s := q.at(pos + uint64(n))
		n += wholeSlots(segmentHeader + int(le.Uint16(s[2:])))
	}
	return n
}

// flush makes all messages available for fetching, sets their time of report, and returns their
// number and size.
func (q *fifo) flush(now uint64) (messages, bytes uint64) {
	bytes = q.tail - q.flushed
	for q.flushed != q.tail {
		le.PutUint64(q.at(q.flushed)[24:], now)
		q.flushed += uint64(q.next(q.flushed))
		messages++
	}
	return messages, bytes
}

// take removes the oldest message, which has n bytes.
func (q *fifo) take(n int) {
	if isEssential(q.at(q.head)) {
		q.essentialBytes -= n
	}
	q.head += uint64(n)
}

// drop removes the oldest message, flushed or not.
func (q *fifo) drop() {
	q.take(q.next(q.head))
	if q.flushed < q.head {
		q.flushed = q.head
	}
}

// postpone moves the oldest message behind the newest.
func (q *fifo) postpone() {
	n := uint64(q.next(q.head))
	flushed := q.head != q.flushed
	for at := uint64(0); at < n; at += Slot {
		copy(q.at(q.tail+at), q.at(q.head+at))
	}
	q.head += n
	q.tail += n
	if !flushed {
		q.flushed = q.head
	}
}

// copyHead copies the oldest message, which has n bytes, without removing it.
func (q *fifo) copyHead(b []byte, n int) {
	i := q.head & uint64(len(q.buf)-1)
	if c := copy(b[:n], q.buf[i:]); c < n {
		copy(b[c:n], q.buf)
	}
}
