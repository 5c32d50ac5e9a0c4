package cc

import "github.com/goroce/goroce/units"

// DCQCN implements Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM'15):
// its reaction point (RP). The congestion point is the switch that marks, the notification point is
// CNPGate. A CNP cuts the current rate R_C by alpha/2 and stores the old one as target R_T. A timer
// and a byte counter then raise R_C back to R_T (fast recovery), then R_T by R_AI (additive
// increase), and by multiples of R_HAI when both have counted beyond F (hyper increase).
//
// At line rate, as at the start, timers and counter are off. The timers also stop while the
// flow has nothing to send, where the transport counts that (Event.Left): an unused rate must not
// grow.
type DCQCN struct {
	dcqcnParams

	rc, rt  float64 // R_C, R_T: bit/s
	alpha   float64
	t, bc   int         // expiries of the timer and the byte counter since the last cut
	bytes   units.Bytes // since the byte counter expired
	running bool        // timers and counter
	alphaAt units.Time
	rateAt  units.Time
	use     use
	unpaced
	record
}

type dcqcnParams struct {
	gain                float64
	alphaPeriod, period units.Duration
	byteCounter         units.Bytes
	recoveries          int
	ai, hai             units.BitRate
	minRate, line       units.BitRate
	window              units.Bytes
}

func (p *dcqcnParams) declare(s *schema) {
	s.param(&p.gain, "g", "0.00390625", "(0, 1)", "DCQCN: 1/256",
		"weight of the newest period in alpha")
	s.param(&p.alphaPeriod, "alpha_period", "55us", "(0s, 1s]", "DCQCN: K",
		"time without a CNP after which alpha decays")
	s.param(&p.period, "period", "55us", "(0s, 1s]", "DCQCN", "period of the rate timer")
	s.param(&p.byteCounter, "byte_counter", "10MB", "(0, inf)", "DCQCN: B",
		"bytes sent that count as much as a period")
	s.param(&p.recoveries, "f", "5", "[1, 1000]", "DCQCN: F", "steps of fast recovery")
	s.param(&p.ai, "ai", "0.001line", "(0, inf)", "DCQCN: 40Mb/s of 40Gb/s",
		"R_AI, additive increase")
	s.param(&p.hai, "hai", "0.01line", "(0, inf)", "PrioPlus artifact", "R_HAI, hyper increase")
	s.param(&p.minRate, "min_rate", "1Mb/s", "(0, inf)", "NVIDIA default", "least rate")
	s.param(&p.line, "max_rate", "1line", "(0, inf)", "DCQCN", "largest rate, and the first")
	s.largest(&p.window, "window", "what may be unacknowledged; the paper has no window")
	s.atMost("min_rate", "max_rate")
}

func (p *dcqcnParams) build(path Path) Algorithm {
	return &DCQCN{dcqcnParams: *p, rc: float64(p.line), rt: float64(p.line),
		unpaced: path.unpaced(), alpha: 1}
}

// Events implements Algorithm.
func (*DCQCN) Events() EventSet { return Events(CNP, RTO, TX, TIMER) }

// Start implements Starter: at line rate.
func (d *DCQCN) Start(now units.Time) Decision { return d.decide(now) }

// On implements Algorithm.
func (d *DCQCN) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case CNP:
		d.onCNP(CutCNP, now)
	case RTO: // not in the paper: as a CNP, since the peer that would send CNPs may be gone
		d.onCNP(CutTimeout, now)
	case TX:
		d.onSent(ev, now)
	case TIMER:
		d.onTimer(now)
	}
	return d.decide(now)
}

// onCNP cuts with the old alpha, then raises alpha.
func (d *DCQCN) onCNP(why Reason, now units.Time) {
	d.rt = d.rc
	d.rc = max(d.rc*(1-d.alpha/2), float64(d.minRate))
	if d.rc < d.rt {
		d.cut(why, now)
	}
	d.alpha = (1-d.gain)*d.alpha + d.gain
	d.t, d.bc, d.bytes = 0, 0, 0
	d.running = true
	d.alphaAt, d.rateAt = now.Add(d.alphaPeriod), now.Add(d.period)
}

