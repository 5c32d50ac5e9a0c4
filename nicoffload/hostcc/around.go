package hostcc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// SamplerName is by what name an agent should know Host.Sampler: the only sampler that Around may
// hear.
const SamplerName = "hostcc"

// Sampler takes in samples of the occupancy of the I/O controller, in cache lines, and of the
// bandwidth of PCIe, in Gb/s, throttles as they say, and answers 1 while the host is congested,
// else 0. actuator may be nil.
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

// whole is a sample as the module has it: what is none, or negative, is 0.
func whole(v float64) uint32 {
	if !(v > 0) {
		return 0
	}
	return uint32(min(v, 1<<20))
}

// Failures answers how often the actuator refused.
func (h *Host) Failures() uint64 { return h.failures }

// Around makes an algorithm that hears a congested host as marks on all that is acknowledged. It
// hears one sampler, whatever its number.
func Around(inner cc.Algorithm) cc.Algorithm { return &around{inner: inner} }

type around struct {
	inner     cc.Algorithm
	congested bool
	decision  cc.Decision
	event     cc.Event
}

// Events implements cc.Algorithm.
func (a *around) Events() cc.EventSet { return a.inner.Events() | cc.Events(cc.HOST) }

// Start implements cc.Starter.
func (a *around) Start(now units.Time) cc.Decision {
	a.decision = cc.Decision{Window: units.MiB}
	if s, ok := a.inner.(cc.Starter); ok {
		a.decision = s.Start(now)
	}
	return a.decision
}

// On implements cc.Algorithm.
func (a *around) On(ev *cc.Event, now units.Time) cc.Decision {
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
func (a *around) Telemetry() int {
	if t, ok := a.inner.(cc.Telemeter); ok {
		return t.Telemetry()
	}
	return 0
}

// Snapshot implements cc.Observable.
func (a *around) Snapshot() cc.Snapshot {
	if o, ok := a.inner.(cc.Observable); ok {
		return o.Snapshot()
	}
	return cc.Snapshot{Window: a.decision.Window, Rate: a.decision.Rate}
}
