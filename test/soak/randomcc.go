package main

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// randomCC is a congestion control algorithm that changes window and rate at random and holds the
// flow for random times. The transport must follow any decision.
type randomCC struct {
	rng      rng
	window   units.Bytes    // lower bound
	rate     units.BitRate  // lower bound; 0: never paces
	hold     units.Duration // upper bound; 0: never holds
	events   cc.EventSet
	decision cc.Decision
}

// Events implements cc.Algorithm.
func (c *randomCC) Events() cc.EventSet { return c.events }

// Start implements cc.Starter.
func (c *randomCC) Start(now units.Time) cc.Decision {
	c.draw(now)
	return c.decision
}

// On implements cc.Algorithm.
func (c *randomCC) On(ev *cc.Event, now units.Time) cc.Decision {
	if ev.Kind == cc.TIMER || !c.decision.Hold && c.rng.chance(0.1) {
		c.draw(now)
	}
	return c.decision
}

func (c *randomCC) draw(now units.Time) {
	r := c.rng
	c.decision = cc.Decision{Window: logUniform(r, c.window, units.MiB)}
	if c.rate > 0 && r.chance(0.5) {
		c.decision.Rate = logUniform(r, c.rate, 100*c.rate)
	}
	if c.hold > 0 && r.chance(0.3) {
		c.decision.Hold, c.decision.WakeAt = true, now.Add(uniform(r, 1, c.hold))
	}
}

// newAlgorithm returns the peer end's congestion control.
func (end *peerEnd) newAlgorithm() (cc.Algorithm, error) {
	if end.session.control != nil {
		return end.newControlled()
	}
	if !end.randomCC {
		return &cc.Fixed{Window: end.window, Rate: end.rate}, nil
	}
	return &randomCC{rng: newRNG(end.session.plan.seed, uint64(end.number)<<32|0x7768696d),
		window: end.window, rate: end.rate,
		hold: min(50*units.Microsecond, end.minTimeout/8), events: end.ccEvents}, nil
}
