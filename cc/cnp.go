package cc

import "github.com/goroce/goroce/units"

// CNPInterval is the least time between two CNPs of a flow (DCQCN section 3.1: N = 50 us).
const CNPInterval = 50 * units.Microsecond

// CNPGate is DCQCN's notification point (NP): the receiver's half, one for each queue pair. It lets
// the first marked packet be answered with a CNP at once, and another no sooner than an
// interval later. Per port instead of per queue pair the flows of an incast would starve of CNPs.
type CNPGate struct {
	Interval units.Duration // 0 is CNPInterval
	last     gate
}

// Marked is told that a marked packet arrived, and says whether to send a CNP.
func (g *CNPGate) Marked(now units.Time) bool {
	interval := g.Interval
	if interval <= 0 {
		interval = CNPInterval
	}
	if !g.last.open(now, interval) {
		return false
	}
	g.last.shut(now)
	return true
}
