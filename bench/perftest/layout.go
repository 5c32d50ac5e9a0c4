package perftest

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

const (
	cacheLine = 64
	pageSize  = 4096
	grh       = 40       // bytes of GRH space before a received datagram
	checkRoom = 64 << 20 // bytes of buffers in each direction with validation
	maxSlots  = 64       // outstanding messages of a queue pair with validation
)

// span is memory that messages use cyclically, one every stride bytes.
type span struct {
	stride, slots int
}

func (p span) bytes() int { return p.stride * p.slots }

// spanOf lays out messages of up to n bytes. Without validation they cycle through a page, or
// larger ones use a single place, as in perftest: this measures the transport and not the memory.
// With validation each outstanding message has a place of its own.
func (s *Settings) spanOf(n int) span {
	stride := (n + s.line - 1) / s.line * s.line
	if !s.Validate {
		return span{stride, max(1, s.page/stride)}
	}
	return span{stride, min(max(checkRoom/s.QPs/stride, 1), maxSlots)}
}

// layout returns how many bytes a queue pair needs to send from and, equally, to receive into, and
// the span of the receives. The span does not depend on the size in a run with -a, because posted
// receives cannot be recalled.
func (s *Settings) layout() (each int, receives span) {
	n := s.largest()
	if s.Connection == transport.UD {
		n += grh
	}
	receives = s.spanOf(n)
	if s.Work > 0 && s.Test.Verb == Send && s.Test.Kind == Bandwidth {
		receives.slots = s.RxDepth // each waiting message needs a place of its own
	}
	each = receives.bytes()
	for _, size := range s.sizes(int(4 * units.KiB)) {
		each = max(each, s.spanOf(size).bytes())
	}
	return (each + s.page - 1) / s.page * s.page, receives
}

// window returns how many messages of a size may be outstanding. With validation it is limited to
// the number of places, so that none is overwritten before it is checked.
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

// cursor steps through a span at an address.
type cursor struct {
	base        uint64
	offset, end uint32
	stride      uint32
}

func newCursor(base uint64, p span) cursor {
	return cursor{base: base, stride: uint32(p.stride), end: uint32(p.bytes())}
}

// next returns the next place.
func (c *cursor) next() uint64 {
	at := c.base + uint64(c.offset)
	if c.offset += c.stride; c.offset == c.end {
		c.offset = 0
	}
	return at
}
