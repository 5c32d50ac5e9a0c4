package fabric

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Ethernet's overhead around a frame in a Buf, in bytes (IEEE 802.3 clauses 3 and 4).
const (
	frameCheck = 4      // frame check sequence
	interFrame = 8 + 12 // preamble with start delimiter, and the gap between packets
	minFrame   = 64     // shortest frame with its check sequence
	onWire     = frameCheck + interFrame
)

// Priorities is the number of classes that PFC (IEEE 802.1Qbb) pauses separately, and of queues of
// real ports.
const Priorities = 8

// MaxQueues is the number of queues of a simulated port, each paused separately. It exceeds PFC's
// classes so that experiments can compare with ideal priorities.
const MaxQueues = 16

// frame is a buffer with the network's metadata. Switches access only the first cache line.
type frame struct {
	next *frame     // in its list
	at   units.Time // when it has arrived completely at the far end of its link
	from *Port      // at a switch: the ingress port
	dst  int32      // host index; -1: none
	hash uint32     // flow hash
	size int32      // bytes in a switch's buffer: padded, with the check sequence
	wire int32      // bytes on the wire: with preamble and gap
	len  int32      // bytes in mem
	id   int32
	prio uint8 // its queue in a switch and its PFC priority
	dscp uint8
	ecn  uint8
	l3   uint8 // offset of the IP header; 0: not IP

	state frameState
	pause bool // a PFC frame
	// priorities that a PFC frame pauses for wait, and that it resumes: one bit each
	pauses, resumes uint8
	_               [8]byte

	mem []byte
	// wait is the duration of a pause frame; at a host, the arrival time minus at (not positive).
	wait  units.Duration
	owner *NIC // of the buffer
	_     [24]byte
}

// frameState is the owner of a frame.
type frameState uint8

const (
	frameFree frameState = iota
	frameHeld            // by a poller
	frameMoving
)

// frameList is an intrusive linked queue of frames.
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

// newFrame returns a frame from the pool, which grows as needed.
func (n *Network) newFrame(owner *NIC) *frame {
	if last := len(n.free) - 1; last >= 0 {
		f := n.free[last]
		n.free = n.free[:last]
		f.state, f.owner = frameHeld, owner
		return f
	}
	if len(n.unused) == 0 {
		n.unused = make([]frame, 64)
	}
	f := &n.unused[0]
	n.unused = n.unused[1:]
	f.id, f.mem, f.state, f.owner = int32(len(n.frames)), n.bufferMemory(), frameHeld, owner
	n.frames = append(n.frames, f)
	return f
}

// bufferMemory returns a buffer from a slab, one allocation for many frames.
func (n *Network) bufferMemory() []byte {
	if len(n.slab) < n.room {
		n.slab = make([]byte, 64*n.room)
	}
	mem := n.slab[:n.room:n.room]
	n.slab = n.slab[n.room:]
	return mem
}

func (n *Network) release(f *frame) {
	f.state, f.owner, f.from, f.pause, f.pauses, f.resumes = frameFree, nil, nil, false, 0, 0
	n.free = append(n.free, f)
}

// resize sets the length of the frame in its buffer.
func (f *frame) resize(length int) {
	f.len = int32(length)
	f.size = int32(max(length+frameCheck, minFrame))
	f.wire = f.size + interFrame
}

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherARP  = 0x0806
	protoUDP  = 17
	protoICMP = 58 // ICMPv6
)

// label parses the fields that switches use: destination, flow hash, DSCP and ECN. Both directions
// of a conversation have the same hash, which covers the addresses in order of value and the UDP
// source port, which both ends of a RoCEv2 connection choose alike.
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
		ip := wire.View[wire.IPv4](data[l3:])
		f.l3, f.dscp, f.ecn = uint8(l3), ip.TOS>>2, ip.TOS&3
		port := uint16(0)
		if ip.Protocol == protoUDP {
			port = binary.BigEndian.Uint16(data[l3+20:])
		}
		f.hash = flowHash(binary.BigEndian.Uint32(data[l3+12:]),
			binary.BigEndian.Uint32(data[l3+16:]), port)
	case ether == etherIPv6 && len(data) >= l3+44:
		ip := wire.View[wire.IPv6](data[l3:])
		f.l3, f.dscp, f.ecn = uint8(l3), ip.TrafficClass()>>2, ip.TrafficClass()&3
		port := uint16(0)
		if ip.NextHeader == protoUDP {
			port = binary.BigEndian.Uint16(data[l3+40:])
		}
		f.hash = flowHash(mix128(data[l3+8:]), mix128(data[l3+24:]), port)
	}
	f.prio = n.config.Classify[f.dscp]
	if f.dst < 0 {
		f.dst = n.resolve(data, l3, ether)
	}
}

// mark sets the ECN field to congestion experienced.
func (f *frame) mark() {
	f.ecn = wire.ECNCE
	f.setTOS(f.dscp<<2 | wire.ECNCE)
}

// setTOS writes DSCP and ECN into the IP header.
func (f *frame) setTOS(tos uint8) {
	if ip := f.mem[f.l3:]; ip[0]>>4 == 4 {
		wire.View[wire.IPv4](ip).TOS = tos
		wire.View[wire.IPv4](ip).UpdateChecksum()
	} else {
		wire.View[wire.IPv6](ip).SetTrafficClass(tos)
	}
}

// flowHash returns the same value for both directions.
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
