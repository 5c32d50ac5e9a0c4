package cc

import (
	"github.com/goroce/goroce/units"
)

// TIMELY implements Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter"
// (SIGCOMM'15). Between two thresholds the rate follows the gradient of the round-trip time: up by
// a step while the queue does not grow, down in proportion to its growth. Below T_low it rises and
// above T_high it falls, whatever the gradient.
//
// It has no unique fixed point: every delay between the thresholds and every division of the rate
// is stable (Zhu et al., "ECN or Delay", CoNEXT'16). Their patched TIMELY, an option here, weighs
// the distance from T_low instead and has one.
type TIMELY struct {
	timelyParams

	rate     float64        // bit/s
	prev     units.Duration // lower bound of the newest RTT; 0 none
	prevMost units.Duration // upper bound of it
	diff     float64        // smoothed difference of samples, ps
	// samples in a row that took the additive branch between the thresholds
	flat      int
	until     psnMark // one update a round trip
	updatedAt units.Time
	backedOff cooldown // after a timeout
	silent    bool     // no sample since the newest timeout
	unpaced
	record
}

type timelyParams struct {
	ewma, mdFactor      float64
	tLow, tHigh, minRTT units.Duration
	delta               units.BitRate
	hai                 int
	patched, perAck     bool
	minRate, line       units.BitRate
	window              units.Bytes
}

func (p *timelyParams) declare(s *schema) {
	s.param(&p.ewma, "alpha", "0.875", "(0, 1]", "TIMELY",
		"weight of the new sample in the smoothed difference")
	s.param(&p.mdFactor, "beta", "0.8", "(0, 1)", "TIMELY", "strength of a cut")
	s.param(&p.tLow, "t_low", "2.5rtt", "(0s, 100s]", "TIMELY: 50us of 20us",
		"below it the rate rises whatever the gradient")
	s.param(&p.tHigh, "t_high", "25rtt", "(0s, 100s]", "TIMELY: 500us of 20us",
		"above it the rate falls whatever the gradient")
	s.param(&p.minRTT, "min_rtt", "1rtt", "(0s, 1s]", "TIMELY",
		"divisor of the smoothed difference")
	s.param(&p.delta, "delta", "0.001line", "(0, inf)", "TIMELY: 10Mb/s of 10Gb/s", "additive step")
	s.param(&p.hai, "hai", "5", "[1, 1000]", "TIMELY",
		"additive steps in a row after which they are five times as large")
	s.param(&p.patched, "patched", "off", "", "ECN or Delay",
		"patched TIMELY between the thresholds")
	s.param(&p.perAck, "per_ack", "off", "", "eRPC",
		"update with every sample, scaled by the time since the previous one, "+
			"instead of once a round trip")
	s.param(&p.minRate, "min_rate", "0.001line", "(0, inf)", "HPCC artifact", "least rate")
	s.param(&p.line, "max_rate", "1line", "(0, inf)", "TIMELY", "largest rate, and the first")
	s.largest(&p.window, "window", "what may be unacknowledged; the paper has no window")
	s.atMost("t_low", "t_high")
	s.atMost("min_rate", "max_rate")
}

func (p *timelyParams) build(path Path) Algorithm {
	return &TIMELY{timelyParams: *p, rate: float64(p.line), unpaced: path.unpaced(),
		record: record{target: p.tLow}}
}

// Events implements Algorithm.
func (*TIMELY) Events() EventSet { return Events(RTT, RTO) }

// Start implements Starter: at line rate.
func (t *TIMELY) Start(units.Time) Decision { return t.decide() }

// On implements Algorithm.
func (t *TIMELY) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case RTT:
		t.onRTT(ev, now)
	// not in the paper: half of the strongest cut, once a round trip; only the first timeout of a
	// run cuts, because further ones indicate an absent peer
	case RTO:
		t.prev = 0
		if !t.silent && t.backedOff.expired(now, max(t.delay, t.minRTT)) {
			t.backedOff.start(now)
			t.silent = true
			t.set(t.rate*(1-t.mdFactor/2), CutTimeout, now)
		}
	}
	return t.decide()
}

func (t *TIMELY) onRTT(ev *Event, now units.Time) {
	if _, ok := t.sample(ev); !ok {
		return
	}
	t.silent = false
	elapsed := now.Sub(t.updatedAt)
	switch {
	case t.perAck:
	case !t.until.passed(ev.PSN):
		return
	default:
		t.until.at(ev.SndNxt)
		elapsed = t.minRTT // a round trip
	}
	t.updatedAt = now
	scale := clamp(float64(elapsed)/float64(t.minRTT), 0, 1)
	least, most := ev.roundTrip()
	t.update(least, most, scale, now)
}

// update is one update of the algorithm, scaled to a part of a round trip. The difference of two
// uncertain samples is its least possible value.
func (t *TIMELY) update(least, most units.Duration, scale float64, now units.Time) {
	if t.prev == 0 {
		t.prev, t.prevMost = least, most
		return
	}
	diff := max(0, least-t.prevMost) + min(0, most-t.prev)
	t.diff = (1-t.ewma)*t.diff + t.ewma*float64(diff)
	t.prev, t.prevMost = least, most
	gradient := t.diff / float64(t.minRTT)

	rtt := float64(least)
	rate, beta, delta := t.rate, t.mdFactor*scale, float64(t.delta)*scale
	between := false
	switch {
	case rtt < float64(t.tLow):
		rate += delta
	case rtt > float64(t.tHigh):
		rate *= 1 - beta*(1-float64(t.tHigh)/rtt)
	case t.patched:
		w := clamp(2*gradient+0.5, 0, 1)
		err := (rtt - float64(t.tLow)) / float64(t.tLow)
		rate = max(rate*(1-beta*w*err)+delta*(1-w), t.rate/2)
	case gradient <= 0:
		between = true
		if t.flat = min(t.flat+1, t.hai); t.flat == t.hai {
			rate += 5 * delta
		} else {
			rate += delta
		}
	default:
		rate *= 1 - beta*gradient // clamped to the least rate when below 0
	}
	if !between {
		t.flat = 0
	}
	t.set(rate, CutDelay, now)
}

func (t *TIMELY) set(rate float64, why Reason, now units.Time) {
	rate = clamp(rate, float64(t.minRate), float64(t.line))
	if rate < t.rate {
		t.cut(why, now)
	}
	t.rate = rate
}

func (t *TIMELY) decide() Decision { return Decision{Window: t.window, Rate: t.pace(t.rate)} }

// Snapshot implements Observable.
func (t *TIMELY) Snapshot() Snapshot { return t.snapshot(t.decide()) }
