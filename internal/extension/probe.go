package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// ProbeMode is the place of a probe field (TAURUS, CoNEXT 2025, section 4.1).
type ProbeMode uint8

// The modes. 1, a field beside data, is not used on the wire.
const (
	ProbeAlone    ProbeMode = 2 // of a PROBE
	ProbeResponse ProbeMode = 3 // of a PROBE_ACK
)

// ProbeLen is the length of a ProbeField.
const ProbeLen = 8

// ProbeField is the body of a PROBE, and the start of the body of a PROBE_ACK.
type ProbeField []byte

// Set writes the field: the number of the probe, and the time when it left, by the sender's clock.
func (f ProbeField) Set(mode ProbeMode, seq uint8, left units.Time) {
	binary.BigEndian.PutUint64(f,
		uint64(mode)<<56|uint64(seq)<<48|uint64(left.Sub(0)/units.Nanosecond)&(1<<48-1))
}

// Mode returns the place of the field.
func (f ProbeField) Mode() ProbeMode { return ProbeMode(f[0]) }

// Seq returns the number of the probe, modulo 256.
func (f ProbeField) Seq() uint8 { return f[1] }

// Left returns the time when the probe left, by the sender's clock, modulo 2^48 ns.
func (f ProbeField) Left() units.Duration {
	return units.Duration(binary.BigEndian.Uint64(f)&(1<<48-1)) * units.Nanosecond
}

// ProbeEchoLen is the length of a ProbeEcho.
const ProbeEchoLen = 20

// ProbeEcho is the body of a PROBE_ACK: the field of the probe, and the times of its arrival and
// response.
type ProbeEcho []byte

// Set writes everything but the gap, which is 0: the field of the probe, how long after the probe's
// arrival the response leaves, at most 4.29 s, when the probe arrived by the receiver's clock, and
// the hop limit and TOS that it arrived with.
func (e ProbeEcho) Set(f ProbeField, residence units.Duration, arrived units.Time, ttl, tos uint8) {
	copy(e, f[:ProbeLen])
	e[0] = uint8(ProbeResponse)
	binary.BigEndian.PutUint32(e[8:], uint32(min(residence/units.Nanosecond, 1<<32-1)))
	binary.BigEndian.PutUint32(e[12:], uint32(arrived.Sub(0)/units.Nanosecond))
	binary.BigEndian.PutUint32(e[16:], uint32(ttl)<<24|uint32(tos)<<16)
}

// SetGap writes how long the probe may have waited to be polled before its arrival.
func (e ProbeEcho) SetGap(gap units.Duration) {
	short := shorten(gap)
	e[18], e[19] = uint8(short>>8), uint8(short)
}

// Field returns the field of the probe, as a response.
func (e ProbeEcho) Field() ProbeField { return ProbeField(e[:ProbeLen]) }

// Residence returns how long after the probe's arrival the response left.
func (e ProbeEcho) Residence() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(e[8:])) * units.Nanosecond
}

// Arrived returns when the probe arrived by the receiver's clock, modulo 2^32 ns. The origin of the
// clock is arbitrary, so that only differences are meaningful.
func (e ProbeEcho) Arrived() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(e[12:])) * units.Nanosecond
}

// TTL returns the hop limit that the probe arrived with.
func (e ProbeEcho) TTL() uint8 { return e[16] }

// TOS returns the DSCP and ECN that the probe arrived with.
func (e ProbeEcho) TOS() uint8 { return e[17] }

// Gap returns how long the probe may have waited to be polled before its arrival, rounded up by at
// most a 1024th.
func (e ProbeEcho) Gap() units.Duration {
	short := binary.BigEndian.Uint32(e[16:]) & 0xffff
	return units.Duration(uint64(short&shortMask)<<(short>>shortBits)) * units.Nanosecond
}

// The 16 bits of a gap are a mantissa of 11 and an exponent of 5, of nanoseconds.
const (
	shortBits = 11
	shortMask = 1<<shortBits - 1
)

// shorten returns the 16 bits of a gap, rounded up.
func shorten(gap units.Duration) uint16 {
	n, exponent := uint64(Nanoseconds(gap)), 0
	for n > shortMask {
		n, exponent = (n+1)/2, exponent+1
	}
	return uint16(exponent<<shortBits) | uint16(n)
}
