package shaper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Faults are what happens to RoCEv2 packets of either direction, each a probability for a packet.
type Faults struct {
	Loss        float64
	Duplication float64
	Reordering  float64 // it leaves after up to maxBehind that came later
	Corruption  float64 // one bit of its UDP payload is flipped
	Congestion
}

// Counts are what a direction did.
type Counts struct {
	Forwarded  uint64 // frames that came, of any kind
	RoCE       uint64 // those of them that are RoCEv2
	Lost       uint64
	Duplicated uint64
	Reordered  uint64
	Corrupted  uint64
	Marked     uint64 // with congestion experienced
	Notified   uint64 // CNPs that the wire made
	CNPs       uint64 // those that the sender did
	Backward   uint64 // other packets that came with BECN
}

// Plus adds up two directions.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Forwarded + o.Forwarded, c.RoCE + o.RoCE, c.Lost + o.Lost,
		c.Duplicated + o.Duplicated,
		c.Reordered + o.Reordered, c.Corrupted + o.Corrupted, c.Marked + o.Marked,
		c.Notified + o.Notified,
		c.CNPs + o.CNPs, c.Backward + o.Backward}
}

// Faults is how many packets something happened to.
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

// How long a packet is kept back: until so many have overtaken it, or, where no more come, so long.
const (
	maxBehind = 8
	patience  = 5 * time.Millisecond
)

// direction is one way through the shaper.
type direction struct {
	faults Faults
	random *rand.Rand
	counts Counts
	late   []late

	since      time.Time // of the first RoCEv2 packet
	tell, told *notice   // of marks that this direction makes; that the other does; nil: nobody
}

// late is a packet that is kept back.
type late struct {
	frame  []byte
	behind int // packets that are to leave before it
	until  time.Time
}

func newDirection(f Faults, seed, number uint64) *direction {
	return &direction{faults: f, random: rand.New(rand.NewPCG(seed, number))}
}

// pass emits what leaves when a frame has come. The frame is the caller's again afterwards.
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
	// All dice are cast for every packet, so that one fault's probability changes none of the
	// others'.
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

// cast answers true with probability p.
func (d *direction) cast(p float64) bool { return d.random.Float64() < p }

// overtake tells those that are kept back that a packet has left before them.
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

// expire emits those that have waited long enough, and answers when to call again; the zero time is
// never.
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

// What is RoCEv2: UDP to its port (InfiniBand specification, annex A17), over either IP.
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

// ipv6 says which of the two a frame is that is RoCEv2.
func ipv6(frame []byte) bool {
	return binary.BigEndian.Uint16(frame[etherTypeAt:]) == etherTypeIPv6
}

// roce answers the UDP payload of a frame that is RoCEv2. It is a part of frame.
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
