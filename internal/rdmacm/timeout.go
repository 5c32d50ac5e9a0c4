package rdmacm

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// duration returns the time of a code. Unlike for the ACK timeout, code 0 is a time as well
// (12.6.5).
func duration(code uint8) units.Duration { return 4096 * units.Nanosecond << (code & 31) }

// ackTimeout returns the code nearest to two packet lifetimes plus the ACK delay (12.6.5).
func ackTimeout(lifetime, delay uint8) uint8 {
	sum := uint64(2)<<(lifetime&31) + uint64(1)<<(delay&31)
	return uint8(min(bits.Len64(sum*4/3)-1, 31))
}

// tryTimeoutFor returns the wait for a peer whose response time is a code.
func (c *Conn) tryTimeoutFor(response uint8) units.Duration {
	f := &c.machine.config
	return duration(min(response, f.MaxTimeout)) + 2*duration(f.PacketLifetime)
}
