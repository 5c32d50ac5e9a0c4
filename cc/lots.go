package cc

import "github.com/goroce/goroce/units"

// Lots is what a flow draws, so that flows that were stopped together do not go on together: the
// xorshift generator of Marsaglia (2003) with 32 bits.
type Lots uint32

// NewLots mixes a seed, such as a Path's, so that flows numbered in a row draw unlike each other.
func NewLots(seed uint32) Lots {
	seed ^= seed >> 16 // the finalizer of MurmurHash3
	seed *= 0x85ebca6b
	seed ^= seed >> 13
	seed *= 0xc2b2ae35
	seed ^= seed >> 16
	return Lots(max(1, seed))
}

func (l *Lots) next() float64 {
	*l ^= *l << 13
	*l ^= *l >> 17
	*l ^= *l << 5
	return float64(*l)
}

// Below draws from [0, d).
func (l *Lots) Below(d units.Duration) units.Duration {
	return units.Duration(l.next() / (1 << 32) * float64(d))
}

// Both draws from [-1, 1).
func (l *Lots) Both() float64 { return l.next()/(1<<31) - 1 }
