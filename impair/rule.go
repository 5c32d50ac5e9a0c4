package impair

import (
	"math/rand/v2"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// ruleState is a rule in one direction.
type ruleState struct {
	*Rule
	random  *rand.Rand
	matched uint64
	applied uint64
	dropped uint64     // by Rate: the queue was full
	free    units.Time // by Rate: when the link is free again
}

// applies reports whether the rule applies to a packet, at a time since the first one. It draws a
// random number for every packet that matches.
func (s *ruleState) applies(p *wire.Packet, since units.Duration) bool {
	if !s.Op.has(p) || !s.QP.has(uint32(p.DestQP)) || !s.PSN.has(uint32(p.PSN)) {
		return false
	}
	s.matched++
	chance := s.random.Float64()
	if since < units.Duration(s.After) || s.For > 0 && since >= units.Duration(s.After+s.For) {
		return false
	}
	switch {
	case s.Probability != nil:
		return chance < float64(*s.Probability)
	case s.Every > 0:
		return s.matched%uint64(s.Every) == 0
	case len(s.Nth) > 0:
		return s.matched <= 1<<32-1 && s.Nth.has(uint32(s.matched))
	}
	return true
}

// patience is the longest time that a packet waits for others to overtake it.
const patience = 5 * units.Millisecond

// defaultQueue is the default of a rate's queue.
const defaultQueue = size(256 * units.KiB)

// departure returns when a packet that is to leave at a time leaves a link of the rule's rate, and
// false if the queue before it is full.
func (s *ruleState) departure(at units.Time, length units.Bytes) (units.Time, bool) {
	link, queue := units.BitRate(s.Rate), units.Bytes(s.Queue)
	if queue == 0 {
		queue = units.Bytes(defaultQueue)
	}
	start := max(at, s.free)
	if link.Bytes(start.Sub(at))+length > queue {
		s.dropped++
		return 0, false
	}
	s.free = start.Add(link.Duration(length))
	return s.free, true
}

// flip inverts bits of the UDP payload of a packet.
func (s *ruleState) flip(p *wire.Packet) {
	b := p.Frame[p.BTHOff:]
	for range s.Corrupt {
		bit := s.random.Uint64() % uint64(8*len(b))
		b[bit/8] ^= 1 << (bit % 8)
	}
}
