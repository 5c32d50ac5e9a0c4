package sim

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// tap wraps a flow's algorithm: it records events and decisions, adds noise to delays, adds the
// remaining bytes of the flow, and stops the flow at its time.
type tap struct {
	cc.Algorithm
	trace    *Trace
	keepGaps bool
	rate     units.BitRate // rate of the packet that waits
}

// Events implements cc.Algorithm.
func (t *tap) Events() cc.EventSet { return t.Algorithm.Events() | cc.Events(cc.TX, cc.ACK) }

// Telemetry implements cc.Telemeter.
func (t *tap) Telemetry() int {
	if x, ok := t.Algorithm.(cc.Telemeter); ok {
		return x.Telemetry()
	}
	return 0
}

// Start implements cc.Starter.
func (t *tap) Start(now units.Time) cc.Decision {
	d := cc.Decision{Window: units.MiB} // the transport's default
	if s, ok := t.Algorithm.(cc.Starter); ok {
		d = s.Start(now)
	}
	t.trace.decision, t.rate = d, d.Rate
	return d
}

// On implements cc.Algorithm.
func (t *tap) On(ev *cc.Event, now units.Time) cc.Decision {
	f := t.trace
	switch ev.Kind {
	case cc.ACK, cc.ECN, cc.RTT:
		if ev.Bytes > 0 {
			f.Acked += ev.Bytes
			f.Finish = now.Sub(f.zero)
			f.Ended = f.Bytes > 0 && f.Acked >= f.Bytes
		}
	case cc.TX:
		if f.Bytes > 0 {
			for range ev.Packets { // of one burst
				f.Sent = append(f.Sent, now.Add(-units.Duration(f.zero)))
			}
		}
	}
	if ev.Kind == cc.RTT {
		ev.Delay += f.noise()
	}
	if f.Bytes > f.Acked { // the transport itself knows of two messages at a time
		ev.Left = f.Bytes - f.Acked
	}
	if t.Algorithm.Events().Has(ev.Kind) {
		d := t.Algorithm.On(ev, now)
		if d.Window != f.decision.Window {
			f.Window.Add(now, float64(d.Window)/float64(f.payload))
		}
		f.decision = d
	}
	if f.OnEvent != nil {
		f.OnEvent(ev, t.Algorithm, now.Sub(f.zero))
	}
	d := f.decision
	if t.keepGaps {
		if ev.Kind == cc.TX || t.rate == 0 || d.Rate == 0 {
			t.rate = d.Rate
		}
		d.Rate = t.rate
	}
	if f.Stop > 0 && now.Sub(f.zero) >= f.Stop {
		d = cc.Decision{Hold: true, Window: d.Window, Rate: d.Rate} // without a probe
	}
	return d
}

// Snapshot implements cc.Observable.
func (t *tap) Snapshot() cc.Snapshot {
	if o, ok := t.Algorithm.(cc.Observable); ok {
		return o.Snapshot()
	}
	return cc.Snapshot{Window: t.trace.decision.Window, Rate: t.trace.decision.Rate}
}
