package tocc

import "github.com/goroce/goroce/units"

// unwrap32 returns the counter nearest to ref whose low 32 bits are wire; it may be less than ref.
// Counters of bytes have 64 bits here and are serial numbers modulo 2^32 in a ControlMessage.
func unwrap32(ref units.Bytes, wire uint32) units.Bytes {
	return ref + units.Bytes(int32(wire-uint32(ref)))
}

// unwrap24 does the same for a counter modulo 2^24.
func unwrap24(ref units.Bytes, wire uint32) units.Bytes {
	return ref + units.Bytes(int32((wire-uint32(ref))<<8)>>8)
}

// windowLimit keeps the bytes discarded between two RTSs within 24 bits.
const windowLimit = 8*units.MiB - 1

// maxDemand bounds a reported backlog, so that a demand is never mistaken for an earlier one.
const maxDemand = units.GiB

// earlier returns the earlier of two times, where 0 stands for "never".
func earlier(a, b units.Time) units.Time {
	if a == 0 || b != 0 && b.Before(a) {
		return b
	}
	return a
}

// nonZero returns now, or 1 for time 0, since 0 stands for "never".
func nonZero(now units.Time) units.Time {
	if now == 0 {
		return 1
	}
	return now
}
