package nicoffload

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// The segments that a NIC makes itself. Those that an Extraction cuts have numbers of FirstCustom
// and up.
const (
	SegmentINT  uint16 = 1 // in-band telemetry, a hop each 32 bytes
	FirstCustom uint16 = 16
)

// hopLen is the size of one hop of telemetry in a segment.
const hopLen = 32

// encodeSegment writes the header of a segment and the segment, padded with zeros to whole Slots,
// and answers the length of all of it, 0 when there is none.
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

// decodeSegment reads what messageLen has looked at.
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

// The report of a switch: a Slot of its own.
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
