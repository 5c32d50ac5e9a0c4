package perftest

import "github.com/goroce/goroce/transport"

const (
	cacheLine = 64
	pageSize  = 4096
	grh       = 40       // bytes in front of a received datagram
	checkRoom = 64 << 20 // bytes of buffers each way when every message is to be looked at
	maxSlots  = 64       // messages of a queue pair under validation at a time
)

// span is a piece of memory that messages go round in: one after the other, a stride apart.
type span struct {
	stride, slots int
}

func (p span) bytes() int { return p.stride * p.slots }

// spanOf lays out messages of up to n bytes. Without validation they go round in a page, or all in
// one place when they are larger, as perftest's do: what is measured is then the transport, not the
// memory. With validation each in flight has a place of its own.
func (s *Settings) spanOf(n int) span {
	stride := (n + s.line - 1) / s.line * s.line
	if !s.Validate {
		return span{stride, max(1, s.page/stride)}
	}
	return span{stride, min(max(checkRoom/s.QPs/stride, 1), maxSlots)}
}

// layout answers how many bytes a queue pair needs to send from and, as many, to receive into, and
// where receives go round in the latter: their size does not change with -a, for what is posted
// cannot be taken back.
func (s *Settings) layout() (each int, receives span) {
	n := s.largest()
	if s.Connection == transport.UD {
		n += grh
	}
	receives = s.spanOf(n)
	if s.Work > 0 && s.Test.Verb == Send && s.Test.Kind == Bandwidth {
		receives.slots = s.RxDepth // each waits in a place of its own
	}
	each = receives.bytes()
	for _, size := range s.sizes(int(transport.MTU4096)) {
		each = max(each, s.spanOf(size).bytes())
	}
	return (each + s.page - 1) / s.page * s.page, receives
}

// window is how many messages of a size may be outstanding: with validation no more than there are
// places, so that none is overwritten before it was looked at.
func (s *Settings) window(size int) int {
	if !s.Validate {
		return s.TxDepth
	}
	window := min(s.TxDepth, s.spanOf(size).slots)
	if s.Test.Verb == Send {
		_, receives := s.layout()
		window = min(window, receives.slots)
	}
	return window
}

// cursor goes round in a span at an address.
type cursor struct {
	base        uint64
	offset, end uint32
	stride      uint32
}

func newCursor(base uint64, p span) cursor {
	return cursor{base: base, stride: uint32(p.stride), end: uint32(p.bytes())}
}

// next answers the next place.
func (c *cursor) next() uint64 {
	at := c.base + uint64(c.offset)
	if c.offset += c.stride; c.offset == c.end {
		c.offset = 0
	}
	return at
}
