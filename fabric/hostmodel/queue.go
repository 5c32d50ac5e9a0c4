package hostmodel

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Queue is the receive queue of a thread: buffers that the NIC writes and the thread reads, in the
// order of the messages.
type Queue struct {
	host    *Host
	first   Line // line of its memory
	stride  Line // lines of a buffer
	free    buffers
	waiting []Message // a ring
	head    int
	count   int
}

// Message is a message that the NIC wrote.
type Message struct {
	Bytes units.Bytes
	Tag   uint64 // chosen by the caller
	// Lines is the number of lines of the message, Missed the number of those not cached at Read.
	Lines, Missed int

	buffer int32
}

// Costs is the processing time of a message.
type Costs struct {
	Message   units.Duration // per message
	Hit, Miss units.Duration // per line
}

// Of returns the processing time of a message that was read.
func (c Costs) Of(m Message) units.Duration {
	return c.Message + units.Duration(m.Lines-m.Missed)*c.Hit + units.Duration(m.Missed)*c.Miss
}

// Queue returns a receive queue of n buffers of size bytes each, in newly allocated memory.
func (h *Host) Queue(n int, size units.Bytes, o Order) (*Queue, error) {
	if h.Cache == nil {
		return nil, fmt.Errorf(
			"hostmodel: a queue needs a host with a cache")
	}
	if n < 1 || size < 1 {
		return nil, fmt.Errorf(
			"hostmodel: queue of %d buffers of %v: want at least one of one byte", n, size)
	}
	stride := h.Cache.Lines(size)
	q := &Queue{host: h, first: h.Lines(Line(n) * stride), stride: stride, free: newBuffers(n, o),
		waiting: make([]Message, n)}
	h.free += n
	return q, nil
}

// Receive makes the NIC write a message, truncated to the size of a buffer. It returns false if no
// buffer is free.
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

// Read makes the program read the oldest message. Its buffer stays in use until Release.
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

// Release returns the buffer of a message to the NIC. The message is then consumed.
func (q *Queue) Release(m Message) {
	q.free.give(m.buffer)
	q.host.free++
	q.host.unconsumed -= Line(m.Lines)
}

// Waiting returns the number of unread messages.
func (q *Queue) Waiting() int { return q.count }

// Free returns the number of free buffers.
func (q *Queue) Free() int { return q.free.count }

func (q *Queue) line(buffer int32) Line { return q.first + Line(buffer)*q.stride }
