package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// GapLen is the length of a Gap.
const GapLen = 12

// Gap is the TLV of an XACK with the uncertainty of its Timing: how long the packet may have waited
// to be polled before the arrival in Timing, 0 if the receiver's port has time stamps, and for how
// much of the packet's residence the receiver did not poll.
type Gap []byte

// Set writes the whole TLV. Both times are rounded up to nanoseconds, and at most 4.29 s.
func (g Gap) Set(gap, away units.Duration) {
	binary.BigEndian.PutUint32(g, uint32(TLVGap)<<24|GapLen/4<<16)
	binary.BigEndian.PutUint32(g[4:], Nanoseconds(gap))
	binary.BigEndian.PutUint32(g[8:], Nanoseconds(away))
}

// Gap returns how long the packet may have waited.
func (g Gap) Gap() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(g[4:])) * units.Nanosecond
}

// Away returns how long the receiver did not poll while it had the packet.
func (g Gap) Away() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(g[8:])) * units.Nanosecond
}

// Nanoseconds returns d in nanoseconds, rounded up, limited to 0 to 2^32-1 (4.29 s).
func Nanoseconds(d units.Duration) uint32 {
	return uint32(min((max(0, d)+units.Nanosecond-1)/units.Nanosecond, 1<<32-1))
}
