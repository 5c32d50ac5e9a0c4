package extension

import (
	"encoding/binary"
	"math/bits"
)

// MaxSACKBits is the greatest number of PSNs behind a gap in a SACK.
const MaxSACKBits = 512

// SACKLen returns the length of a SACK of n bits, n a multiple of 32.
func SACKLen(n int) int { return 4 + n/8 }

// SACK is the TLV with the packets that arrived behind a gap. With ePSN the PSN after the one that
// the XACK acknowledges, bit i is set if the packet ePSN+1+i has arrived.
type SACK []byte

// Len returns the number of bits, a multiple of 32.
func (s SACK) Len() int { return int(binary.BigEndian.Uint16(s[2:])) }

// Top returns the number of bits up to the last one that is set, or 0 if none is.
func (s SACK) Top() int {
	for i := s.Len()/32 - 1; i >= 0; i-- {
		if v := s.Bits(i); v != 0 {
			return 32*i + bits.Len32(v)
		}
	}
	return 0
}

// Bits returns bits 32·i to 32·i+31, the first of them in the lowest bit.
func (s SACK) Bits(i int) uint32 { return bits.Reverse32(binary.BigEndian.Uint32(s[4+4*i:])) }

// Word returns bits 64·i to 64·i+63, the first of them in the lowest bit. Bits from Len on are 0.
func (s SACK) Word(i int) uint64 {
	if at := 4 + 8*i; len(s) >= at+8 {
		return bits.Reverse64(binary.BigEndian.Uint64(s[at:]))
	}
	return uint64(s.Bits(2 * i))
}

// SetBits writes bits 32·i to 32·i+31, the first of them in the lowest bit.
func (s SACK) SetBits(i int, v uint32) { binary.BigEndian.PutUint32(s[4+4*i:], bits.Reverse32(v)) }

// Init writes everything before the bits. The length of s is SACKLen(n), n not 0.
func (s SACK) Init(n int) {
	s[0], s[1] = uint8(TLVSack), uint8(SACKLen(n)/4)
	binary.BigEndian.PutUint16(s[2:], uint16(n))
}

func (s SACK) valid() bool {
	n := s.Len()
	return n > 0 && n%32 == 0 && n <= MaxSACKBits && len(s) == SACKLen(n)
}
