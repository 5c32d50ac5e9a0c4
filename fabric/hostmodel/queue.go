package hostmodel

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Queue is the receive queue of a thread: buffers that the NIC writes to and the thread reads, in
// the order of the messages.
type Queue struct {
	host    *Host
	first   Line // of its memory
	stride  Line // of a buffer
	free    buffers
	waiting []Message // a ring
	head    int
	count   int
}

// Message is one that the NIC wrote.
type Message struct {
	Bytes units.Bytes
	Tag   uint64 // the caller's
	// Lines are the message's, Missed those that the program did not find in the cache.
	Lines, Missed int

	buffer int32
}

// Costs is the time that the program takes for a message.
type Costs struct {
	Message   units.Duration // whatever its length
	Hit, Miss units.Duration // for each line
}

// Of answers the time for a message that was read.
func (c Costs) Of(m Message) units.Duration {
	return c.Message + units.Duration(m.Lines-m.Missed)*c.Hit + units.Duration(m.Missed)*c.Miss
}

// Queue makes a receive queue of n buffers of size bytes each, in memory of their own.
func (h *Host) Queue(n int, size units.Bytes, o Order) (*Queue, error) {
	if h.Cache == nil {
		return nil, fmt.Errorf(
			"hostmodel: a queue of a host without a cache: its reads would all be the same")
	}
	if n < 1 || size < 1 {
		return nil, fmt.Errorf(
			"hostmodel: a queue of %d buffers of %v: want one at least, of one byte", n, size)
	}
	stride := h.Cache.Lines(size)
	q := &Queue{host: h, first: h.Lines(Line(n) * stride), stride: stride, free: newBuffers(n, o),
		waiting: make([]Message, n)}
	h.free += n
	return q, nil
}

// Receive has the NIC write a message, or the first bytes of it that a buffer has room for. It is
// false when no buffer is free.
func (q *Queue) Receive(n units.Bytes, tag uint64) bool {
	buffer, ok := q.free.take()
	if !ok {
		return false
	}
	lines := min(q.host.Cache.Lines(n), q.stride)
	for l := range lines {
		q.host.Cache.Write(q.line(buffer) + l)
	}
	q.host.free--
	q.host.unconsumed += lines
	q.waiting[(q.head+q.count)%len(q.waiting)] = Message{Bytes: n, Tag: tag, Lines: int(lines),
		buffer: buffer}
	q.count++
	return true
}

// Read has the program read the oldest message. Its buffer is in use until Release.
func (q *Queue) Read() (m Message, ok bool) {
	if q.count == 0 {
		return Message{}, false
	}
	m = q.waiting[q.head]
	q.head = (q.head + 1) % len(q.waiting)
	q.count--
	for l := range Line(m.Lines) {
		if !q.host.Cache.Read(q.line(m.buffer) + l) {
			m.Missed++
		}
	}
	return m, true
}

// Release gives the buffer of a message that was read back to the NIC: it is consumed.
func (q *Queue) Release(m Message) {
	q.free.give(m.buffer)
	q.host.free++
	q.host.unconsumed -= Line(m.Lines)
}

// Waiting answers how many messages are there and not read.
func (q *Queue) Waiting() int { return q.count }

// Free answers how many buffers are free.
func (q *Queue) Free() int { return q.free.count }

func (q *Queue) line(buffer int32) Line { return q.first + Line(buffer)*q.stride }
