package cc

import (
	"math"

	"github.com/goroce/goroce/units"
)

// DCQCNNIC is DCQCN as implemented in NICs (NVIDIA's DCQCN parameters; the model in the artifact of
// HPCC, SIGCOMM'19). A CNP sets flags, and timers do everything else: alpha is updated every
// alpha_period, the rate is cut at most every cut_period and raised every rate_period, in the
// stages recovery, one additive step, then hyper increase without end. It is a different algorithm
// from the paper's, not a different set of constants.
type DCQCNNIC struct {
	dcqcnNICParams

	rc, rt    float64 // R_C, R_T: bit/s
	alpha     float64
	stage     int
	anyCNP    bool   // a CNP, ever
	congested bool   // a CNP since alpha's last period
	cutting   bool   // a CNP since the last cut
	why       Reason // of the next cut
	running   bool   // the rate timer
	alphaAt   units.Time
	cutAt     units.Time
	rateAt    units.Time
	use       use
	unpaced
	record
}

type dcqcnNICParams struct {
	gain, alpha                        float64
	alphaPeriod, cutPeriod, ratePeriod units.Duration
	threshold                          int
	ai, hai                            units.BitRate
	leastPart                          float64
	clampTarget                        bool
	minRate, line                      units.BitRate
	window                             units.Bytes
}

func (p *dcqcnNICParams) declare(s *schema) {
	s.param(&p.gain, "g", "0.0048828125", "(0, 1)", "NVIDIA: 1-1019/1024",
		"weight of the newest period in alpha (dce_tcp_g)")
	s.param(&p.alpha, "alpha", "0.9990234375", "(0, 1]", "NVIDIA: 1023/1024",
		"alpha at the first CNP (initial_alpha_value)")
	s.param(&p.alphaPeriod, "alpha_period", "1us", "(0s, 1s]", "NVIDIA",
		"period of alpha (dce_tcp_rtt)")
	s.param(&p.cutPeriod, "cut_period", "4us", "(0s, 1s]", "NVIDIA",
		"least time between cuts (rate_reduce_monitor_period)")
	s.param(&p.ratePeriod, "rate_period", "300us", "(0s, 1s]", "NVIDIA",
		"time between raises (rpg_time_reset)")
	s.param(&p.threshold, "threshold", "1", "[0, 1000]", "NVIDIA",
		"steps of fast recovery (rpg_threshold)")
	s.param(&p.ai, "ai", "5Mb/s", "(0, inf)", "NVIDIA", "additive increase (rpg_ai_rate)")
	s.param(&p.hai, "hai", "50Mb/s", "(0, inf)", "NVIDIA", "hyper increase (rpg_hai_rate)")
	s.param(&p.leastPart, "min_dec_fac", "0.5", "(0, 1)", "NVIDIA",
		"no cut leaves less than this part of the rate (rpg_min_dec_fac)")
	s.param(&p.clampTarget, "clamp_target", "off", "", "NVIDIA",
		"every cut lowers the target rate, not only the first of a run (clamp_tgt_rate)")
	s.param(&p.minRate, "min_rate", "1Mb/s", "(0, inf)", "NVIDIA", "least rate (rpg_min_rate)")
	s.param(&p.line, "max_rate", "1line", "(0, inf)", "NVIDIA",
		"largest rate, and the first (rpg_max_rate)")
	s.largest(&p.window, "window", "what may be unacknowledged; NICs have no window")
	s.atMost("min_rate", "max_rate")
}

func (p *dcqcnNICParams) build(path Path) Algorithm {
	return &DCQCNNIC{dcqcnNICParams: *p, rc: float64(p.line), rt: float64(p.line),
		unpaced: path.unpaced(), alpha: p.alpha}
}

// Events implements Algorithm.
func (*DCQCNNIC) Events() EventSet { return Events(CNP, RTO, TX, TIMER) }

// Start implements Starter: at line rate.
func (d *DCQCNNIC) Start(now units.Time) Decision { return d.decide(now) }