func (d *DCQCN) onSent(ev *Event, now units.Time) {
	idle := d.use.sent(ev, d.rc, now)
	if !d.running || ev.Bytes < 0 || ev.Bytes > maxEventBytes {
		return
	}
	d.alphaAt, d.rateAt = d.alphaAt.Add(idle), d.rateAt.Add(idle)
	d.bytes += ev.Bytes
	for ; d.running && d.bytes >= d.byteCounter; d.bytes -= d.byteCounter {
		d.bc++
		d.increase()
	}
}

// maxEventBytes bounds the bytes of a TX event.
const maxEventBytes = 4 * units.GiB

func (d *DCQCN) onTimer(now units.Time) {
	if d.running && d.use.due(d.alphaAt, now) {
		d.alpha *= 1 - d.gain
		d.alphaAt = now.Add(d.alphaPeriod)
	}
	if d.running && d.use.due(d.rateAt, now) {
		d.rateAt = now.Add(d.period)
		d.t++
		d.increase()
	}
}

func (d *DCQCN) increase() {
	switch {
	case max(d.t, d.bc) <= d.recoveries: // fast recovery
	case min(d.t, d.bc) > d.recoveries: // hyper increase
		d.rt += float64(min(d.t, d.bc)-d.recoveries) * float64(d.hai)
	default: // additive increase
		d.rt += float64(d.ai)
	}
	d.rt = min(d.rt, float64(d.line))
	d.rc = (d.rt + d.rc) / 2
	if d.rt == float64(d.line) && d.rc > float64(d.line)*lineRateReached {
		d.rc, d.running = d.rt, false
	}
}

// lineRateReached is the fraction of the line rate that counts as line rate: after a dozen steps
// that each halve the distance.
const lineRateReached = 0.9999

func (d *DCQCN) decide(now units.Time) Decision {
	dec := Decision{Window: d.window, Rate: d.pace(d.rc)}
	if d.running {
		// the clock stepped back
		if d.alphaAt.Sub(now) > d.alphaPeriod || d.rateAt.Sub(now) > d.period {
			d.alphaAt = units.Earlier(d.alphaAt, now.Add(d.alphaPeriod))
			d.rateAt = units.Earlier(d.rateAt, now.Add(d.period))
		}
		dec.WakeAt = d.use.wake(units.Earlier(d.alphaAt, d.rateAt))
	}
	return dec
}

// Snapshot implements Observable.
func (d *DCQCN) Snapshot() Snapshot {
	return d.snapshot(Decision{Window: d.window, Rate: d.pace(d.rc)})
}

// use tracks whether a flow uses its rate. A flow that has sent everything uses the rate until the
// time at which it would send another packet; after that the timers of the rate stop.
type use struct {
	until units.Time
	spent bool // nothing is unsent; until counts
}

// sent processes a TX event, and returns how long the rate was unused before it.
func (u *use) sent(ev *Event, rate float64, now units.Time) (idle units.Duration) {
	from := now
	if u.spent {
		if idle = now.Sub(u.until); idle < 0 {
			idle, from = 0, units.Earlier(u.until, now.Add(units.Second))
		}
	}
	if u.spent = ev.Left > 0 && ev.Left <= ev.InFlight; u.spent {
		u.until = from.Add(min(wholeBits(rate).Duration(ev.Bytes), units.Second))
	}
	return min(idle, maxIdle)
}

// maxIdle keeps the times of timers within the range of Time.
const maxIdle = 1000 * units.Second

// due reports whether a timer that is set to at fires.
func (u *use) due(at, now units.Time) bool {
	return !at.After(now) && !(u.spent && at.After(u.until))
}

// wake returns the wake-up time of a timer that is set to at; 0 while it stands still.
func (u *use) wake(at units.Time) units.Time {
	if u.spent && at.After(u.until) {
		return 0
	}
	if at == 0 { // 0 means no wake-up
		at++
	}
	return at
}
