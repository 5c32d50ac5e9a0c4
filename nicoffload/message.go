package nicoffload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Slot is the grain of everything that crosses the boundary: a message is whole Slots, and rings
// count in them. Two of them are a cache line.
const Slot = 32

var le = binary.LittleEndian

// MaxSegment is how long the segment of a message can be, and MaxMessage a message.
const (
	MaxSegment = 8*Slot - segmentHeader
	MaxMessage = 5*Slot + segmentHeader + MaxSegment

	segmentHeader = 8
)

// Class says how the report engine treated a signal (TAURUS section 3.4).
type Class uint8

// The classes.
const (
	Raw         Class = iota // reported as it came
	Accumulable              // summed up over a period
	Coalescent               // repetitions of a period collapsed into the first
)

// Type says what a message is: a signal that is an event, or the life of a flow. The numbers are of
// docs/nicoffload.md, whatever cc's are.
type Type uint8

// The types that are not events.
const (
	noType  Type = 0
	Started Type = 32 // the flow began: the agent is to configure it
	Stopped Type = 33 // the flow ended: the agent is to forget it
)

// The types of events are one more than TAURUS's order of them (its Table 3), then ours.
var typeOf = [...]Type{cc.ACK: 1, cc.ECN: 2, cc.OOO: 3, cc.RTO: 4, cc.RTT: 5, cc.TX: 6, cc.CST: 7,
	cc.HOST: 8, cc.CNP: 9, cc.TIMER: 10, cc.POST: 11}

var kindOf = func() (kinds [16]cc.Kind) {
	for k, t := range typeOf {
		kinds[t] = cc.Kind(k)
	}
	return kinds
}()

// Event says whether the type is one of an event, and of which.
func (t Type) Event() (cc.Kind, bool) {
	if t == noType || int(t) > len(typeOf) {
		return 0, false
	}
	return kindOf[t], true
}

// Message is one message, decoded.
type Message struct {
	Flow     Handle
	Type     Type
	Class    Class
	Count    uint16     // signals in it
	First    units.Time // the first of them reached the NIC
	Reported units.Time // the message was flushed: for delays only, not for order
	// Event is what an algorithm hears, but for its Flow, Kind included when Type is that of an
	// event.
	Event cc.Event
	// Segment is what was cut from a packet, and SegmentID says by which Extraction; 0 is no
	// segment. INT and SRC, which the NIC knows, are not here but in Event. It is borrowed from
	// what was decoded.
	SegmentID uint16
	Segment   []byte

	hops [cc.MaxHops]cc.Hop // of Event.INT
}

// What a message has beyond its header: bits of byte 5.
const (
	classMask  = 0x03
	hasState   = 0x04
	hasSample  = 0x08
	hasSRC     = 0x10
	hasSegment = 0x20
	isProbe    = 0x40
	hasGaps    = 0x80

	optionalSlots = hasState | hasSample | hasSRC | hasGaps // each is a Slot
)

// ErrMalformed is what a Decode answers that cannot read a message.
var ErrMalformed = errors.New("malformed message")

// Encode writes the message to b, which has MaxMessage bytes, and answers its length. A brief one
// is a header, and a segment if there is one: TAURUS's record, of which an algorithm hears counts
// and one value. What a field has no room for saturates; a Segment that is too long is cut.
func (m *Message) Encode(b []byte, brief bool) int {
	n := encodeEvent(b, m.Type, m.Class, &m.Event, m.SegmentID, m.Segment, brief)
	m.encodeHeader(b)
	return n
}

func (m *Message) encodeHeader(b []byte) {
	le.PutUint32(b, uint32(m.Flow))
	le.PutUint16(b[6:], m.Count)
	le.PutUint64(b[16:], uint64(m.First))
	le.PutUint64(b[24:], uint64(m.Reported))
}

// encodeEvent writes all of a message that is of its event: of the header the type, the flags and
// the value.
func encodeEvent(b []byte, t Type, class Class, ev *cc.Event, id uint16, segment []byte,
	brief bool) int {
	b = b[:MaxMessage]
	flags, n := uint8(class)&classMask, Slot
	if ev.Probe {
		flags |= isProbe
	}
	if _, event := t.Event(); event {
		if !brief {
			flags |= hasState
			encodeState(b[n:], ev)
			n += Slot
			if sampled(ev) {
				flags |= hasSample
				encodeSample(b[n:], ev)
				n += Slot
			}
			if ev.SRC != (cc.SRC{}) {
				flags |= hasSRC
				encodeSRC(b[n:], &ev.SRC)
				n += Slot
			}
			if g := gapsOf(ev); g != (gaps{}) {
				flags |= hasGaps
				g.encode(b[n:])
				n += Slot
			}
		}
		if length := encodeSegment(b[n:], ev.INT, id, segment); length > 0 {
			flags |= hasSegment
			n += length
		}
	}
	b[4], b[5] = uint8(t), flags
	le.PutUint64(b[8:], value(t, ev, segment))
	return n
}

