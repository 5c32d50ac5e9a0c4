package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// TimingLen is the length of a Timing.
const TimingLen = 16

// Timing is the TLV of an XACK with the part of a packet's round trip that passed in the receiver
// (Swift, SIGCOMM 2020, section 3.1: t3−t2), and the hop limit that gives the length of its path.
type Timing []byte

// Set writes the whole TLV: the packet, the hop limit that it arrived with, how long after its
// arrival the ACK left, at most 4.29 s, and when it arrived by the receiver's clock.
func (t Timing) Set(psn uint32, ttl uint8, residence units.Duration, arrived units.Time) {
	binary.BigEndian.PutUint32(t, uint32(TLVTiming)<<24|TimingLen/4<<16|uint32(ttl)<<8)
	binary.BigEndian.PutUint32(t[4:], psn<<8)
	binary.BigEndian.PutUint32(t[8:], uint32(min(residence/units.Nanosecond, 1<<32-1)))
	binary.BigEndian.PutUint32(t[12:], uint32(arrived.Sub(0)/units.Nanosecond))
}

// PSN returns the PSN of the packet.
func (t Timing) PSN() uint32 { return binary.BigEndian.Uint32(t[4:]) >> 8 }

// TTL returns the hop limit that it arrived with.
func (t Timing) TTL() uint8 { return t[2] }

// Residence returns how long after its arrival the ACK left.
func (t Timing) Residence() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(t[8:])) * units.Nanosecond
}

// Arrived returns when the packet arrived by the receiver's clock, modulo 2^32 ns. The origin of
// the clock is arbitrary, so that only differences are meaningful.
func (t Timing) Arrived() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(t[12:])) * units.Nanosecond
}
