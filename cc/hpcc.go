package cc

import "github.com/goroce/goroce/units"

// HPCC implements Li et al., "HPCC: High Precision Congestion Control" (SIGCOMM'19). Every switch
// writes what its port has sent and the queue behind the packet. Two such records give the bytes in
// flight over that port, as a part U of its capacity in flight without a queue. The window is set
// so that the largest U of the path becomes eta, relative to a reference window W_c that changes
// once a round trip, so that the acknowledgements of one round trip do not compound.
type HPCC struct {
	hpccParams
	t float64 // T, ps

	w, wc float64 // W and W_c, bytes
	u     float64 // smoothed
	stage int     // incStage
	until psnMark // lastUpdateSeq
	last  [MaxHops]Hop
	hops  int // in last; 0 none
	record
}

// MaxHops is the largest number of telemetry records of an Event.
const MaxHops = 7

type hpccParams struct {
	eta                  float64
	maxStage             int
	ai                   Packets
	baseRTT              units.Duration
	minWindow, maxWindow Packets
	payload              float64 // bytes
	wanted               int     // records
}

func (p *hpccParams) declare(s *schema) {
	s.param(&p.eta, "eta", "0.95", "(0, 1]", "HPCC", "utilisation aimed at")
	s.param(&p.maxStage, "max_stage", "5", "[0, 1000]", "HPCC",
		"additive steps after which the window is set anew; 0: in every step")
	s.param(&p.ai, "ai", "0.0005BDP", "(0, inf)", "HPCC: 80B at 100Gb/s and 13us",
		"W_AI, added in every step; BDP·(1-eta)/N for N flows")
	s.param(&p.baseRTT, "t", "1rtt", "(0s, 1s]", "HPCC",
		"T, slightly above the base round trip of every path")
	s.param(&p.minWindow, "min_window", "0.001BDP", "(0, inf)", "HPCC artifact: 100Mb/s",
		"least window")
	s.param(&p.maxWindow, "max_window", "1BDP", "(0, inf)", "HPCC", "largest window, and the first")
	s.atMost("min_window", "max_window")
}

func (p *hpccParams) build(path Path) Algorithm {
	p.payload, p.wanted = float64(path.Payload), MaxHops
	if path.Hops > 0 {
		p.wanted = min(path.Hops, MaxHops)
	}
	w := float64(p.maxWindow) * p.payload
	return &HPCC{hpccParams: *p, t: float64(p.baseRTT), w: w, wc: w, u: 1}
}

// Events implements Algorithm.
func (*HPCC) Events() EventSet { return Events(ACK, ECN, RTT) }

// Telemetry implements Telemeter.
func (h *HPCC) Telemetry() int { return h.wanted }

// Start implements Starter: at line rate.
func (h *HPCC) Start(units.Time) Decision { return h.decide() }

// On implements Algorithm.
func (h *HPCC) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case ACK, ECN, RTT:
		h.sample(ev)
		h.onAck(ev, now)
	}
	return h.decide()
}

func (h *HPCC) onAck(ev *Event, now units.Time) {
	if !plausible(ev.INT) {
		h.ignored++
		return
	}
	if !h.follows(ev.INT) {
		h.wc = h.w
		h.until.at(ev.SndNxt)
		h.remember(ev.INT)
		return
	}
	measured := h.measureInflight(ev.INT)
	h.remember(ev.INT)
	if !measured {
		return
	}
	roundTrip := h.until.passed(ev.PSN)
	before := h.wc
	stage := h.computeWind()
	if roundTrip {
		h.wc, h.stage = h.w, stage
		h.until.at(ev.SndNxt)
		if h.wc < before {
			h.cut(CutTelemetry, now)
		}
	}
}

// plausible reports whether the records are possible.
func plausible(hops []Hop) bool {
	if len(hops) == 0 || len(hops) > MaxHops {
		return false
	}
	for i := range hops {
		if hops[i].Rate <= 0 || hops[i].Queue < 0 {
			return false
		}
	}
	return true
}

// follows reports whether records can be compared with the previous ones: the same ports, recent
// enough that no counter can have wrapped.
func (h *HPCC) follows(hops []Hop) bool {
	if h.hops != len(hops) {
		return false
	}
	for i := range hops {
		hop, last := &hops[i], &h.last[i]
		dt := hop.Time - last.Time // modulo 2^32 ns
		if hop.Port != last.Port || dt > 1<<31 || float64(dt)*bytesPerNanosecond(hop.Rate) > 1<<31 {
			return false
		}
	}
	return true
}

func bytesPerNanosecond(r units.BitRate) float64 { return float64(r) / 8e9 }

func (h *HPCC) remember(hops []Hop) { h.hops = copy(h.last[:], hops) }

// measureInflight is MeasureInflight of Algorithm 1. It returns false when no record is new.
func (h *HPCC) measureInflight(hops []Hop) bool {
	u, tau := -1.0, 0.0
	for i := range hops {
		hop, last := &hops[i], &h.last[i]
		dt := float64(hop.Time-last.Time) * float64(units.Nanosecond)
		if dt == 0 {
			continue
		}
		b := float64(hop.Rate) / float64(8*units.Second) // bytes/ps
		tx := float64(hop.Sent-last.Sent) / dt
		if here := float64(min(hop.Queue, last.Queue))/(b*h.t) + tx/b; here > u {
			u, tau = here, dt
		}
	}
	if u < 0 {
		return false
	}
	tau = min(tau, h.t)
	h.u = (1-tau/h.t)*h.u + tau/h.t*u
	return true
}

// computeWind is ComputeWind of Algorithm 1: it sets W, and returns the next stage.
func (h *HPCC) computeWind() (stage int) {
	ai := float64(h.ai) * h.payload
	if h.u >= h.eta || h.stage >= h.maxStage {
		h.w = h.wc/(h.u/h.eta) + ai
	} else {
		h.w = h.wc + ai
		stage = h.stage + 1
	}
	h.w = clamp(h.w, float64(h.minWindow)*h.payload, float64(h.maxWindow)*h.payload)
	return stage
}

// decide returns a window a packet less a byte larger than W, so that a packet may leave while less
// than W is in flight: in whole packets a window of 1.9 would act as one of 1, while the rate is
// exact.
func (h *HPCC) decide() Decision {
	return Decision{Window: wholeBytes(h.w + h.payload - 1), Rate: rateOf(h.w, h.baseRTT)}
}

// Snapshot implements Observable.
func (h *HPCC) Snapshot() Snapshot { return h.snapshot(h.decide()) }
