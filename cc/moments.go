package cc

import "github.com/goroce/goroce/units"

// smoothed is a moving average: the first sample, then 7/8 of the old and 1/8 of the new one, as
// TCP's (RFC 6298).
type smoothed struct {
	value units.Duration
	some  bool
}

func (s *smoothed) add(d units.Duration) {
	if !s.some {
		*s = smoothed{d, true}
		return
	}
	s.value += (d - s.value) / 8
}

// gate is open once in a while. One that was never shut is open.
type gate struct {
	at  units.Time
	was bool
}

func (g *gate) shut(now units.Time) { *g = gate{now, true} }

// open says whether it was shut for the first time, or at least this long ago. When the clock has
// stepped back behind the moment it was shut, that is now: it will not stay shut for ever.
func (g *gate) open(now units.Time, after units.Duration) bool {
	if g.was && now.Before(g.at) {
		g.at = now
	}
	return !g.was || now.Sub(g.at) >= after
}
