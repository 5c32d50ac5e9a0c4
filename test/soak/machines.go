package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// The mode hosts: one, some or all hosts nap, are preempted, share a core, are interrupted in
// batches or have no time stamps, and most reliable sessions have an algorithm of package cc. Both
// are drawn from dice of their own: other modes draw what they drew before.

// machine is what is not ideal about a host.
type machine struct {
	naps       fabric.Naps
	preemption fabric.Preemption
	share      fabric.Share
	coalesce   fabric.Coalesce
	noStamps   bool
	noise      units.Duration // of time stamps, at most
}

// leastDepth is how many frames the NIC of such a host takes at least: with one, a poller that naps
// sends one in a nap.
const leastDepth = 16

// drawMachines draws what each host is like, and how long it may be away.
func (p *plan) drawMachines() {
	if !p.mode.hosts {
		return
	}
	d := newDice(p.seed, 0x6d616368)
	p.machines = make([]machine, p.topology.hosts)
	spoiled := oneOf(d, 0.2, 0.5, 1, 1) // of the hosts
	share, preemption := p.drawShare(d), p.drawPreemption(d)
	sharers := map[int]int{}
	for i := range p.machines {
		m := &p.machines[i]
		if i > 0 && !d.chance(spoiled) {
			continue
		}
		m.noStamps = d.chance(0.6)
		if d.chance(0.3) {
			m.noise = scale(d, units.Nanosecond, 20*units.Microsecond)
		}
		if d.chance(0.5) {
			m.naps = drawNaps(d)
		}
		if preemption.Every > 0 && d.chance(0.7) {
			m.preemption = preemption
		}
		if d.chance(0.2) {
			m.coalesce = fabric.Coalesce{Every: scale(d, units.Microsecond, 100*units.Microsecond),
				Frames: d.IntN(64)}
		}
		if share.Core > 0 && d.chance(0.5) {
			m.share = share
			m.share.Core = 1 + i/4
			sharers[m.share.Core]++
		}
	}
	for _, m := range p.machines {
		round := m.naps.Longest()
		if n := sharers[m.share.Core]; m.share.Core > 0 {
			round += m.share.Away(n)
			p.crowd = max(p.crowd, n+m.share.Loops)
		}
		p.round = max(p.round, round)
		p.away = max(p.away, round+2*m.preemption.Most()+m.coalesce.Every)
		p.vague = max(p.vague, units.Microsecond+2*(p.jitter+m.coalesce.Every+m.noise))
	}
	p.parts.Host.TxDepth = max(p.parts.Host.TxDepth, leastDepth)
	p.parts.HostOf = func(host int, c *fabric.HostConfig) {
		p.machines[host].configure(p.seed, host, c)
	}
	p.hosts += fmt.Sprintf("; away for %v at most, %d to a core, preemption %+v, share %+v", p.away,
		p.crowd, preemption, share)
}

func drawNaps(d dice) fabric.Naps {
	n := fabric.DefaultNaps
	if d.chance(0.6) {
		n = fabric.Naps{Spin: between(d, 0, 30*units.Microsecond),
			Short: scale(d, units.Microsecond, 100*units.Microsecond)}
	}
	if d.chance(0.5) {
		n.Slack = scale(d, units.Microsecond, 60*units.Microsecond)
	}
	return n
}

// drawPreemption draws absences that take a third of the time at most.
func (p *plan) drawPreemption(d dice) (a fabric.Preemption) {
	if !d.chance(0.6) {
		return a
	}
	a.Shortest = scale(d, 10*units.Microsecond, oneOf(d, units.Millisecond, 30*units.Millisecond))
	a.Longest = a.Shortest
	if d.chance(0.5) {
		a.Longest = scale(d, a.Shortest, 3*a.Shortest)
	}
	a.Every = a.Longest * between(d, units.Duration(3), 12)
	a.Random, a.InStep = d.chance(0.5), d.chance(0.3)
	return a
}

func (p *plan) drawShare(d dice) (s fabric.Share) {
	if !d.chance(0.3) {
		return s
	}
	return fabric.Share{
		Core: 1, Loops: d.IntN(2), Slice: scale(d, 50*units.Microsecond, 3*units.Millisecond),
		Spin: oneOf(d, 0, 25*units.Microsecond), Switch: between(d, units.Microsecond,
			5*units.Microsecond),
	}
}

