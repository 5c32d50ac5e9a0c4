package cc

import "github.com/goroce/goroce/units"

// ewma is an exponentially weighted moving average: the first sample, then 7/8 of the old value and
// 1/8 of the new sample, as in TCP (RFC 6298).
type ewma struct {
	value  units.Duration
	seeded bool
}

func (e *ewma) add(d units.Duration) {
	if !e.seeded {
		*e = ewma{d, true}
		return
	}
	e.value += (d - e.value) / 8
}

// cooldown limits how often something happens. One that was never started has expired.
type cooldown struct {
	at      units.Time
	started bool
}

func (c *cooldown) start(now units.Time) { *c = cooldown{now, true} }

// expired reports whether the cooldown was never started, or started at least this long ago. When
// the clock has stepped back behind the start, the start becomes now, so that it still expires.
func (c *cooldown) expired(now units.Time, after units.Duration) bool {
	if c.started && now.Before(c.at) {
		c.at = now
	}
	return !c.started || now.Sub(c.at) >= after
}
