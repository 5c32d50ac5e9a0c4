package cc

import "github.com/goroce/goroce/units"

// CNPInterval is the least time between two CNPs of a flow (DCQCN section 3.1: N = 50 us).
const CNPInterval = 50 * units.Microsecond

// CNPGate is DCQCN's notification point (NP): the receiver's half, one for each queue pair. The
// first marked packet triggers a CNP at once, the next CNP follows no sooner than an interval
// later. With one limit per port, flows of an incast would get too few CNPs.
type CNPGate struct {
	Interval units.Duration // 0 is CNPInterval
	last     cooldown
}

// Marked processes the arrival of a marked packet, and reports whether to send a CNP.
func (g *CNPGate) Marked(now units.Time) bool {
	interval := g.Interval
	if interval <= 0 {
		interval = CNPInterval
	}
	if !g.last.expired(now, interval) {
		return false
	}
	g.last.start(now)
	return true
}
