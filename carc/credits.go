package carc

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// Lines is an amount of cache lines. A credit is one.
type Lines int64

// MostCredits is more than any cache has lines; a CREDIT that says more is void.
const MostCredits Lines = 1 << 26

// lineShift is the logarithm of a line's length.
type lineShift uint8

func shiftOf(line units.Bytes) lineShift { return lineShift(bits.TrailingZeros64(uint64(line))) }

// lines is what a message takes, for messages do not share lines.
func (s lineShift) lines(message units.Bytes) Lines {
	return Lines((message + 1<<(s&63) - 1) >> (s & 63)) // the mask spares a comparison
}