// Decode reads the message at the beginning of b and answers its length, or ErrMalformed. The
// message borrows from b.
func (m *Message) Decode(b []byte) (int, error) {
	n, err := messageLen(b)
	if err != nil {
		return 0, err
	}
	b = b[:n]
	m.Flow, m.Type = Handle(le.Uint32(b)), Type(b[4])
	m.Class, m.Count = Class(b[5]&classMask), le.Uint16(b[6:])
	m.First, m.Reported = units.Time(le.Uint64(b[16:])), units.Time(le.Uint64(b[24:]))
	m.SegmentID, m.Segment = 0, nil
	ev := &m.Event
	*ev = cc.Event{Probe: b[5]&isProbe != 0}
	kind, event := m.Type.Event()
	if !event {
		return n, nil
	}
	ev.Kind = kind
	m.setValue(le.Uint64(b[8:]))
	at := Slot
	if b[5]&hasState != 0 {
		decodeState(b[at:], ev)
		at += Slot
	}
	if b[5]&hasSample != 0 {
		decodeSample(b[at:], ev)
		at += Slot
	}
	if b[5]&hasSRC != 0 {
		decodeSRC(b[at:], &ev.SRC)
		at += Slot
	}
	if b[5]&hasGaps != 0 {
		decodeGaps(b[at:], ev)
		at += Slot
	}
	if b[5]&hasSegment != 0 {
		m.decodeSegment(b[at:])
	}
	return n, nil
}

// single says whether a raw message, of which b begins with the header, has no like: what became of
// a probe, a timeout, that a flow begins to send. A flow that was stopped hears of nothing else, so
// they do not give way.
func single(b []byte) bool {
	return b[5]&isProbe != 0 || Type(b[4]) == typeOf[cc.RTO] || Type(b[4]) == typeOf[cc.POST]
}

// messageLen answers how long the message at the beginning of b is, all of which is in b.
func messageLen(b []byte) (int, error) {
	if len(b) < Slot {
		return 0, fmt.Errorf("nicoffload: %w: %d bytes, a header has %d", ErrMalformed, len(b),
			Slot)
	}
	flags := b[5]
	if _, event := Type(b[4]).Event(); flags&classMask > uint8(Coalescent) ||
		!event && (flags&^isProbe != 0 || Type(b[4]) != Started && Type(b[4]) != Stopped) {
		return 0, fmt.Errorf("nicoffload: %w: type %d with flags %#x", ErrMalformed, b[4], flags)
	}
	n := Slot * (1 + bits.OnesCount8(flags&optionalSlots))
	if flags&hasSegment != 0 {
		if len(b) < n+segmentHeader {
			return 0, fmt.Errorf("nicoffload: %w: %d bytes, the segment is at %d", ErrMalformed,
				len(b), n)
		}
		id, length := le.Uint16(b[n:]), int(le.Uint16(b[n+2:]))
		if length > MaxSegment || id == 0 || id == SegmentINT &&
			(length == 0 || length%hopLen != 0 || length > cc.MaxHops*hopLen) {
			return 0, fmt.Errorf("nicoffload: %w: segment %d of %d bytes", ErrMalformed, id, length)
		}
		n += wholeSlots(segmentHeader + length)
	}
	if len(b) < n {
		return 0, fmt.Errorf("nicoffload: %w: %d bytes of %d", ErrMalformed, len(b), n)
	}
	return n, nil
}

// value is the one number of the header: what TAURUS's record has.
func value(t Type, ev *cc.Event, segment []byte) uint64 {
	switch t {
	case typeOf[cc.ACK], typeOf[cc.ECN], typeOf[cc.TX]:
		return uint64(ev.Bytes)
	case typeOf[cc.RTT]:
		return uint64(ev.Delay)
	case typeOf[cc.CST]:
		return uint64(len(segment))
	case typeOf[cc.HOST]:
		return math.Float64bits(ev.Host.Value)
	case Started, Stopped:
		return 0
	}
	return uint64(ev.PSN)
}

