package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// The mode hosts: one, some or all hosts nap, are preempted, share a core, coalesce interrupts or
// have no time stamps, and most reliable sessions have an algorithm of package cc. Both are drawn
// from generators of their own, so that other modes draw the same values as without it.

// hostTiming is what delays a host's polls and blurs its time stamps.
type hostTiming struct {
	naps       fabric.Naps
	preemption fabric.Preemption
	share      fabric.Share
	coalesce   fabric.Coalesce
	noStamps   bool
	noise      units.Duration // of time stamps, upper bound
}

// minTxDepth is the minimum transmit depth of such a host's NIC: with a depth of one, a poller that
// naps sends one frame per nap.
const minTxDepth = 16

// drawHostTimings draws the timing of each host, and derives the longest absence.
func (p *plan) drawHostTimings() {
	if !p.mode.hosts {
		return
	}
	r := newRNG(p.seed, 0x6d616368)
	p.timings = make([]hostTiming, p.topology.hosts)
	imperfect := pick(r, 0.2, 0.5, 1, 1) // fraction of the hosts
	share, preemption := p.drawShare(r), p.drawPreemption(r)
	sharers := map[int]int{}
	for i := range p.timings {
		m := &p.timings[i]
		if i > 0 && !r.chance(imperfect) {
			continue
		}
		m.noStamps = r.chance(0.6)
		if r.chance(0.3) {
			m.noise = logUniform(r, units.Nanosecond, 20*units.Microsecond)
		}
		if r.chance(0.5) {
			m.naps = drawNaps(r)
		}
		if preemption.Every > 0 && r.chance(0.7) {
			m.preemption = preemption
		}
		if r.chance(0.2) {
			m.coalesce = fabric.Coalesce{Every: logUniform(r, units.Microsecond,
				100*units.Microsecond),
				Frames: r.IntN(64)}
		}
		if share.Core > 0 && r.chance(0.5) {
			m.share = share
			m.share.Core = 1 + i/4
			sharers[m.share.Core]++
		}
	}
	for _, m := range p.timings {
		round := m.naps.Longest()
		if n := sharers[m.share.Core]; m.share.Core > 0 {
			round += m.share.Away(n)
			p.maxPerCore = max(p.maxPerCore, n+m.share.Loops)
		}
		p.maxRound = max(p.maxRound, round)
		p.maxAbsence = max(p.maxAbsence, round+2*m.preemption.Most()+m.coalesce.Every)
		p.delayVariation = max(p.delayVariation,
			units.Microsecond+2*(p.jitter+m.coalesce.Every+m.noise))
	}
	p.parts.Host.TxDepth = max(p.parts.Host.TxDepth, minTxDepth)
	p.parts.HostOf = func(host int, c *fabric.HostConfig) {
		p.timings[host].configure(p.seed, host, c)
	}
	p.hosts += fmt.Sprintf("; away for %v at most, %d to a core, preemption %+v, share %+v",
		p.maxAbsence,
		p.maxPerCore, preemption, share)
}

func drawNaps(r rng) fabric.Naps {
	n := fabric.DefaultNaps
	if r.chance(0.6) {
		n = fabric.Naps{Spin: uniform(r, 0, 30*units.Microsecond),
			Short: logUniform(r, units.Microsecond, 100*units.Microsecond)}
	}
	if r.chance(0.5) {
		n.Slack = logUniform(r, units.Microsecond, 60*units.Microsecond)
	}
	return n
}

// drawPreemption draws absences that take at most a third of the time.
func (p *plan) drawPreemption(r rng) (a fabric.Preemption) {
	if !r.chance(0.6) {
		return a
	}
	a.Shortest = logUniform(r, 10*units.Microsecond, pick(r, units.Millisecond,
		30*units.Millisecond))
	a.Longest = a.Shortest
	if r.chance(0.5) {
		a.Longest = logUniform(r, a.Shortest, 3*a.Shortest)
	}
	a.Every = a.Longest * uniform(r, units.Duration(3), 12)
	a.Random, a.InStep = r.chance(0.5), r.chance(0.3)
	return a
}

func (p *plan) drawShare(r rng) (s fabric.Share) {
	if !r.chance(0.3) {
		return s
	}
	return fabric.Share{
		Core: 1, Loops: r.IntN(2), Slice: logUniform(r, 50*units.Microsecond, 3*units.Millisecond),
		Spin: pick(r, 0, 25*units.Microsecond), Switch: uniform(r, units.Microsecond,
			5*units.Microsecond),
	}
}

