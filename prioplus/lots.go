package prioplus

import "github.com/goroce/goroce/units"

// lots is what a flow draws, so that flows that stopped together do not probe together: the xorshift
// generator of Marsaglia (2003) with 32 bits.
type lots uint32

// newLots mixes the seed, so that flows numbered in a row draw unlike each other.
func newLots(seed uint32) lots {
	seed ^= seed >> 16 // the finalizer of MurmurHash3
	seed *= 0x85ebca6b
	seed ^= seed >> 13
	seed *= 0xc2b2ae35
	seed ^= seed >> 16
	return lots(max(1, seed))
}

// below draws from [0, d).
func (l *lots) below(d units.Duration) units.Duration {
	*l ^= *l << 13
	*l ^= *l >> 17
	*l ^= *l << 5
	return units.Duration(float64(*l) / (1 << 32) * float64(d))
}
