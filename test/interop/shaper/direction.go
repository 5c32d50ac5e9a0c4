package shaper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Faults are the probabilities of what happens to a RoCEv2 packet, in either direction.
type Faults struct {
	Loss        float64
	Duplication float64
	Reordering  float64 // it leaves after up to maxBehind later packets
	Corruption  float64 // one bit of its UDP payload is flipped
	Congestion
}

// Counts are the counters of a direction.
type Counts struct {
	Forwarded  uint64 // received frames of any kind
	RoCE       uint64 // RoCEv2 packets among them
	Lost       uint64
	Duplicated uint64
	Reordered  uint64
	Corrupted  uint64
	Marked     uint64 // with congestion experienced
	Notified   uint64 // CNPs made by the wire
	CNPs       uint64 // CNPs of the sender
	Backward   uint64 // other packets with BECN
}

// Plus returns the sum of two directions' counts.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Forwarded + o.Forwarded, c.RoCE + o.RoCE, c.Lost + o.Lost,
		c.Duplicated + o.Duplicated,
		c.Reordered + o.Reordered, c.Corrupted + o.Corrupted, c.Marked + o.Marked,
		c.Notified + o.Notified,
		c.CNPs + o.CNPs, c.Backward + o.Backward}
}

// Faults returns the number of faults.
func (c Counts) Faults() uint64 {
	return c.Lost + c.Duplicated + c.Reordered + c.Corrupted + c.Marked
}

func (c Counts) String() string {
	text := []string{fmt.Sprintf("of %d packets", c.RoCE)}
	for _, f := range []struct {
		n    uint64
		what string
	}{{c.Lost, "lost"}, {c.Duplicated, "repeated"}, {c.Reordered, "reordered"},
		{c.Corrupted, "corrupted"},
		{c.Marked, "marked"}, {c.Notified, "answered with a CNP"}, {c.CNPs, "were CNPs"},
		{c.Backward, "had BECN"}} {
		if f.n > 0 {
			text = append(text, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	return strings.Join(text, " ")
}

// Limits of the delay of a reordered packet: in packets that overtake it, and in time.
const (
	maxBehind = 8
	patience  = 5 * time.Millisecond
)

// direction is one direction of the shaper.
type direction struct {
	faults Faults
	random *rand.Rand
	counts Counts
	late   []late

	since      time.Time // of the first RoCEv2 packet
	tell, told *notice   // marks made by this direction, and by the other; nil without Notify
}

// late is a delayed packet.
type late struct {
	frame  []byte
	behind int // packets that must leave before it
	until  time.Time
}

func newDirection(f Faults, seed, number uint64) *direction {
	return &direction{faults: f, random: rand.New(rand.NewPCG(seed, number))}
}

// pass emits what leaves when a frame has arrived. The caller may reuse the frame afterwards.
func (d *direction) pass(frame []byte, now time.Time, emit func([]byte)) {
	d.counts.Forwarded++
	payload, ok := roce(frame)
	if !ok {
		emit(frame)
		return
	}
	d.counts.RoCE++
	d.look(payload)
	congested := d.congested(now)
	// All random numbers are drawn for every packet, so that the probability of one fault does not
	// affect the others.
	lost, repeated, kept, damaged := d.cast(d.faults.Loss), d.cast(d.faults.Duplication),
		d.cast(d.faults.Reordering), d.cast(d.faults.Corruption)
	marked := d.cast(d.faults.Marks)
	bit, behind := d.random.Uint64(), 1+d.random.IntN(maxBehind)
	if lost {
		d.counts.Lost++
		return
	}
	if marked && congested {
		d.mark(frame)
	}
	if damaged && len(payload) > 0 {
		d.counts.Corrupted++
		payload[bit/8%uint64(len(payload))] ^= 1 << (bit % 8)
	}
	if kept {
		d.counts.Reordered++
		d.late = append(d.late, late{bytes.Clone(frame), behind, now.Add(patience)})
		return
	}
	emit(frame)
	if repeated {
		d.counts.Duplicated++
		emit(frame)
	}
	d.notify(frame, payload, emit)
	d.overtake(emit)
}

// cast returns true with probability p.
func (d *direction) cast(p float64) bool { return d.random.Float64() < p }

// overtake accounts for a packet that left before the delayed ones, and emits those that are due.
func (d *direction) overtake(emit func([]byte)) {
	var stay []late
	for _, l := range d.late {
		if l.behind--; l.behind > 0 {
			stay = append(stay, l)
		} else {
			emit(l.frame)
		}
	}
	d.late = stay
}

// expire emits the packets whose delay has expired. It returns when to call it again; the zero time
// means never.
func (d *direction) expire(now time.Time, emit func([]byte)) (next time.Time) {
	for len(d.late) > 0 && !d.late[0].until.After(now) {
		emit(d.late[0].frame)
		d.late = d.late[1:]
	}
	if len(d.late) > 0 {
		next = d.late[0].until
	}
	return next
}

// Fields that identify RoCEv2: UDP to its port (InfiniBand specification, annex A17), over IPv4 or
// IPv6.
const (
	ethernetSize  = 14
	etherTypeAt   = 12
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	ipv4Size      = 20
	ipv6Size      = 40
	udpSize       = 8
	protocolUDP   = 17
	rocePort      = 4791
)

// ipv6 reports whether a RoCEv2 frame is IPv6.
func ipv6(frame []byte) bool {
	return binary.BigEndian.Uint16(frame[etherTypeAt:]) == etherTypeIPv6
}

// roce returns the UDP payload of a RoCEv2 frame, a subslice of frame.
func roce(frame []byte) ([]byte, bool) {
	if len(frame) < ethernetSize+ipv4Size+udpSize {
		return nil, false
	}
	ip, protocol, header := frame[ethernetSize:], byte(0), 0
	switch binary.BigEndian.Uint16(frame[etherTypeAt:]) {
	case etherTypeIPv4:
		protocol, header = ip[9], int(ip[0]&15)*4
	case etherTypeIPv6:
		protocol, header = ip[6], ipv6Size
	}
	if protocol != protocolUDP || header < ipv4Size || len(ip) < header+udpSize {
		return nil, false
	}
	udp := ip[header:]
	size := int(binary.BigEndian.Uint16(udp[4:]))
	if binary.BigEndian.Uint16(udp[2:]) != rocePort || size < udpSize || size > len(udp) {
		return nil, false
	}
	return udp[udpSize:size], true
}
