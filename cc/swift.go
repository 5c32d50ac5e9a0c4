package cc

import (
	"math"

	"github.com/goroce/goroce/units"
)

// Swift is the delay-based control of Kumar et al., "Swift: Delay is Simple and Effective for
// Congestion Control in the Datacenter" (SIGCOMM'20). The round trip is split into the delay of the
// fabric and that of the hosts; each has a target and a window of its own, and the smaller window
// applies. A window grows by ai packets a round trip while its delay is below target, and is cut,
// once a round trip, in proportion to the part of the delay beyond it.
//
// On a path that does not report the hosts' part, the whole round trip counts as the fabric's, and
// there is no endpoint window.
type Swift struct {
	swiftParams
	path  Path
	split bool

	steered bool

	fabric, endpoint swiftWindow
	endpointDelay    ewma
	srtt             ewma
	retransmits      int     // timeouts in a row
	unsampled        float64 // acknowledged since the last delay sample
	fabricAI         float64 // ai of the fabric's window; differs from ai when it is steered
	alpha, beta      float64 // of flow scaling; ps, and ps·sqrt(packets)
	record
}

type swiftParams struct {
	baseTarget, perHop, fsRange units.Duration
	endpointTarget              units.Duration
	fsMin, fsMax                Packets
	ai                          Packets
	mdFactor, maxMDF            float64
	retxReset                   int
	gateByDelay                 bool
	minCwnd, maxCwnd, initCwnd  Packets
}

func (p *swiftParams) declare(s *schema) {
	s.param(&p.baseTarget, "base_target", "rtt+25us", "(0s, 1s]", "PrioPlus artifact",
		"fabric delay aimed at, before hops and flow scaling")
	s.param(&p.perHop, "per_hop", "1us", "[0s, 1ms]", "Bolt artifact",
		"added to the target for each hop (topology scaling)")
	s.param(&p.fsRange, "fs_range", "100us", "[0s, 1s]", "Bolt artifact",
		"most that flow scaling adds to the target; 0 turns it off")
	s.param(&p.fsMin, "fs_min", "0.1", "(0, inf)", "Swift",
		"window at and below which it adds all of fs_range")
	s.param(&p.fsMax, "fs_max", "100", "(0, inf)", "Swift",
		"window at and above which it adds nothing")
	s.param(&p.endpointTarget, "endpoint_target", "200us", "(0s, 1s]", "OURS",
		"endpoint delay aimed at")
	s.param(&p.ai, "ai", "1", "(0, inf)", "Bolt artifact, csg-htsim",
		"added to the window in a round trip below target")
	s.param(&p.mdFactor, "beta", "0.8", "(0, 1]", "Bolt artifact, csg-htsim",
		"strength of the cut by a delay beyond target")
	s.param(&p.maxMDF, "max_mdf", "0.5", "(0, 1)", "PrioPlus artifact",
		"largest part of the window that a cut removes")
	s.param(&p.gateByDelay, "gate_by_delay", "false", "", "Swift; true: PrioPlus artifact",
		"the cooldown of a cut is the delay that caused it, not the smoothed round trip")
	s.param(&p.retxReset, "retx_reset", "5", "[1, 1000]", "csg-htsim",
		"timeouts in a row after which the window falls to min_cwnd")
	s.param(&p.minCwnd, "min_cwnd", "0.001", "(0, inf)", "Swift", "least window")
	s.largest(&p.maxCwnd, "max_cwnd", "largest window")
	s.param(&p.initCwnd, "init_cwnd", "1BDP", "(0, inf)", "PrioPlus and Bolt artifacts",
		"window of a flow that begins")
	s.below("fs_min", "fs_max")
	s.atMost("min_cwnd", "init_cwnd")
	s.atMost("init_cwnd", "max_cwnd")
}

func (p *swiftParams) build(path Path) Algorithm {
	s := &Swift{swiftParams: *p, path: path, split: path.Signals&SignalEndpoint != 0}
	s.alpha = float64(p.fsRange) / (1/math.Sqrt(float64(p.fsMin)) - 1/math.Sqrt(float64(p.fsMax)))
	s.beta = -s.alpha / math.Sqrt(float64(p.fsMax)) // negative: the bonus ends at fs_max
	s.fabric.cwnd, s.endpoint.cwnd = float64(p.initCwnd), float64(p.initCwnd)
	s.srtt.value = path.BaseRTT
	s.fabricAI = float64(p.ai)
	return s
}

// swiftWindow is one of the two windows.
type swiftWindow struct {
	cwnd     float64        // packets, often less than one
	decrease cooldown       // t_last_decrease
	cutDelay units.Duration // the sample that caused the last cut
}

// Events implements Algorithm.
func (*Swift) Events() EventSet { return Events(ACK, ECN, RTT, OOO, RTO) }

// Start implements Starter: at line rate.
func (s *Swift) Start(units.Time) Decision { return s.decide() }

// On implements Algorithm.
func (s *Swift) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case ACK, ECN, RTT:
		s.onAck(ev, now)
	case RTO:
		s.onTimeout(now)
	case OOO:
		s.onFastRecovery(now)
	}
	return s.decide()
}