// On implements Algorithm.
func (d *DCQCNNIC) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	// a timeout is not in the NIC's description: as a CNP, since the peer that would send CNPs may
	// be gone
	case CNP, RTO:
		d.why = CutCNP
		if ev.Kind == RTO {
			d.why = CutTimeout
		}
		d.onCNP(now)
	case TX:
		idle := d.use.sent(ev, d.rc, now)
		d.rateAt = d.rateAt.Add(idle)
	case TIMER:
		d.onTimer(now)
	}
	return d.decide(now)
}

// onCNP sets the flags. The first cut comes a cut period later.
func (d *DCQCNNIC) onCNP(now units.Time) {
	if !d.anyCNP {
		d.anyCNP, d.alphaAt = true, now.Add(d.alphaPeriod)
	}
	if !d.running {
		d.running, d.stage = true, 0
		d.cutAt, d.rateAt = now.Add(d.cutPeriod), now.Add(d.ratePeriod)
	}
	d.age(now)
	d.congested, d.cutting = true, true
	if late := now.Sub(d.cutAt); late >= 0 { // periods without a call
		d.cutAt = d.cutAt.Add((late/d.cutPeriod + 1) * d.cutPeriod)
	}
}

// age updates alpha for all its periods until now: a CNP may have come in the first of them, none
// in the others.
func (d *DCQCNNIC) age(now units.Time) {
	late := now.Sub(d.alphaAt)
	if late < 0 {
		return
	}
	periods := late/d.alphaPeriod + 1
	d.alphaAt = d.alphaAt.Add(periods * d.alphaPeriod)
	if d.congested {
		d.alpha = (1-d.gain)*d.alpha + d.gain
		d.congested = false
		periods--
	}
	d.alpha *= math.Pow(1-d.gain, float64(periods))
}

func (d *DCQCNNIC) onTimer(now units.Time) {
	if !d.running {
		return
	}
	if d.cutting && !d.cutAt.After(now) {
		d.age(now)
		d.reduce(now)
	}
	if d.use.due(d.rateAt, now) {
		d.rateAt = now.Add(d.ratePeriod)
		d.increase()
	}
}

func (d *DCQCNNIC) reduce(now units.Time) {
	d.cutting = false
	d.cutAt = d.cutAt.Add((now.Sub(d.cutAt)/d.cutPeriod + 1) * d.cutPeriod)
	if d.clampTarget || d.stage != 0 {
		d.rt = d.rc
	}
	before := d.rc
	d.rc = max(d.rc*max(1-d.alpha/2, d.leastPart), float64(d.minRate))
	d.stage = 0
	d.rateAt = now.Add(d.ratePeriod)
	if d.rc < before {
		d.cut(d.why, now)
	}
}

func (d *DCQCNNIC) increase() {
	switch {
	case d.stage < d.threshold: // fast recovery
	case d.stage == d.threshold:
		d.rt += float64(d.ai)
	default:
		d.rt += float64(d.hai)
	}
	d.stage = min(d.stage+1, d.threshold+1)
	d.rt = min(d.rt, float64(d.line))
	d.rc = (d.rt + d.rc) / 2
	if !d.cutting && d.rt == float64(d.line) && d.rc > float64(d.line)*lineRateReached {
		d.rc, d.running = d.rt, false
	}
}

func (d *DCQCNNIC) decide(now units.Time) Decision {
	dec := Decision{Window: d.window, Rate: d.pace(d.rc)}
	if !d.running {
		return dec
	}
	// A clock that stepped back must not stop the timers for long.
	d.alphaAt = units.Earlier(d.alphaAt, now.Add(d.alphaPeriod))
	d.cutAt = units.Earlier(d.cutAt, now.Add(d.cutPeriod))
	d.rateAt = units.Earlier(d.rateAt, now.Add(d.ratePeriod))
	dec.WakeAt = d.use.wake(d.rateAt)
	if d.cutting && (dec.WakeAt == 0 || d.cutAt.Before(dec.WakeAt)) {
		dec.WakeAt = d.cutAt
	}
	return dec
}

// Snapshot implements Observable.
func (d *DCQCNNIC) Snapshot() Snapshot {
	return d.snapshot(Decision{Window: d.window, Rate: d.pace(d.rc)})
}