// configure writes the timing to a host's configuration.
func (m *hostTiming) configure(seed uint64, host int, c *fabric.HostConfig) {
	c.Naps, c.Preemption, c.Share, c.Coalesce, c.NoStamps = m.naps, m.preemption, m.share,
		m.coalesce, m.noStamps
	if m.noise > 0 {
		r := newRNG(seed, uint64(host)<<32|0x6e6f697365)
		c.Noise = func() units.Duration { return uniform(r, -m.noise, m.noise) }
	}
}

// addAbsences adds the absences of pollers to the round-trip bounds, for a number of packets. In
// each round of naps or time slices a host sends as many frames as its NIC queues.
func (p *plan) addAbsences(packets int) {
	if !p.mode.hosts {
		return
	}
	const share = 2 // preempted for a third of the time, hosts take 1.5 times as long
	p.baseRTT += 2 * p.maxAbsence
	p.maxRTT = p.maxRTT*share*units.Duration(1+p.maxPerCore) + times(1+packets/minTxDepth,
		p.maxRound) + 16*p.maxAbsence
}

// controls lists the algorithms from which those of sessions are drawn. The empty name stands for
// the algorithm of the other modes.
var controls = []string{"", "swift", "swift", "timely", "ledbat-dc", "dctcp", "dcqcn", "prioplus",
	"prioplus"}

// drawControls draws the congestion control of reliable sessions.
func (p *plan) drawControls() {
	if !p.mode.hosts {
		return
	}
	r := newRNG(p.seed, 0x636f6e74)
	for _, s := range p.sessions {
		name, priority := pick(r, controls...), r.IntN(8)
		reused := s.predecessor != nil && s.ends[0].reused != nil
		switch {
		case reused: // reuses the queue pair with its algorithm
			s.control = s.predecessor.control
			continue
		case s.service != transport.RC || name == "":
			continue
		case name == "dctcp" && !p.keepsExtension(s): // without the extension no marks are echoed
			name = "dcqcn"
		// Without the extension the peer's own delays are part of the sample and would stop it for
		// good.
		case name == "prioplus" && !p.keepsExtension(s):
			name = "swift"
		}
		s.control = p.newControl(name, priority)
	}
}

// keepsExtension reports whether the ends of a session, and those of its successors on the same
// queue pairs, agree on the extension.
func (p *plan) keepsExtension(s *session) bool {
	if s.successor != nil && s.successor.ends[0].reused != nil && !p.keepsExtension(s.successor) {
		return false
	}
	return p.agreesExtension(s)
}

// agreesExtension reports whether the ends of a session agree on the extension.
func (p *plan) agreesExtension(s *session) bool { return s.selective || p.mode.credits }

// newControl returns the control of a name. PrioPlus channels are wide enough for the hosts' delay
// variation that cannot be told from queueing, as an operator must configure them: a flow whose
// delays always exceed its channel never sends.
func (p *plan) newControl(name string, priority int) cc.Factory {
	text := name
	if name == "prioplus" {
		text = "swift"
	}
	inner, err := cc.Parse(text)
	if err != nil {
		panic(err) // the text is ours, whatever the seed
	}
	if name != "prioplus" {
		return inner
	}
	channels, err := prioplus.ParseChannels(fmt.Sprintf("n=8,a=%v,b=%v,eps=%v",
		4*units.Microsecond+p.delayVariation/4, p.delayVariation, p.delayVariation))
	if err != nil {
		panic(err)
	}
	return prioplus.Spec{Inner: inner, Channels: channels, Priority: priority}
}

// newControlled returns the algorithm of an end, for the path that the plan computes.
func (end *peerEnd) newControlled() (cc.Algorithm, error) {
	s := end.session
	signals := cc.SignalDelay
	if s.plan.keepsExtension(s) {
		signals |= cc.SignalEndpoint | cc.SignalMarks | cc.SignalOneWay
	}
	p := s.plan
	return s.control.New(cc.Path{
		LineRate: p.topology.slowest, BaseRTT: max(p.baseRTT-2*p.maxAbsence, units.Microsecond),
		Payload: s.mtu,
		Hops:    p.topology.hops, Signals: signals, Seed: uint32(end.number),
	})
}

// Lower bounds of algorithms' decisions: a window of a thousandth of a packet, and 10 Mb/s.
const (
	minWindow = 1000
	minRate   = 10 * units.Mbps
)

// slowestDrain returns how long the messages of an end and their responses take if its algorithm
// stays at the lower bounds. The soak does not test the speed of algorithms.
func (end *peerEnd) slowestDrain() units.Duration {
	bytes := units.Bytes(0)
	for _, m := range end.script {
		bytes += units.Bytes(m.size + wireOverhead*m.packets(end.session.mtu))
	}
	return times(minWindow*end.packets(), end.session.plan.baseRTT) + minRate.Duration(bytes)
}
