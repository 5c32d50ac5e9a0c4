package cc

import (
	"math"

	"github.com/goroce/goroce/units"
)

// LEDBAT implements RFC 6817, "Low Extra Delay Background Transport": the window follows, in
// proportion, the distance of the queueing delay from a target. The queueing delay is the least of
// the last few samples less the least of the last minutes.
//
// In its variant for data centres (the artifact of PrioPlus, EuroSys'25) the base delay is
// configured instead of measured, so that a latecomer does not mistake a standing queue for the
// path; the flow starts with a BDP, and losses are left to the transport.
//
// The RFC uses one-way delays; these are of the round trip, without the hosts' part where the path
// gives it. Acknowledgements use the highest class, so both contain the same queue.
type LEDBAT struct {
	ledbatParams
	path Path

	cwnd      float64 // packets
	history   minima
	filter    samples
	srtt      ewma
	flight    flight
	loss      cooldown
	unsampled float64
	falling   bool
	step      Packets // added to the gain, when it is steered
	record
}

type ledbatParams struct {
	dataCentre bool

	queueing, base             units.Duration // TARGET, and the configured base
	gain                       float64
	allowed                    Packets // ALLOWED_INCREASE
	capped                     bool
	filterLen                  int // CURRENT_FILTER
	minutes                    int // BASE_HISTORY
	minCwnd, maxCwnd, initCwnd Packets
}

func (p *ledbatParams) declare(s *schema) {
	target, initial, rfc := "100ms", "2", "RFC 6817"
	if p.dataCentre {
		target, initial, rfc = "6us", "1BDP", "PrioPlus artifact"
		s.param(&p.base, "base", "1rtt", "(0s, 1s]", rfc, "round trip without queues")
	} else {
		s.param(&p.minutes, "base_history", "10", "[1, 60]", rfc,
			"minutes over which the least delay is the base")
		s.param(&p.allowed, "allowed_increase", "1", "[0, inf)", rfc,
			"how far the window may exceed what was in flight")
	}
	s.param(&p.queueing, "target", target, "(0s, 100ms]", rfc, "queueing delay aimed at")
	s.param(&p.gain, "gain", "1", "(0, 1]", "RFC 6817",
		"packets a round trip for a queueing delay that is off by the target")
	s.param(&p.filterLen, "current_filter", "4", "[1, 64]", "RFC 6817",
		"samples whose least is the current delay")
	s.param(&p.capped, "cap_decrease", "off", "", "LEDBAT++",
		"limit the decrease to a packet a round trip, however long the queue")
	s.param(&p.minCwnd, "min_cwnd", "2", "(0, inf)", "RFC 6817",
		"least window; below 1 for large incasts")
	s.largest(&p.maxCwnd, "max_cwnd", "largest window")
	s.param(&p.initCwnd, "init_cwnd", initial, "(0, inf)", rfc, "window of a flow that begins")
	s.atMost("min_cwnd", "init_cwnd")
	s.atMost("init_cwnd", "max_cwnd")
}

func (p *ledbatParams) build(path Path) Algorithm {
	l := &LEDBAT{ledbatParams: *p, path: path, cwnd: float64(p.initCwnd)}
	l.filter.ring = make([]units.Duration, p.filterLen)
	l.history.ring = make([]units.Duration, p.minutes)
	l.srtt.value = path.BaseRTT
	l.target = p.base + p.queueing
	return l
}

// Events implements Algorithm.
func (l *LEDBAT) Events() EventSet {
	if l.dataCentre {
		return Events(ACK, ECN, RTT)
	}
	return Events(ACK, ECN, RTT, OOO, RTO)
}

// Start implements Starter.
func (l *LEDBAT) Start(units.Time) Decision { return l.decide() }

// On implements Algorithm.
func (l *LEDBAT) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case ACK, ECN, RTT:
		l.onAck(ev, now)
	case OOO:
		l.onLoss(now)
	case RTO: // no acknowledgement within CTO
		l.shrink(min(l.cwnd, 1), CutTimeout, now)
	}
	return l.decide()
}

func (l *LEDBAT) onAck(ev *Event, now units.Time) {
	acked, _ := l.acked(ev)
	l.unsampled += acked
	if _, ok := l.sample(ev); !ok {
		return // counted at the next sample
	}
	acked, l.unsampled = l.unsampled, 0
	l.srtt.add(ev.present())
	base := l.base
	if !l.dataCentre {
		_, most, _ := ev.Fabric()
		l.history.add(most, now)
		base = l.history.least()
		l.target = base + l.queueing
	}
	delay, _ := ev.FabricNear(base) // delay in a host is not a queue
	l.filter.add(delay)
	off := float64(l.queueing-(l.filter.least()-base)) / float64(l.queueing)
	off = min(off, 1) // a delay below base is an error of the clock
	if l.capped {
		off = max(off, -1)
	}
	before := l.cwnd
	if l.dataCentre && off > 0 && !inUse(ev, l.cwnd, &l.path) {
		off = 0
	}
	growth := l.gain * off
	if off > 0 {
		growth += float64(l.step)
	}
	l.cwnd += growth * acked / max(l.cwnd, 1)
	if !l.dataCentre {
		l.cwnd = min(l.cwnd, l.flight.most(ev)/float64(l.path.Payload)+float64(l.allowed))
	}
	l.cwnd = clamp(l.cwnd, float64(l.minCwnd), float64(l.maxCwnd))
	if falling := l.cwnd < before; falling != l.falling {
		if l.falling = falling; falling {
			l.cut(CutDelay, now)
		}
	}
}

