package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// GapLen is the length of a Gap.
const GapLen = 12

// Gap is the TLV of an XACK beside its Timing: how long before the arrival that Timing counts from
// the packet may have waited to be polled, which is 0 where the receiver's port has time stamps,
// and for how much of its stay the receiver did not poll at all.
type Gap []byte

// Set writes the whole TLV. Both round up to nanoseconds; more than 4.29 s are told as that.
func (g Gap) Set(gap, away units.Duration) {
	binary.BigEndian.PutUint32(g, uint32(TLVGap)<<24|GapLen/4<<16)
	binary.BigEndian.PutUint32(g[4:], Nanoseconds(gap))
	binary.BigEndian.PutUint32(g[8:], Nanoseconds(away))
}

// Gap is how long the packet may have waited.
func (g Gap) Gap() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(g[4:])) * units.Nanosecond
}

// Away is for how much of its stay the receiver did not poll.
func (g Gap) Away() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(g[8:])) * units.Nanosecond
}

// Nanoseconds returns d in nanoseconds, rounded up: 0 for less than nothing, and at most 2^32-1
// (4.29 s).
func Nanoseconds(d units.Duration) uint32 {
	return uint32(min((max(0, d)+units.Nanosecond-1)/units.Nanosecond, 1<<32-1))
}
