package tocc

import "github.com/goroce/goroce/units"

// Counters of bytes are whole here and modulo 2^32 in a Notice. near answers the whole one that is
// nearest to ref: it may be before it.
func near(ref units.Bytes, wire uint32) units.Bytes {
	return ref + units.Bytes(int32(wire-uint32(ref)))
}

// near24 is the same of a counter modulo 2^24.
func near24(ref units.Bytes, wire uint32) units.Bytes {
	return ref + units.Bytes(int32((wire-uint32(ref))<<8)>>8)
}

// mostWindow keeps what is discarded between two RTSs within what 24 bits tell.
const mostWindow = 8*units.MiB - 1

// farthest is more than what waits says at once, so that a demand is never taken for one before it.
const farthest = units.GiB

// sooner answers the earlier of two moments, of which 0 is never.
func sooner(a, b units.Time) units.Time {
	if a == 0 || b != 0 && b.Before(a) {
		return b
	}
	return a
}

// moment is now where 0 is never.
func moment(now units.Time) units.Time {
	if now == 0 {
		return 1
	}
	return now
}
