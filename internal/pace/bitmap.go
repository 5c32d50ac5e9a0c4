package pace

import "math/bits"

// bitmap marks the non-empty ones of up to 4096 lists, and finds the first of them in two steps.
type bitmap struct {
	words [64]uint64
	any   uint64 // which words are not zero
}

func (b *bitmap) set(i uint64) {
	b.words[i/64] |= 1 << (i % 64)
	b.any |= 1 << (i / 64)
}

func (b *bitmap) clear(i uint64) {
	if b.words[i/64] &^= 1 << (i % 64); b.words[i/64] == 0 {
		b.any &^= 1 << (i / 64)
	}
}

// first returns the lowest bit set; there must be one.
func (b *bitmap) first() uint64 {
	i := uint64(bits.TrailingZeros64(b.any))
	return i*64 + uint64(bits.TrailingZeros64(b.words[i%64]))
}
