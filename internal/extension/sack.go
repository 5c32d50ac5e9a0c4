package extension

import (
	"encoding/binary"
	"math/bits"
)

// MaxSACKBits is how many PSNs behind a gap a SACK can speak of.
const MaxSACKBits = 512

// SACKLen is the length of a SACK of n bits, n a multiple of 32.
func SACKLen(n int) int { return 4 + n/8 }

// SACK is the TLV that says which packets came behind a gap. With ePSN the packet after the one
// that the XACK acknowledges, which is missing, bit i tells of ePSN+1+i: set when it is there.
type SACK []byte

// Len is how many bits there are, a multiple of 32.
func (s SACK) Len() int { return int(binary.BigEndian.Uint16(s[2:])) }

// Top is how many bits there are up to the last one that is set; 0 when none is.
func (s SACK) Top() int {
	for i := s.Len()/32 - 1; i >= 0; i-- {
		if v := s.Bits(i); v != 0 {
			return 32*i + bits.Len32(v)
		}
	}
	return 0
}

// Bits answers bits 32·i to 32·i+31, the first of them in the lowest bit.
func (s SACK) Bits(i int) uint32 { return bits.Reverse32(binary.BigEndian.Uint32(s[4+4*i:])) }

// Word returns bits 64·i to 64·i+63, the first of them in the lowest bit; those that there are none
// of are 0.
func (s SACK) Word(i int) uint64 {
	if at := 4 + 8*i; len(s) >= at+8 {
		return bits.Reverse64(binary.BigEndian.Uint64(s[at:]))
	}
	return uint64(s.Bits(2 * i))
}

// SetBits writes bits 32·i to 32·i+31, the first of them in the lowest bit.
func (s SACK) SetBits(i int, v uint32) { binary.BigEndian.PutUint32(s[4+4*i:], bits.Reverse32(v)) }

// Init writes everything before the bits: s is SACKLen(n) long, n not 0.
func (s SACK) Init(n int) {
	s[0], s[1] = uint8(TLVSack), uint8(SACKLen(n)/4)
	binary.BigEndian.PutUint16(s[2:], uint16(n))
}

func (s SACK) valid() bool {
	n := s.Len()
	return n > 0 && n%32 == 0 && n <= MaxSACKBits && len(s) == SACKLen(n)
}
