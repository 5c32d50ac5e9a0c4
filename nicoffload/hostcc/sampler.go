package hostcc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// SamplerName is the name under which an agent should register Host.Sampler. WithMarks relies on it
// being the only sampler.
const SamplerName = "hostcc"

// Sampler returns a sampler that reads the occupancy of the I/O controller, in cache lines, and the
// bandwidth of PCIe, in Gb/s, sets the throttling level accordingly, and returns 1 while the host
// is congested, else 0. actuator may be nil.
func (h *Host) Sampler(occupancy, bandwidth nicoffload.Sampler,
	actuator nicoffload.HostActuator) nicoffload.Sampler {
	set := 0
	return func(now units.Time) (float64, bool) {
		lines, some := occupancy(now)
		gbps, both := bandwidth(now)
		if !some || !both {
			return 0, false
		}
		h.SampleOccupancy(whole(lines))
		h.SampleBandwidth(whole(gbps))
		if level := h.Level(now); actuator != nil && level != set {
			if actuator.SetLevel(min(level, actuator.Levels()-1)) == nil {
				set = level
			} else {
				h.failures++
			}
		}
		if h.Congested() {
			return 1, true
		}
		return 0, true
	}
}

// whole rounds a sample as the module does; NaN and negative values become 0.
func whole(v float64) uint32 {
	if !(v > 0) {
		return 0
	}
	return uint32(min(v, 1<<20))
}

// Failures returns how often the actuator failed.
func (h *Host) Failures() uint64 { return h.failures }

// WithMarks wraps an algorithm so that a congested host appears to it as marks on all acknowledged
// packets. It uses the values of any sampler, whatever its number.
func WithMarks(inner cc.Algorithm) cc.Algorithm { return &marker{inner: inner} }

type marker struct {
	inner     cc.Algorithm
	congested bool
	decision  cc.Decision
	event     cc.Event
}

// Events implements cc.Algorithm.
func (a *marker) Events() cc.EventSet { return a.inner.Events() | cc.Events(cc.HOST) }

// Start implements cc.Starter.
func (a *marker) Start(now units.Time) cc.Decision {
	a.decision = cc.Decision{Window: units.MiB}
	if s, ok := a.inner.(cc.Starter); ok {
		a.decision = s.Start(now)
	}
	return a.decision
}

// On implements cc.Algorithm.
func (a *marker) On(ev *cc.Event, now units.Time) cc.Decision {
	switch {
	case ev.Kind == cc.HOST && !a.inner.Events().Has(cc.HOST):
		a.congested = ev.Host.Value > 0
		return a.decision
	case ev.Kind == cc.HOST:
		a.congested = ev.Host.Value > 0
	case a.congested && ev.Packets > 0:
		if k := ev.Kind; k == cc.ACK || k == cc.ECN || k == cc.RTT {
			a.event = *ev
			a.event.Marked = ev.Packets
			if k == cc.ACK && a.inner.Events().Has(cc.ECN) {
				a.event.Kind = cc.ECN
			}
			ev = &a.event
		}
	}
	a.decision = a.inner.On(ev, now)
	return a.decision
}

// Telemetry implements cc.Telemeter.
func (a *marker) Telemetry() int {
	if t, ok := a.inner.(cc.Telemeter); ok {
		return t.Telemetry()
	}
	return 0
}

// Snapshot implements cc.Observable.
func (a *marker) Snapshot() cc.Snapshot {
	if o, ok := a.inner.(cc.Observable); ok {
		return o.Snapshot()
	}
	return cc.Snapshot{Window: a.decision.Window, Rate: a.decision.Rate}
}
