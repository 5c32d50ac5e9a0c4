package nicoffload

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// The IDs of the segments that a NIC makes itself. Those that an Extraction cuts have IDs of
// FirstCustom and above.
const (
	SegmentINT  uint16 = 1 // in-band telemetry, 32 bytes per hop
	FirstCustom uint16 = 16
)

// hopLen is the size of one hop of telemetry in a segment.
const hopLen = 32

// encodeSegment writes a segment with its header, padded with zeros to whole Slots, and returns the
// total length, or 0 if there is no segment.
func encodeSegment(b []byte, hops []cc.Hop, id uint16, segment []byte) (length int) {
	switch {
	case len(hops) > 0:
		id = SegmentINT
		hops = hops[:min(len(hops), cc.MaxHops)]
		for i := range hops {
			encodeHop(b[segmentHeader+i*hopLen:], &hops[i])
		}
		length = len(hops) * hopLen
	case id != 0:
		length = copy(b[segmentHeader:segmentHeader+MaxSegment], segment)
	default:
		return 0
	}
	le.PutUint16(b, id)
	le.PutUint16(b[2:], uint16(length))
	le.PutUint32(b[4:], 0)
	n := wholeSlots(segmentHeader + length)
	clear(b[segmentHeader+length : n])
	return n
}

// decodeSegment reads a segment that messageLen has validated.
func (m *Message) decodeSegment(b []byte) {
	id, length := le.Uint16(b), int(le.Uint16(b[2:]))
	b = b[segmentHeader : segmentHeader+length]
	if id != SegmentINT {
		m.SegmentID, m.Segment = id, b
		return
	}
	m.Event.INT = m.hops[:length/hopLen]
	for i := range m.Event.INT {
		decodeHop(b[i*hopLen:], &m.hops[i])
	}
}

func encodeHop(b []byte, h *cc.Hop) {
	le.PutUint64(b, uint64(h.Rate))
	le.PutUint64(b[8:], uint64(h.Queue))
	le.PutUint32(b[16:], h.Time)
	le.PutUint32(b[20:], h.Sent)
	le.PutUint16(b[24:], h.Port)
	clear(b[26:hopLen])
}

func decodeHop(b []byte, h *cc.Hop) {
	*h = cc.Hop{
		Rate: units.BitRate(le.Uint64(b)), Queue: units.Bytes(le.Uint64(b[8:])),
		Time: le.Uint32(b[16:]), Sent: le.Uint32(b[20:]), Port: le.Uint16(b[24:]),
	}
}

// encodeSRC writes the report of a switch, which has a Slot of its own.
func encodeSRC(b []byte, s *cc.SRC) {
	le.PutUint64(b, uint64(s.Drain))
	le.PutUint64(b[8:], uint64(s.Rate))
	le.PutUint64(b[16:], uint64(s.Sent))
	clear(b[24:Slot])
}

func decodeSRC(b []byte, s *cc.SRC) {
	*s = cc.SRC{Drain: units.Duration(le.Uint64(b)), Rate: units.BitRate(le.Uint64(b[8:])),
		Sent: units.Time(le.Uint64(b[16:]))}
}
