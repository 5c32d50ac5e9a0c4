package cc

import (
	"math"

	"github.com/goroce/goroce/units"
)

// DCTCP implements Alizadeh et al., "Data Center TCP" (SIGCOMM'10), as in RFC 8257. Switches mark
// packets that meet a queue longer than K; the receiver echoes every mark. alpha is the smoothed
// share of marked packets, and a window with a mark is cut by alpha/2: slight congestion causes a
// slight cut.
//
// Where the paper counts bytes this counts packets, full or not.
type DCTCP struct {
	dctcpParams
	path Path

	cwnd, ssthresh float64 // packets
	share          markShare
	windowEnd      psnMark // of the window alpha is measured over
	cutEnd         psnMark // of the window that was cut
	exponent       float64 // of alpha in a cut: 1; D2TCP's d
	srtt           ewma
	record
}

type dctcpParams struct {
	gain, alpha                float64
	ai                         Packets
	slowStart                  bool
	minCwnd, maxCwnd, initCwnd Packets
}

func (p *dctcpParams) declare(s *schema) {
	s.param(&p.gain, "g", "0.0625", "(0, 1]", "DCTCP", "weight of the newest window in alpha")
	s.param(&p.alpha, "alpha", "1", "[0, 1]", "Linux",
		"share of marked packets that is assumed at first")
	s.param(&p.ai, "ai", "1", "(0, inf)", "DCTCP",
		"added to the window in a round trip without marks")
	s.param(&p.slowStart, "slow_start", "off", "", "OURS",
		"begin in slow start; use it with a small init_cwnd")
	s.param(&p.minCwnd, "min_cwnd", "2", "(0, inf)", "RFC 8257",
		"least window; below 1 for incasts of more than BDP/2 flows")
	s.largest(&p.maxCwnd, "max_cwnd", "largest window")
	s.param(&p.initCwnd, "init_cwnd", "1BDP", "(0, inf)", "PrioPlus artifact",
		"window of a flow that begins")
	s.atMost("min_cwnd", "init_cwnd")
	s.atMost("init_cwnd", "max_cwnd")
}

func (p *dctcpParams) build(path Path) Algorithm {
	d := p.start(path)
	return &d
}

func (p *dctcpParams) start(path Path) DCTCP {
	d := DCTCP{dctcpParams: *p, path: path, cwnd: float64(p.initCwnd),
		ssthresh: float64(p.initCwnd), exponent: 1}
	if p.slowStart {
		d.ssthresh = math.Inf(1)
	}
	d.share = markShare{alpha: p.alpha, gain: p.gain}
	d.srtt.value = path.BaseRTT
	return d
}

// Events implements Algorithm.
func (*DCTCP) Events() EventSet { return Events(ACK, ECN, RTT, OOO, RTO) }

// Start implements Starter.
func (d *DCTCP) Start(units.Time) Decision { return d.decide() }

// On implements Algorithm.
func (d *DCTCP) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case ACK, ECN, RTT:
		d.onAck(ev, now)
	case OOO:
		if d.cutEnd.reached(ev.PSN) {
			d.reduce(0.5, ev, CutLoss, now)
		}
	case RTO:
		d.onTimeout(now)
	}
	return d.decide()
}

// onAck updates alpha before it cuts the window: a measurement window that ends with this packet
// counts.
func (d *DCTCP) onAck(ev *Event, now units.Time) {
	if delay, ok := d.sample(ev); ok {
		d.srtt.add(delay)
	}
	acked, marked := d.acked(ev)
	d.share.count(acked, marked)
	if !d.windowEnd.set {
		d.windowEnd.at(ev.SndNxt)
	} else if d.windowEnd.reached(ev.PSN) {
		d.share.close()
		d.windowEnd.at(ev.SndNxt)
	}
	switch {
	case !d.cutEnd.passed(ev.PSN): // cut in this window already (CWR)
	case marked > 0:
		d.reduce(d.share.cut(d.exponent), ev, CutMark, now)
	case inUse(ev, d.cwnd, &d.path):
		d.grow(acked)
	}
}

func (d *DCTCP) grow(acked float64) {
	switch {
	case d.cwnd < d.ssthresh: // slow start
		d.cwnd = min(d.cwnd+acked, max(d.ssthresh, d.cwnd+float64(d.ai)*acked/max(d.cwnd, 1)))
	default:
		d.cwnd += float64(d.ai) * acked / max(d.cwnd, 1)
	}
	d.cwnd = clamp(d.cwnd, float64(d.minCwnd), float64(d.maxCwnd))
}

// reduce multiplies the window by part, once for what is in flight.
func (d *DCTCP) reduce(part float64, ev *Event, why Reason, now units.Time) {
	before := d.cwnd
	d.cwnd = clamp(d.cwnd*part, float64(d.minCwnd), float64(d.maxCwnd))
	d.ssthresh = d.cwnd
	d.cutEnd.at(ev.SndNxt)
	if d.cwnd < before {
		d.cut(why, now)
	}
}

func (d *DCTCP) onTimeout(now units.Time) {
	before := d.cwnd
	d.ssthresh = max(d.cwnd/2, float64(d.minCwnd))
	d.cwnd = min(d.cwnd, 1)
	if d.cwnd < before {
		d.cut(CutTimeout, now)
	}
}

func (d *DCTCP) decide() Decision { return windowed(Packets(d.cwnd), &d.path, d.srtt.value) }

// Snapshot implements Observable.
func (d *DCTCP) Snapshot() Snapshot { return d.snapshot(d.decide()) }

// markShare computes alpha, the smoothed share of marked packets.
type markShare struct {
	alpha, gain   float64
	total, marked float64 // in the current window
}

func (m *markShare) count(acked, marked float64) {
	m.total += acked
	m.marked += marked
}

// close ends a window. One without acknowledgements leaves alpha as it is.
func (m *markShare) close() {
	if m.total > 0 {
		m.alpha = (1-m.gain)*m.alpha + m.gain*m.marked/m.total
	}
	m.total, m.marked = 0, 0
}

// cut returns the part of the window that remains.
func (m *markShare) cut(exponent float64) float64 {
	if exponent == 1 {
		return 1 - m.alpha/2
	}
	return 1 - math.Pow(m.alpha, exponent)/2
}
