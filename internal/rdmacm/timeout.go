package rdmacm

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// duration is the time of a code; all 31 of them, 0 too (12.6.5; unlike the ACK timeout's).
func duration(code uint8) units.Duration { return 4096 * units.Nanosecond << (code & 31) }

// ackTimeout is the code nearest to two packet lifetimes and the delay of an ACK (12.6.5).
func ackTimeout(lifetime, delay uint8) uint8 {
	sum := uint64(2)<<(lifetime&31) + uint64(1)<<(delay&31)
	return uint8(min(bits.Len64(sum*4/3)-1, 31))
}

// patienceFor is how long to wait for a peer that answers within a code's time.
func (c *Conn) patienceFor(response uint8) units.Duration {
	f := &c.machine.config
	return duration(min(response, f.MaxTimeout)) + 2*duration(f.PacketLifetime)
}
