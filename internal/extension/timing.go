package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// TimingLen is the length of a Timing.
const TimingLen = 16

// Timing is the TLV of an XACK that tells apart, for the packet it names, what of the round trip
// passed in the receiver (Swift, SIGCOMM 2020, section 3.1: t3−t2), and how far the packet came.
type Timing []byte

// Set writes the whole TLV: the packet, the hop limit that it arrived with, how long after its
// arrival the ACK left, and when it arrived by the receiver's clock. A residence of more than 4.29
// s is told as that.
func (t Timing) Set(psn uint32, ttl uint8, residence units.Duration, arrived units.Time) {
	binary.BigEndian.PutUint32(t, uint32(TLVTiming)<<24|TimingLen/4<<16|uint32(ttl)<<8)
	binary.BigEndian.PutUint32(t[4:], psn<<8)
	binary.BigEndian.PutUint32(t[8:], uint32(min(residence/units.Nanosecond, 1<<32-1)))
	binary.BigEndian.PutUint32(t[12:], uint32(arrived.Sub(0)/units.Nanosecond))
}

// PSN is the packet's.
func (t Timing) PSN() uint32 { return binary.BigEndian.Uint32(t[4:]) >> 8 }

// TTL is the hop limit that it arrived with.
func (t Timing) TTL() uint8 { return t[2] }

// Residence is how long after its arrival the ACK left.
func (t Timing) Residence() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(t[8:])) * units.Nanosecond
}

// Arrived is when it arrived by the receiver's clock, whose zero nobody knows, modulo 2^32 ns: only
// differences mean something.
func (t Timing) Arrived() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(t[12:])) * units.Nanosecond
}
