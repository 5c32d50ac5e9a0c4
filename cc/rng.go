package cc

import "github.com/goroce/goroce/units"

// RNG is the random number generator of one flow, which desynchronises flows that were stopped
// together: the xorshift generator of Marsaglia (2003) with 32 bits.
type RNG uint32

// NewRNG returns a generator for a seed, such as a Path's. It mixes the seed, so that flows with
// consecutive seeds draw different numbers.
func NewRNG(seed uint32) RNG {
	seed ^= seed >> 16 // the finalizer of MurmurHash3
	seed *= 0x85ebca6b
	seed ^= seed >> 13
	seed *= 0xc2b2ae35
	seed ^= seed >> 16
	return RNG(max(1, seed))
}

func (r *RNG) next() float64 {
	*r ^= *r << 13
	*r ^= *r >> 17
	*r ^= *r << 5
	return float64(*r)
}

// Below returns a duration from [0, d).
func (r *RNG) Below(d units.Duration) units.Duration {
	return units.Duration(r.next() / (1 << 32) * float64(d))
}

// Symmetric returns a number from [-1, 1).
func (r *RNG) Symmetric() float64 { return r.next()/(1<<31) - 1 }