func (m *Message) setValue(v uint64) {
	ev := &m.Event
	switch ev.Kind {
	case cc.ACK, cc.ECN, cc.TX:
		ev.Bytes, ev.Packets = units.Bytes(v), int(m.Count)
		if ev.Kind == cc.ECN {
			ev.Marked = int(m.Count)
		}
	case cc.RTT:
		ev.Delay = units.Duration(v)
	case cc.CST:
	case cc.HOST:
		ev.Host.Value = math.Float64frombits(v)
	default:
		ev.PSN = uint32(v) & psnMask
	}
}

const psnMask = 1<<24 - 1

// The state: what the flow had in flight when the (last) signal came.
func encodeState(b []byte, ev *cc.Event) {
	le.PutUint32(b, ev.PSN&psnMask|uint32(min(max(ev.Hops, 0), math.MaxUint8))<<24)
	le.PutUint32(b[4:], ev.SndNxt&psnMask|uint32(ev.Bolt)<<24)
	le.PutUint32(b[8:], count32(ev.Packets))
	le.PutUint32(b[12:], count32(ev.Marked))
	le.PutUint64(b[16:], uint64(ev.InFlight))
	le.PutUint64(b[24:], uint64(ev.Left))
}

func decodeState(b []byte, ev *cc.Event) {
	psn, next := le.Uint32(b), le.Uint32(b[4:])
	ev.PSN, ev.Hops = psn&psnMask, int(psn>>24)
	ev.SndNxt, ev.Bolt = next&psnMask, cc.BoltFlags(next>>24)
	ev.Packets, ev.Marked = int(int32(le.Uint32(b[8:]))), int(int32(le.Uint32(b[12:])))
	ev.InFlight, ev.Left = units.Bytes(le.Uint64(b[16:])), units.Bytes(le.Uint64(b[24:]))
}

// sampled says whether an event has what a header and a state have no room for.
func sampled(ev *cc.Event) bool {
	switch {
	case ev.Endpoint != 0 || ev.OneWay != 0 || ev.Increases != 0 || ev.Host.Sampler != 0:
		return true
	case ev.Kind == cc.ACK || ev.Kind == cc.ECN || ev.Kind == cc.TX:
		return ev.Delay != 0
	}
	return ev.Bytes != 0
}

// The sample: in a message whose header's value is no number of bytes, the bytes; else the delay.
func encodeSample(b []byte, ev *cc.Event) {
	if other := uint64(ev.Bytes); ev.Kind == cc.ACK || ev.Kind == cc.ECN || ev.Kind == cc.TX {
		le.PutUint64(b, uint64(ev.Delay))
	} else {
		le.PutUint64(b, other)
	}
	le.PutUint64(b[8:], uint64(ev.Endpoint))
	le.PutUint64(b[16:], uint64(ev.OneWay))
	le.PutUint32(b[24:], count32(ev.Increases))
	le.PutUint16(b[28:], ev.Host.Sampler)
	le.PutUint16(b[30:], 0)
}

func decodeSample(b []byte, ev *cc.Event) {
	if other := le.Uint64(b); ev.Kind == cc.ACK || ev.Kind == cc.ECN || ev.Kind == cc.TX {
		ev.Delay = units.Duration(other)
	} else {
		ev.Bytes = units.Bytes(other)
	}
	ev.Endpoint, ev.OneWay = units.Duration(le.Uint64(b[8:])), units.Duration(le.Uint64(b[16:]))
	ev.Increases, ev.Host.Sampler = int(int32(le.Uint32(b[24:]))), le.Uint16(b[28:])
}

// gaps are what of a delay may have passed in hosts without time stamps, and how much they did not
// poll: here and at the peer.
type gaps struct{ local, remote, localAway, remoteAway units.Duration }

func gapsOf(ev *cc.Event) gaps {
	return gaps{ev.LocalGap, ev.RemoteGap, ev.LocalAway, ev.RemoteAway}
}

func (g gaps) encode(b []byte) {
	le.PutUint64(b, uint64(g.local))
	le.PutUint64(b[8:], uint64(g.remote))
	le.PutUint64(b[16:], uint64(g.localAway))
	le.PutUint64(b[24:], uint64(g.remoteAway))
}

func decodeGaps(b []byte, ev *cc.Event) {
	ev.LocalGap, ev.RemoteGap = units.Duration(le.Uint64(b)), units.Duration(le.Uint64(b[8:]))
	ev.LocalAway, ev.RemoteAway = units.Duration(le.Uint64(b[16:])),
		units.Duration(le.Uint64(b[24:]))
}

func count32(n int) uint32 { return uint32(int32(min(max(n, math.MinInt32), math.MaxInt32))) }

func wholeSlots(n int) int { return (n + Slot - 1) &^ (Slot - 1) }
