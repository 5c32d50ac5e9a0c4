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

// Slot is the granularity of all data that crosses the boundary: a message occupies whole Slots,
// and rings count in Slots. Two of them fill a cache line.
const Slot = 32

var le = binary.LittleEndian

// MaxSegment is the maximum length of a message's segment, and MaxMessage that of a message.
const (
	MaxSegment = 8*Slot - segmentHeader
	MaxMessage = 5*Slot + segmentHeader + MaxSegment

	segmentHeader = 8
)

// Class is how the report engine treated a signal (TAURUS section 3.4).
type Class uint8

// The classes.
const (
	Raw         Class = iota // reported one by one
	Accumulable              // summed over a period
	Coalescent               // repetitions in a period merged into the first
)

// Type is the type of a message: an event, or the beginning or end of a flow. The numbers are those
// of docs/nicoffload.md, independent of cc's.
type Type uint8

// The types that are not events.
const (
	noType  Type = 0
	Started Type = 32 // the flow began, and the agent is to configure it
	Stopped Type = 33 // the flow ended, and the agent drops its state
)

// typeOf numbers the events in the order of TAURUS's Table 3, beginning with 1, then our own.
var typeOf = [...]Type{cc.ACK: 1, cc.ECN: 2, cc.OOO: 3, cc.RTO: 4, cc.RTT: 5, cc.TX: 6, cc.CST: 7,
	cc.HOST: 8, cc.CNP: 9, cc.TIMER: 10, cc.POST: 11}

var kindOf = func() (kinds [16]cc.Kind) {
	for k, t := range typeOf {
		kinds[t] = cc.Kind(k)
	}
	return kinds
}()

// Event returns the kind of the event that the type stands for, and false if it stands for none.
func (t Type) Event() (cc.Kind, bool) {
	if t == noType || int(t) > len(typeOf) {
		return 0, false
	}
	return kindOf[t], true
}

// Message is a decoded message.
type Message struct {
	Flow     Handle
	Type     Type
	Class    Class
	Count    uint16     // number of signals
	First    units.Time // when the first of them reached the NIC
	Reported units.Time // when the message was flushed; for delays only, not for order
	// Event is the event for the algorithm, without its Flow. Its Kind is set if Type stands for an
	// event.
	Event cc.Event
	// Segment was cut from a packet by the Extraction SegmentID; 0 means no segment. INT and SRC,
	// which the NIC decodes, are in Event instead. The slice refers to the decoded buffer.
	SegmentID uint16
	Segment   []byte

	hops [cc.MaxHops]cc.Hop // of Event.INT
}

// The bits of byte 5: the class, and the parts that follow the header.
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

// ErrMalformed is returned by Decode for a message that it cannot read.
var ErrMalformed = errors.New("malformed message")

// Encode writes the message to b, which has MaxMessage bytes, and returns its length. A brief
// message consists of a header and a segment if there is one: TAURUS's record, with counts and one
// value. Values that exceed their field are saturated; a Segment that is too long is truncated.
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

// encodeEvent writes all parts of a message that depend on its event, which in the header are the
// type, the flags and the value.
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

// Decode reads the message at the beginning of b and returns its length, or ErrMalformed. The
// message refers to b.
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

// isEssential reports whether a raw message, of which b contains at least the header, is essential:
// the response to or loss of a probe, a timeout, or the beginning of a transmission. A stopped flow
// gets no other messages, so essential ones are evicted last.
func isEssential(b []byte) bool {
	return b[5]&isProbe != 0 || Type(b[4]) == typeOf[cc.RTO] || Type(b[4]) == typeOf[cc.POST]
}

// messageLen returns the length of the message at the beginning of b, after checking that b
// contains all of it.
func messageLen(b []byte) (int, error) {
	if len(b) < Slot {
		return 0, fmt.Errorf("nicoffload: %w: %d bytes, want a header of %d", ErrMalformed, len(b),
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
			return 0, fmt.Errorf("nicoffload: %w: %d bytes, want a segment at %d", ErrMalformed,
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
		return 0, fmt.Errorf("nicoffload: %w: %d bytes, want %d", ErrMalformed, len(b), n)
	}
	return n, nil
}

// value returns the header's value, which TAURUS's record has, too.
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

// encodeState writes the state of the flow at the time of the last signal.
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

// sampled reports whether an event has fields that fit neither into a header nor into a state.
func sampled(ev *cc.Event) bool {
	switch {
	case ev.Endpoint != 0 || ev.OneWay != 0 || ev.Increases != 0 || ev.Host.Sampler != 0:
		return true
	case ev.Kind == cc.ACK || ev.Kind == cc.ECN || ev.Kind == cc.TX:
		return ev.Delay != 0
	}
	return ev.Bytes != 0
}

// encodeSample writes the sample. It begins with the delay if the header's value is a number of
// bytes, else with the bytes.
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

// gaps are the parts of a delay that may have passed in hosts without time stamps, and for how long
// these did not poll: locally and at the peer.
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
