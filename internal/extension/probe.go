package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// ProbeMode says what a probe field is part of (TAURUS, CoNEXT 2025, section 4.1).
type ProbeMode uint8

// The modes. 1 is a field beside data, which nobody sends.
const (
	ProbeAlone    ProbeMode = 2 // of a PROBE
	ProbeResponse ProbeMode = 3 // of a PROBE_ACK
)

// ProbeLen is the length of a ProbeField.
const ProbeLen = 8

// ProbeField is what a PROBE has behind its XCH, and a PROBE_ACK before all else.
type ProbeField []byte

// Set writes the field: the sequence number of the probe, and when it left by the prober's clock.
func (f ProbeField) Set(mode ProbeMode, seq uint8, left units.Time) {
	binary.BigEndian.PutUint64(f,
		uint64(mode)<<56|uint64(seq)<<48|uint64(left.Sub(0)/units.Nanosecond)&(1<<48-1))
}

// Mode says whether it is of a PROBE or of a PROBE_ACK.
func (f ProbeField) Mode() ProbeMode { return ProbeMode(f[0]) }

// Seq is the number of the probe, modulo 256.
func (f ProbeField) Seq() uint8 { return f[1] }

// Left is when the probe left, by the prober's clock, modulo 2^48 ns.
func (f ProbeField) Left() units.Duration {
	return units.Duration(binary.BigEndian.Uint64(f)&(1<<48-1)) * units.Nanosecond
}

// ProbeEchoLen is the length of a ProbeEcho.
const ProbeEchoLen = 20

// ProbeEcho is what a PROBE_ACK has behind its XCH: the field of the probe, and what became of it.
type ProbeEcho []byte

// Set writes all of it: the field of the probe that is answered, how long after the probe's arrival
// the answer leaves, when it arrived by the receiver's clock, and the hop limit and TOS that it
// came with. There is no gap. A residence of more than 4.29 s is told as that.
func (e ProbeEcho) Set(f ProbeField, residence units.Duration, arrived units.Time, ttl, tos uint8) {
	copy(e, f[:ProbeLen])
	e[0] = uint8(ProbeResponse)
	binary.BigEndian.PutUint32(e[8:], uint32(min(residence/units.Nanosecond, 1<<32-1)))
	binary.BigEndian.PutUint32(e[12:], uint32(arrived.Sub(0)/units.Nanosecond))
	binary.BigEndian.PutUint32(e[16:], uint32(ttl)<<24|uint32(tos)<<16)
}

// SetGap writes how long before its arrival the probe may have waited to be polled.
func (e ProbeEcho) SetGap(gap units.Duration) {
	short := shorten(gap)
	e[18], e[19] = uint8(short>>8), uint8(short)
}

// Field is that of the probe, as a response.
func (e ProbeEcho) Field() ProbeField { return ProbeField(e[:ProbeLen]) }

// Residence is how long after the probe's arrival the answer left.
func (e ProbeEcho) Residence() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(e[8:])) * units.Nanosecond
}

// Arrived is when the probe arrived by the receiver's clock, whose zero nobody knows, modulo 2^32
// ns: only differences mean something.
func (e ProbeEcho) Arrived() units.Duration {
	return units.Duration(binary.BigEndian.Uint32(e[12:])) * units.Nanosecond
}

// TTL is the hop limit that the probe arrived with.
func (e ProbeEcho) TTL() uint8 { return e[16] }

// TOS is the DSCP and ECN that it arrived with.
func (e ProbeEcho) TOS() uint8 { return e[17] }

// Gap is how long before its arrival the probe may have waited to be polled, rounded up by at most
// a 1024th.
func (e ProbeEcho) Gap() units.Duration {
	short := binary.BigEndian.Uint32(e[16:]) & 0xffff
	return units.Duration(uint64(short&shortMask)<<(short>>shortBits)) * units.Nanosecond
}

// The 16 bits of a gap are a mantissa of 11 and an exponent of 5, of nanoseconds.
const (
	shortBits = 11
	shortMask = 1<<shortBits - 1
)

// shorten rounds a gap up to what 16 bits can say.
func shorten(gap units.Duration) uint16 {
	n, exponent := uint64(Nanoseconds(gap)), 0
	for n > shortMask {
		n, exponent = (n+1)/2, exponent+1
	}
	return uint16(exponent<<shortBits) | uint16(n)
}
