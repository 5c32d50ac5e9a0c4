package main

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// What the emulated guest takes: see matrix's packetsInFlight.
const window = 256 * units.KiB

// pause is between the answer to a probe and the next one.
const pause = 100 * units.Microsecond

// flow is the congestion control that stops before each message and in its midst, until so many
// probes have been answered.
type flow struct {
	size   units.Bytes
	probes int

	decision cc.Decision
	left     int         // probes to be answered
	midst    units.Bytes // what is left when it stops again
	stops    []stop
}

// stop is what came of the probes of one.
type stop struct {
	inside bool // a message
	left   units.Bytes
	delays []units.Duration
	lost   int
}

func (f *flow) Events() cc.EventSet { return cc.Events(cc.POST, cc.ACK, cc.RTT, cc.RTO) }

func (f *flow) Start(units.Time) cc.Decision {
	f.decision.Window = window
	return f.decision
}

func (f *flow) On(ev *cc.Event, now units.Time) cc.Decision {
	switch {
	case ev.Kind == cc.POST:
		f.midst = f.size / 2
		f.stop(ev, false, now)
	case ev.Probe && f.left > 0:
		s := &f.stops[len(f.stops)-1]
		if ev.Kind == cc.RTO {
			s.lost++
		} else {
			s.delays = append(s.delays, ev.Delay)
			f.left--
		}
		if f.left > 0 {
			f.decision.ProbeAt = now.Add(pause)
		} else {
			f.decision = cc.Decision{Window: window}
		}
	case f.left == 0 && f.midst > 0 && ev.Left <= f.midst && ev.Left > 0:
		f.midst = 0
		f.stop(ev, true, now)
	}
	return f.decision
}

func (f *flow) stop(ev *cc.Event, inside bool, now units.Time) {
	f.stops = append(f.stops, stop{inside: inside, left: ev.Left})
	f.left, f.decision = f.probes, cc.Decision{ProbeAt: now.Add(pause)}
}

// String tells of a stop in a line.
func (s stop) String() string {
	where, d := "before a message", slices.Sorted(slices.Values(s.delays))
	if s.inside {
		where = fmt.Sprintf("in one, %d bytes to go", int64(s.left))
	}
	text := fmt.Sprintf("stopped %s: %d probes answered, %d lost", where, len(d), s.lost)
	if n := len(d); n > 0 {
		text += fmt.Sprintf(", delay %v, %v to %v", d[n/2], d[0], d[n-1])
	}
	return text
}

// sum tells of all of them.
func (f *flow) sum() string {
	var all stop
	for _, s := range f.stops {
		all.delays, all.lost = append(all.delays, s.delays...), all.lost+s.lost
	}
	d, lost := slices.Sorted(slices.Values(all.delays)), ""
	if all.lost > 0 {
		lost = fmt.Sprintf(", and %d lost before", all.lost)
	}
	return fmt.Sprintf("%d probes in %d stops answered%s; delay %.0f us, 90 %% of them up to "+
		"%.0f us", len(d), len(f.stops), lost,
		d[len(d)/2].Microseconds(), d[len(d)*9/10].Microseconds())
}