func (l *LEDBAT) onLoss(now units.Time) {
	if l.loss.expired(now, l.srtt.value) {
		l.loss.start(now)
		l.shrink(max(l.cwnd/2, float64(l.minCwnd)), CutLoss, now)
	}
}

func (l *LEDBAT) shrink(cwnd float64, why Reason, now units.Time) {
	if cwnd < l.cwnd {
		l.cwnd = cwnd
		l.cut(why, now)
	}
}

func (l *LEDBAT) decide() Decision { return windowed(Packets(l.cwnd), &l.path, l.srtt.value) }

// Snapshot implements Observable.
func (l *LEDBAT) Snapshot() Snapshot { return l.snapshot(l.decide()) }

// steered implements steerable. The RFC's window may not exceed what was in flight, and its base is
// measured by the flow: neither fits a channel.
func (p *ledbatParams) steered() (taken []string, defaults []setting, ok bool) {
	return []string{"base", "target", "min_cwnd", "max_cwnd", "init_cwnd"}, nil, p.dataCentre
}

// Steer implements Steerable: the queueing delay aimed at is target less the base.
func (l *LEDBAT) Steer(target units.Duration, least, most Packets) {
	l.target, l.queueing = target, target-l.base
	l.minCwnd, l.maxCwnd = least, most
}

// Decision implements Steerable.
func (l *LEDBAT) Decision() Decision { return l.decide() }

// Cwnd implements Steerable.
func (l *LEDBAT) Cwnd() Packets { return Packets(l.cwnd) }

// SetCwnd implements Steerable.
func (l *LEDBAT) SetCwnd(w Packets) {
	l.cwnd = clamp(float64(w), float64(l.minCwnd), float64(l.maxCwnd))
}

// Resume implements Steerable.
func (l *LEDBAT) Resume(w Packets, delay units.Duration) {
	l.SetCwnd(w)
	l.srtt = ewma{delay, true}
	l.filter.next, l.filter.n = 0, 0
	l.unsampled, l.falling = 0, false
}

// AI implements Steerable.
func (l *LEDBAT) AI() Packets { return Packets(l.gain) }

// SetAI implements Steerable.
func (l *LEDBAT) SetAI(ai, step Packets) { l.gain, l.step = float64(ai), step }

// samples is the last few delays.
type samples struct {
	ring []units.Duration
	next int
	n    int
}

func (s *samples) add(d units.Duration) {
	s.ring[s.next] = d
	s.next = (s.next + 1) % len(s.ring)
	s.n = min(s.n+1, len(s.ring))
}

func (s *samples) least() units.Duration {
	least := units.Duration(math.MaxInt64)
	for _, d := range s.ring[:s.n] {
		least = min(least, d)
	}
	return least
}

// minima is the least delay of each of the last minutes.
type minima struct {
	ring   []units.Duration
	minute int // minutes begun
	since  units.Time
}

func (m *minima) add(d units.Duration, now units.Time) {
	if passed := now.Sub(m.since); m.minute == 0 || passed >= units.Minute || passed < 0 {
		m.ring[m.minute%len(m.ring)] = d
		m.minute++
		m.since = now
	}
	last := &m.ring[(m.minute-1)%len(m.ring)]
	*last = min(*last, d)
}

func (m *minima) least() units.Duration {
	least := units.Duration(math.MaxInt64)
	for _, d := range m.ring[:min(m.minute, len(m.ring))] {
		least = min(least, d)
	}
	return least
}

// flight tracks the largest amount in flight in this round trip and the previous one, in bytes. The
// RFC takes the amount at the ACK itself; a transport that works in bursts then always has less
// than its window, and could never grow it again.
type flight struct {
	last, now float64
	round     psnMark
}

// most processes an acknowledgement, and returns the largest amount in flight before it.
func (f *flight) most(ev *Event) float64 {
	if f.round.passed(ev.PSN) {
		f.last, f.now = f.now, 0
		f.round.at(ev.SndNxt)
	}
	f.now = max(f.now, float64(max(ev.InFlight, 0))+float64(max(ev.Bytes, 0)))
	return max(f.last, f.now)
}
