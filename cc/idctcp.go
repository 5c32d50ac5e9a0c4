package cc

import "github.com/goroce/goroce/units"

// IDCTCP implements the DCTCP of TAURUS's testbed (PACMNET CoNEXT, December 2025, section 5.1): the
// AIMD of DCTCP on ECE, RTO and OOO alone, which a NIC can count and report in sums. Windows that
// DCTCP delimits by sequence numbers are delimited here by counts: a window ends when as many
// packets are acknowledged as it had at its beginning. The flow starts at a BDP without slow start,
// and may send less than a packet a round trip, which is taken to be the path's base.
//
// The paper specifies only the signals; the rest is OURS.
type IDCTCP struct {
	idctcpParams
	path Path

	cwnd   float64 // packets
	share  markShare
	window float64 // packets after which the window is over
	cutFor float64 // packets still to be acknowledged before the next cut
	record
}

type idctcpParams struct {
	gain, alpha                float64
	ai                         Packets
	minCwnd, maxCwnd, initCwnd Packets
}

func (p *idctcpParams) declare(s *schema) {
	s.param(&p.gain, "g", "0.0625", "(0, 1]", "DCTCP", "weight of the newest window in alpha")
	s.param(&p.alpha, "alpha", "1", "[0, 1]", "Linux",
		"share of marked packets that is assumed at first")
	s.param(&p.ai, "ai", "1", "(0, inf)", "DCTCP", "added to the window in a window without marks")
	s.param(&p.minCwnd, "min_cwnd", "2", "(0, inf)", "DCTCP",
		"least window; below 1 for incasts of more than BDP/2 flows")
	s.largest(&p.maxCwnd, "max_cwnd", "largest window")
	s.param(&p.initCwnd, "init_cwnd", "1BDP", "(0, inf)", "OURS", "window of a flow that begins")
	s.atMost("min_cwnd", "init_cwnd")
	s.atMost("init_cwnd", "max_cwnd")
}

func (p *idctcpParams) build(path Path) Algorithm {
	return &IDCTCP{idctcpParams: *p, path: path, cwnd: float64(p.initCwnd),
		window: float64(p.initCwnd),
		share:  markShare{alpha: p.alpha, gain: p.gain}}
}

// Events implements Algorithm.
func (*IDCTCP) Events() EventSet { return Events(ACK, ECN, OOO, RTO) }

// Start implements Starter.
func (d *IDCTCP) Start(units.Time) Decision { return d.decide() }

// On implements Algorithm.
func (d *IDCTCP) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case ACK, ECN:
		d.onAck(ev, now)
	case OOO:
		if d.cutFor <= 0 {
			d.reduce(0.5, CutLoss, now)
		}
	case RTO:
		d.reduce(min(1, 1/d.cwnd), CutTimeout, now)
	}
	return d.decide()
}

func (d *IDCTCP) onAck(ev *Event, now units.Time) {
	acked, marked := d.acked(ev)
	d.share.count(acked, marked)
	cut := d.cutFor > 0 // in this window already
	d.cutFor = max(0, d.cutFor-acked)
	if d.share.total >= d.window {
		d.share.close()
		d.window = max(d.cwnd, 1)
	}
	switch {
	case cut:
	case marked > 0:
		d.reduce(d.share.cut(1), CutMark, now)
	case inUse(ev, d.cwnd, &d.path):
		d.cwnd = clamp(d.cwnd+float64(d.ai)*acked/max(d.cwnd, 1), float64(d.minCwnd),
			float64(d.maxCwnd))
	}
}

// reduce multiplies the window by part, once for what is in flight.
func (d *IDCTCP) reduce(part float64, why Reason, now units.Time) {
	before := d.cwnd
	d.cwnd = clamp(d.cwnd*part, float64(d.minCwnd), float64(d.maxCwnd))
	d.cutFor = max(before, 1)
	if d.cwnd < before {
		d.cut(why, now)
	}
}

func (d *IDCTCP) decide() Decision { return windowed(Packets(d.cwnd), &d.path, d.path.BaseRTT) }

// Snapshot implements Observable.
func (d *IDCTCP) Snapshot() Snapshot { return d.snapshot(d.decide()) }
