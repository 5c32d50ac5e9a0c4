package main

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// whim is congestion control by whim: now and then it changes window and rate, or holds the flow
// for a while. The transport has to follow whatever an algorithm decides.
type whim struct {
	dice     dice
	window   units.Bytes    // at least
	rate     units.BitRate  // at least; 0: it never paces
	hold     units.Duration // at most; 0: it never holds
	events   cc.EventSet
	decision cc.Decision
}

// Events implements cc.Algorithm.
func (w *whim) Events() cc.EventSet { return w.events }

// Start implements cc.Starter.
func (w *whim) Start(now units.Time) cc.Decision {
	w.change(now)
	return w.decision
}

// On implements cc.Algorithm.
func (w *whim) On(ev *cc.Event, now units.Time) cc.Decision {
	if ev.Kind == cc.TIMER || !w.decision.Hold && w.dice.chance(0.1) {
		w.change(now)
	}
	return w.decision
}

func (w *whim) change(now units.Time) {
	d := w.dice
	w.decision = cc.Decision{Window: scale(d, w.window, units.MiB)}
	if w.rate > 0 && d.chance(0.5) {
		w.decision.Rate = scale(d, w.rate, 100*w.rate)
	}
	if w.hold > 0 && d.chance(0.3) {
		w.decision.Hold, w.decision.WakeAt = true, now.Add(between(d, 1, w.hold))
	}
}

// algorithm makes the side's congestion control.
func (x *side) algorithm() (cc.Algorithm, error) {
	if x.session.control != nil {
		return x.controlled()
	}
	if !x.whimsical {
		return &cc.Fixed{Window: x.window, Rate: x.rate}, nil
	}
	return &whim{dice: newDice(x.session.plan.seed, uint64(x.number)<<32|0x7768696d),
		window: x.window, rate: x.rate,
		hold: min(50*units.Microsecond, x.shortest/8), events: x.hears}, nil
}