// configure makes a host what it is.
func (m *machine) configure(seed uint64, host int, c *fabric.HostConfig) {
	c.Naps, c.Preemption, c.Share, c.Coalesce, c.NoStamps = m.naps, m.preemption, m.share,
		m.coalesce, m.noStamps
	if m.noise > 0 {
		d := newDice(seed, uint64(host)<<32|0x6e6f697365)
		c.Noise = func() units.Duration { return between(d, -m.noise, m.noise) }
	}
}

// slowed is how much longer hosts need for so many packets, and frames for their way, when pollers
// are away. In a round of naps or turns a host sends as many frames as its NIC takes.
func (p *plan) slowed(packets int) {
	if !p.mode.hosts {
		return
	}
	const share = 2 // preempted for a third of the time, they need half as long again
	p.trip += 2 * p.away
	p.slack = p.slack*share*units.Duration(1+p.crowd) + times(1+packets/leastDepth,
		p.round) + 16*p.away
}

// controls are the algorithms that sessions may have. The empty one is that of the other modes.
var controls = []string{"", "swift", "swift", "timely", "ledbat-dc", "dctcp", "dcqcn", "prioplus",
	"prioplus"}

// drawControls draws the congestion control of reliable sessions.
func (p *plan) drawControls() {
	if !p.mode.hosts {
		return
	}
	d := newDice(p.seed, 0x636f6e74)
	for _, s := range p.sessions {
		name, priority := oneOf(d, controls...), d.IntN(8)
		reused := s.prior != nil && s.sides[0].again != nil
		switch {
		case reused: // the queue pair, and its algorithm
			s.control = s.prior.control
			continue
		case s.service != transport.RC || name == "":
			continue
		case name == "dctcp" && !p.extends(s): // nobody would tell it of marks
			name = "dcqcn"
		// what passes in the other host would stop it for good
		case name == "prioplus" && !p.extends(s):
			name = "swift"
		}
		s.control = p.spec(name, priority)
	}
}

// extends reports whether the ends of a session agree to the extension, and those of the next one
// on the same queue pairs, too.
func (p *plan) extends(s *session) bool {
	if s.sequel != nil && s.sequel.sides[0].again != nil && !p.extends(s.sequel) {
		return false
	}
	return p.agrees(s)
}

// agrees reports whether the ends of a session agree to the extension.
func (p *plan) agrees(s *session) bool { return s.repeats || p.mode.credits }

// spec makes a control by its name. Channels of PrioPlus hold what varies about hosts and is not
// told apart from queues, as those that use it have to see to: a flow whose delays are always
// beyond its channel never sends.
func (p *plan) spec(name string, priority int) cc.Control {
	text := name
	if name == "prioplus" {
		text = "swift"
	}
	inner, err := cc.Parse(text)
	if err != nil {
		panic(err) // ours, whatever the seed
	}
	if name != "prioplus" {
		return inner
	}
	channels, err := prioplus.ParseChannels(fmt.Sprintf("n=8,a=%v,b=%v,eps=%v",
		4*units.Microsecond+p.vague/4, p.vague, p.vague))
	if err != nil {
		panic(err)
	}
	return prioplus.Spec{Inner: inner, Channels: channels, Priority: priority}
}

// controlled makes the algorithm of a side, for a path as the plan knows it.
func (x *side) controlled() (cc.Algorithm, error) {
	s := x.session
	signals := cc.SignalDelay
	if s.plan.extends(s) {
		signals |= cc.SignalEndpoint | cc.SignalMarks | cc.SignalOneWay
	}
	p := s.plan
	return s.control.New(cc.Path{
		LineRate: p.topology.slowest, BaseRTT: max(p.trip-2*p.away, units.Microsecond),
		Payload: s.mtu,
		Hops:    p.topology.hops, Signals: signals, Seed: uint32(x.number),
	})
}

// The floors of what algorithms decide: a window of a thousandth of a packet, and 10 Mb/s.
const (
	leastWindow = 1000
	leastRate   = 10 * units.Mbps
)

// slowest is how long the messages of a side may take whose algorithm is at its floor all the time,
// and what its requests bring back. How fast algorithms are is not the soak's business.
func (x *side) slowest() units.Duration {
	bytes := units.Bytes(0)
	for _, m := range x.script {
		bytes += units.Bytes(m.size + wireOverhead*m.packets(x.session.mtu))
	}
	return times(leastWindow*x.packets(), x.session.plan.trip) + leastRate.Duration(bytes)
}