func (s *Swift) onAck(ev *Event, now units.Time) {
	s.retransmits = 0
	acked, _ := s.acked(ev)
	s.unsampled += acked
	delay, ok := s.sample(ev)
	if !ok {
		return // counted at the next sample
	}
	acked, s.unsampled = s.unsampled, 0
	s.srtt.add(ev.present())
	if s.split {
		delay, _ = ev.FabricDelay()
		s.endpointDelay.add(ev.hosts())
		if s.adjust(&s.endpoint, s.endpointDelay.value, s.endpointTarget, float64(s.ai), acked, ev,
			now) {
			s.cut(CutEndpoint, now)
		}
	} else {
		delay = max(1, delay-ev.gap())
	}
	hops := ev.Hops
	if hops <= 0 {
		hops = s.path.Hops
	}
	s.target = s.targetDelay(s.fabric.cwnd, hops)
	if s.adjust(&s.fabric, delay, s.target, s.fabricAI, acked, ev, now) {
		s.cut(CutDelay, now)
	}
}

// targetDelay returns the fabric's target: larger for smaller windows, so that many flows may keep
// a queue in which each has its share.
func (s *Swift) targetDelay(cwnd float64, hops int) units.Duration {
	bonus := clamp(s.alpha/math.Sqrt(cwnd)+s.beta, 0, float64(s.fsRange))
	return s.baseTarget + units.Duration(min(hops, maxTTL))*s.perHop + units.Duration(bonus)
}

// maxTTL is the largest number of hops that a TTL can count.
const maxTTL = 255

// adjust changes a window by one sample, and reports whether it was cut. A window that the flow
// does not use does not grow.
func (s *Swift) adjust(w *swiftWindow, delay, target units.Duration, ai, acked float64, ev *Event,
	now units.Time) bool {
	before := w.cwnd
	switch {
	case delay < target && !inUse(ev, w.cwnd, &s.path):
	case delay < target && w.cwnd >= 1:
		w.cwnd += ai * acked / w.cwnd
	case delay < target:
		w.cwnd += ai * acked
	case w.decrease.expired(now, s.wait(w)):
		excess := float64(delay-target) / float64(delay)
		w.cwnd *= max(1-s.mdFactor*excess, 1-s.maxMDF)
		w.cutDelay = ev.Delay
	}
	return s.finish(w, before, now)
}

// wait returns the cooldown after a cut.
func (s *Swift) wait(w *swiftWindow) units.Duration {
	if s.gateByDelay {
		return w.cutDelay
	}
	return s.srtt.value
}

func (s *Swift) onTimeout(now units.Time) {
	before := s.fabric.cwnd
	s.retransmits = min(s.retransmits+1, s.retxReset)
	if s.retransmits == s.retxReset {
		s.fabric.cwnd = float64(s.minCwnd)
	} else if s.fabric.decrease.expired(now, s.wait(&s.fabric)) {
		s.fabric.cwnd *= 1 - s.maxMDF
	}
	if s.finish(&s.fabric, before, now) {
		s.cut(CutTimeout, now)
	}
}

func (s *Swift) onFastRecovery(now units.Time) {
	before := s.fabric.cwnd
	s.retransmits = 0
	if s.fabric.decrease.expired(now, s.wait(&s.fabric)) {
		s.fabric.cwnd *= 1 - s.maxMDF
	}
	if s.finish(&s.fabric, before, now) {
		s.cut(CutLoss, now)
	}
}

// finish clamps the window to its bounds and reports whether it became smaller. Only then does it
// start the cooldown: a window that stays, at a bound or because of the cooldown, must not delay
// the next cut.
func (s *Swift) finish(w *swiftWindow, before float64, now units.Time) bool {
	w.cwnd = clamp(w.cwnd, float64(s.minCwnd), float64(s.maxCwnd))
	if w.cwnd >= before {
		return false
	}
	w.decrease.start(now)
	return true
}

func (s *Swift) decide() Decision {
	cwnd := s.fabric.cwnd
	if s.split {
		cwnd = min(cwnd, s.endpoint.cwnd)
	}
	return windowed(Packets(cwnd), &s.path, s.srtt.value)
}

// Snapshot implements Observable.
func (s *Swift) Snapshot() Snapshot { return s.snapshot(s.decide()) }

func (*swiftParams) steered() (taken []string, defaults []setting, ok bool) {
	return []string{"base_target", "per_hop", "fs_range", "fs_min", "fs_max", "min_cwnd",
			"max_cwnd", "init_cwnd"},
		[]setting{{"ai", "0.15"}}, true // PrioPlus section 5 implies 150 B, in packets of 1000 B
}

// Steer implements Steerable: without scaling. The bounds apply to both windows.
func (s *Swift) Steer(target units.Duration, least, most Packets) {
	s.baseTarget, s.perHop, s.fsRange, s.alpha, s.beta = target, 0, 0, 0, 0
	s.target, s.minCwnd = target, least
	if !s.steered || s.endpoint.cwnd >= float64(s.maxCwnd) { // never cut
		s.endpoint.cwnd = float64(most)
	}
	s.maxCwnd, s.steered = most, true
}

// Decision implements Steerable.
func (s *Swift) Decision() Decision { return s.decide() }

// Cwnd implements Steerable.
func (s *Swift) Cwnd() Packets { return Packets(s.fabric.cwnd) }

// SetCwnd implements Steerable.
func (s *Swift) SetCwnd(w Packets) {
	s.fabric.cwnd = clamp(float64(w), float64(s.minCwnd), float64(s.maxCwnd))
}

// Resume implements Steerable.
func (s *Swift) Resume(w Packets, delay units.Duration) {
	s.SetCwnd(w)
	s.srtt = ewma{delay, true}
	s.retransmits, s.unsampled = 0, 0
}

// AI implements Steerable.
func (s *Swift) AI() Packets { return Packets(s.fabricAI) }

// SetAI implements Steerable: Swift's increase does not depend on the distance from the target.
func (s *Swift) SetAI(ai, step Packets) { s.fabricAI = float64(ai + step) }
