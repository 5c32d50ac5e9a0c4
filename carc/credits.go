package carc

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// Lines is a number of cache lines. One credit stands for one line.
type Lines int64

// MaxCredits is more lines than any cache has; a CREDIT with more credits is invalid.
const MaxCredits Lines = 1 << 26

// lineShift is the base-2 logarithm of the line length.
type lineShift uint8

func shiftOf(line units.Bytes) lineShift { return lineShift(bits.TrailingZeros64(uint64(line))) }

// lines returns how many lines a message occupies. Messages do not share lines.
func (s lineShift) lines(message units.Bytes) Lines {
	return Lines((message + 1<<(s&63) - 1) >> (s & 63)) // the mask lets the compiler omit a check
}
