package tocc

// lots is what a receiver draws, so that credits of many flows do not keep meeting: the xorshift generator of
// Marsaglia (2003) with 32 bits.
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

// both draws from [-1, 1).
func (l *lots) both() float64 {
	*l ^= *l << 13
	*l ^= *l >> 17
	*l ^= *l << 5
	return float64(*l)/(1<<31) - 1
}
