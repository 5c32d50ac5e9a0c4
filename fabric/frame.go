package fabric

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Ethernet's bytes around a frame as a Buf holds it (IEEE 802.3 clauses 3 and 4).
const (
	frameCheck   = 4      // frame check sequence
	betweenSpace = 8 + 12 // preamble with start delimiter, and the gap between packets
	shortest     = 64     // frame with its check sequence
	onWire       = frameCheck + betweenSpace
)

// Priorities is how many classes PFC (IEEE 802.1Qbb) pauses on their own, and how many queues real
// ports have.
const Priorities = 8

// MaxQueues is how many queues a port may have here, each of them paused on its own: more than any
// protocol has, to hold others against the ideal.
const MaxQueues = 16

// frame is a buffer and what the network knows of what is in it. The first cache line is what a
// switch touches.
type frame struct {
	next *frame     // in the list it is in
	at   units.Time // when it is whole at the far end of the link it is on
	from *Port      // at a switch: where it came in
	dst  int32      // host; -1 for nobody
	hash uint32     // of the flow
	size int32      // bytes that a switch stores: padded, with the check sequence
	wire int32      // bytes of a link's time: with preamble and gap
	len  int32      // bytes in mem
	id   int32
	prio uint8 // its queue in a switch, and what PFC pauses it by
	dscp uint8
	ecn  uint8
	l3   uint8 // offset of the IP header; 0: not IP

	state frameState
	pause bool // a PFC frame, for the queue prio
	_     [10]byte

	mem []byte
	// that a pause asks for; at a host, from when it may have the frame back to its arrival
	wait  units.Duration
	owner *NIC // whose buffer it is
	_     [24]byte
}

// frameState is who has a frame.
type frameState uint8

const (
	frameFree frameState = iota
	frameHeld            // by a poller
	frameMoving
)

// frameList is a queue of frames linked through themselves.
type frameList struct{ head, tail *frame }

func (l *frameList) push(f *frame) {
	f.next = nil
	if l.tail == nil {
		l.head = f
	} else {
		l.tail.next = f
	}
	l.tail = f
}

func (l *frameList) pop() *frame {
	f := l.head
	if l.head = f.next; l.head == nil {
		l.tail = nil
	}
	return f
}

// newFrame takes a frame out of the pool, which grows as needed.
func (n *Network) newFrame(owner *NIC) *frame {
	if last := len(n.free) - 1; last >= 0 {
		f := n.free[last]
		n.free = n.free[:last]
		f.state, f.owner = frameHeld, owner
		return f
	}
	if len(n.fresh) == 0 {
		n.fresh = make([]frame, 64)
	}
	f := &n.fresh[0]
	n.fresh = n.fresh[1:]
	f.id, f.mem, f.state, f.owner = int32(len(n.frames)), n.bufferMemory(), frameHeld, owner
	n.frames = append(n.frames, f)
	return f
}

// bufferMemory cuts a buffer out of a larger piece: one allocation for many frames.
func (n *Network) bufferMemory() []byte {
	if len(n.slab) < n.room {
		n.slab = make([]byte, 64*n.room)
	}
	mem := n.slab[:n.room:n.room]
	n.slab = n.slab[n.room:]
	return mem
}

func (n *Network) release(f *frame) {
	f.state, f.owner, f.from, f.pause = frameFree, nil, nil, false
	n.free = append(n.free, f)
}

// resize notes the length of the frame in its buffer.
func (f *frame) resize(length int) {
	f.len = int32(length)
	f.size = int32(max(length+frameCheck, shortest))
	f.wire = f.size + betweenSpace
}

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherARP  = 0x0806
	protoUDP  = 17
	protoICMP = 58 // ICMPv6
)

// label reads what switches need to know out of a frame: who it is for, which flow it is of, DSCP
// and ECN. The hash does not tell the directions of a conversation apart: it takes the addresses
// in order of value, and the UDP source port, which RoCEv2's two ends choose alike.
func (n *Network) label(f *frame, data []byte) {
	f.resize(len(data))
	f.dst, f.hash, f.dscp, f.ecn, f.l3 = -1, 0, 0, wire.ECNNotECT, 0
	if len(data) < 14 {
		return
	}
	f.dst = n.hostOf(data[:6])
	l3, ether := 14, binary.BigEndian.Uint16(data[12:])
	if ether == etherVLAN && len(data) >= 18 {
		l3, ether = 18, binary.BigEndian.Uint16(data[16:])
	}
	switch {
	case ether == etherIPv4 && len(data) >= l3+24:
		ip := wire.IPv4(data[l3:])
		f.l3, f.dscp, f.ecn = uint8(l3), ip.TOS()>>2, ip.TOS()&3
		port := uint16(0)
		if ip.Protocol() == protoUDP {
			port = binary.BigEndian.Uint16(data[l3+20:])
		}
		f.hash = flowHash(binary.BigEndian.Uint32(data[l3+12:]),
			binary.BigEndian.Uint32(data[l3+16:]), port)
	case ether == etherIPv6 && len(data) >= l3+44:
		ip := wire.IPv6(data[l3:])
		f.l3, f.dscp, f.ecn = uint8(l3), ip.TrafficClass()>>2, ip.TrafficClass()&3
		port := uint16(0)
		if ip.NextHeader() == protoUDP {
			port = binary.BigEndian.Uint16(data[l3+40:])
		}
		f.hash = flowHash(mix128(data[l3+8:]), mix128(data[l3+24:]), port)
	}
	f.prio = n.config.Classify[f.dscp]
	if f.dst < 0 {
		f.dst = n.asked(data, l3, ether)
	}
}

// mark sets congestion experienced.
func (f *frame) mark() {
	f.ecn = wire.ECNCE
	f.setTOS(f.dscp<<2 | wire.ECNCE)
}

// setTOS writes DSCP and ECN into the IP header.
func (f *frame) setTOS(tos uint8) {
	if ip := f.mem[f.l3:]; ip[0]>>4 == 4 {
		wire.IPv4(ip).SetTOS(tos)
		wire.IPv4(ip).UpdateChecksum()
	} else {
		wire.IPv6(ip).SetTrafficClass(tos)
	}
}

// flowHash is the same for both directions.
func flowHash(src, dst uint32, port uint16) uint32 {
	return mix(uint64(mix(uint64(min(src, dst))<<32|uint64(max(src, dst)), 0))<<16|uint64(port), 0)
}

// mix is a hash of 64 bits with a seed (the finalizer of SplitMix64, Steele et al., OOPSLA 2014).
func mix(v, seed uint64) uint32 {
	v += seed + 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return uint32((v ^ v>>31) >> 32)
}

func mix128(b []byte) uint32 {
	return mix(binary.BigEndian.Uint64(b), uint64(mix(binary.BigEndian.Uint64(b[8:]), 0)))
}
