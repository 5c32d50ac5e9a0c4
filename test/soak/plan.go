package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// plan is what a seed means.
type plan struct {
	seed     uint64
	mode     mode
	kind     kind
	topology topology
	parts    fabric.Parts
	buffers  buffers
	trims    bool   // switches cut what finds a full queue
	vlan     uint16 // of all hosts; 0: none
	jitter   units.Duration
	switches string // in words, as are the next
	hosts    string
	traits   []hostTraits
	machines []machine      // with the mode hosts
	away     units.Duration // the longest that a host of them does not look
	round    units.Duration // the same, but for preemption
	crowd    int            // the most that share a core
	vague    units.Duration // how much a delay may vary with all that, and nobody knows
	sessions []*session
	last     units.Time // the last message is posted
	faults   faults
	volleys  []volley // with the mode hostile

	trip  units.Duration // a round trip when nobody else is there
	slack units.Duration // more than any round trip takes when nothing is lost
	hasty bool           // timers are shorter than that
	grace units.Duration // the world must be at rest so long after its faults
}

// hostTraits are what each host has in its own way.
type hostTraits struct {
	shared   int            // depth of the shared receive queue; 0: there is none
	lazy     units.Duration // how late its program posts receives, at most
	firstQPN uint32
	held     int // transport.Config.MaxHeld

	cache *carc.Spec     // nil: none
	llc   units.Bytes    // of it
	slow  units.Duration // how long its program takes to consume a message, at most
}

// newPlan draws what a seed means in a mode.
func newPlan(seed uint64, m mode) (*plan, error) {
	d := newDice(seed, 0x736f616b)
	p := &plan{seed: seed, mode: m, kind: m.draw(d)}
	if p.kind.name == "chaos" { // not everything every time
		for _, trait := range []*bool{&p.kind.oddities, &p.kind.loss, &p.kind.disorder,
			&p.kind.outages, &p.kind.crashes, &p.kind.overload} {
			*trait = d.chance(0.6)
		}
	}
	p.topology = drawTopology(d)
	p.parts.Config = fabric.Config{Seed: seed, MTU: oneOf(d, units.Bytes(4200), 4200, 4200, 4200,
		9000, 1500)}
	if d.chance(0.1) {
		p.vlan = between(d, uint16(1), 4094)
	}
	p.parts.PauseResponse = between(d, units.Bytes(480), 1000)
	p.drawHost(d)
	p.drawSwitch(d)
	for range p.topology.hosts {
		t := hostTraits{firstQPN: uint32(between(d, 2, wire.PSNMask))}
		if d.chance(0.3) {
			t.shared = scale(d, 2, 64)
		}
		if d.chance(0.15) {
			t.lazy = scale(d, units.Microsecond, 500*units.Microsecond)
		}
		if d.chance(0.3) {
			t.held = scale(d, 1, 1000)
		}
		p.traits = append(p.traits, t)
	}
	if err := p.drawTraffic(d); err != nil {
		return nil, err
	}
	p.drawMachines()
	p.drawHostile()
	p.drawTimers(d)
	p.drawControls()
	p.drawTokens()
	p.drawCredits()
	p.drawFaults(d)
	p.drawStalls()
	p.placeVolleys()
	p.judge()
	return p, nil
}

// wireOverhead is more than a packet adds to its payload, on the wire.
const wireOverhead = 130

// drawTimers draws how long an answer may take. Mostly that is longer than everything together
// needs on the slowest link, so that nothing is sent twice but what was lost.
func (p *plan) drawTimers(d dice) {
	t, host := &p.topology, &p.parts.Host
	bytes, packets := units.Bytes(0), 0
	pace := units.Duration(0)
	for _, s := range p.sessions {
		for _, x := range s.sides {
			all := units.Bytes(0)
			for _, m := range x.script {
				all += units.Bytes(m.size + wireOverhead*m.packets(s.mtu))
				packets += 2 * m.packets(s.mtu) // and an ACK
			}
			bytes += all
			if x.rate > 0 {
				pace = max(pace, x.rate.Duration(all))
			}
		}
	}
	for i := range p.volleys {
		bytes += units.Bytes(p.volleys[i].frames) * longestFrame(p.parts.MTU)
		packets += 2 * p.volleys[i].frames // and an answer
	}
	bytes += units.Bytes(packets) * wireOverhead
	slowest := t.slowest
	if r := host.PCIe.Rate; r > 0 {
		slowest = min(slowest, r)
	}
	processor := units.Duration(packets) * (host.CPU.PerPacket + 2*host.CPU.PerPoll)
	way := units.Duration(t.hops)*
		(t.longest+p.parts.Switch.Delay+slowest.Duration(longestFrame(p.parts.MTU))) +
		host.TxDelay + host.RxDelay + 2*host.PCIe.Latency + p.jitter
	p.trip = 2 * way
	p.slack = 3*slowest.Duration(bytes) + processor + 2*p.trip + pace + 20*units.Microsecond
	p.slowed(packets)
	if p.mode.admits() { // notices wait for each other, and data for them
		p.slack *= 4
	}
	p.hasty = p.kind.overload && d.chance(0.4)
	enough := uint8(1)
	least := p.slack
	if p.mode.admits() {
		least = max(least, toccTimeout)
	}
	for wire.AckTimeout(enough) < least {
		enough++
	}
	for _, s := range p.sessions {
		for _, x := range s.sides {
			x.drawTimer(d, enough)
		}
	}
}

func (x *side) drawTimer(d dice, enough uint8) {
	p := x.session.plan
	x.timeout = between(d, enough, enough+1)
	if p.hasty {
		x.timeout = between(d, uint8(1), enough)
	}
	longest := wire.AckTimeout(x.timeout)
	if d.chance(0.3) {
		x.rtoHigh = between(d, wire.AckTimeout(enough), 2*wire.AckTimeout(enough))
		if p.hasty {
			x.rtoHigh = scale(d, 20*units.Microsecond, 2*wire.AckTimeout(enough))
		}
		longest = x.rtoHigh
	}
	if d.chance(0.3) {
		x.rtoLow = between(d, min(p.slack, longest), longest)
		if p.hasty {
			x.rtoLow = scale(d, 10*units.Microsecond, longest)
		}
	}
	if p.quiet() && d.chance(0.1) {
		x.timeout, x.rtoHigh, x.rtoLow, longest = 0, 0, 0, p.slack // never
	}
	x.patience, x.shortest = units.Duration(x.retries+1)*longest, longest
	if x.rtoLow > 0 {
		x.shortest = min(x.shortest, x.rtoLow)
	}
}

// judge finds out what may happen, and how long it may take.
func (p *plan) judge() {
	longest, stalls, sequels := units.Duration(0), units.Duration(0), units.Duration(1)
	for _, s := range p.sessions {
		if s.prior != nil {
			sequels = 2
		}
		for _, x := range s.sides {
			x.judge()
			wait := p.traits[x.peer.host].lazy + wire.RNRTimer(x.peer.rnrTimer) +
				p.traits[x.peer.host].slow
			if p.mode.credits {
				wait += p.trip
			}
			if !p.quiet() {
				wait += x.patience
			}
			longest = max(longest, x.patience)
			waits := len(x.script)
			if p.kind.overload { // a packet may need all retries
				waits += x.packets()
			}
			stalls = max(stalls, times(2*waits, wait)+times(x.trips(), p.trip))
			if s.control != nil {
				stalls = max(stalls, x.slowest())
			}
		}
	}
	p.grace = sequels * (min(10*p.slack+longest, mostGrace) + stalls + 10*units.Millisecond)
	if !p.quiet() {
		p.grace += sequels * 5 * units.Second // the patience with neighbours
	}
	p.grace = min(p.grace, mostGrace)
}

// mostGrace is longer than any world that is not stuck takes. Four of it are a time that there is.
const mostGrace = 1_000_000 * units.Second

// times is n such durations, or mostGrace when that is less.
func times(n int, d units.Duration) units.Duration {
	if float64(n)*float64(d) > float64(mostGrace) {
		return mostGrace
	}
	return units.Duration(n) * d
}

// packets is how many its messages take.
func (x *side) packets() int {
	sum := 0
	for _, m := range x.script {
		sum += m.packets(x.session.mtu)
	}
	return sum
}

// trips is how often a side must wait for its peer, when its window is full.
func (x *side) trips() int {
	window := x.window
	if x.inFlight > 0 {
		window = min(window, x.inFlight)
	}
	mtu := x.session.mtu
	packets := max(1, int(window/mtu))
	trips := 0
	for _, m := range x.script {
		trips += 1 + m.packets(mtu)/packets
	}
	return trips
}

// unlucky is how often, of all seeds, a side may exceed its retries by bad luck and not be called
// fragile.
const unlucky = 1e-7

// judge finds out whether bad luck may exceed the retries.
func (x *side) judge() {
	s := x.session
	p := s.plan
	loss := p.faults.loss(s.repeats)
	trip := 1 - math.Pow(1-loss, float64(2*p.topology.hops))
	tries := x.retries + 1
	if p.mode.hostile { // a forged packet behind a gap costs one: see hostile.go
		tries = x.retries
	}
	x.fragile = p.hasty || p.kind.overload || float64(2*x.packets())*math.Pow(trip,
		float64(tries)) > unlucky ||
		p.faults.hold() > x.shortest*units.Duration(x.retries)/2
}

// String tells what the seed means.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d is %s: %s, %d hosts, MTU %d\n", p.seed, p.kind.name, p.topology.name,
		p.topology.hosts, int64(p.parts.MTU))
	fmt.Fprintf(&b, "  hosts: %s\n  switches: %s\n", p.hosts, p.switches)
	fmt.Fprintf(&b,
		"  slack %v, hasty %v, last message at %v, faults end at %v, at rest %v after\n",
		p.slack, p.hasty, p.last, p.faults.end, p.grace)
	fmt.Fprintf(&b, "  faults: %s\n", p.faults.String())
	for _, s := range p.sessions {
		fmt.Fprintf(&b, "  %v\n", s)
	}
	return b.String()
}

// transit is longer than a frame is on its way. A pause whose end was lost lasts as long as a pause
// may: 65535 quanta of 64 bytes.
func (p *plan) transit() units.Duration {
	pause := units.Duration(0)
	if len(p.faults.outages) > 0 {
		pause = p.topology.slowest.Duration(65535 * 64)
	}
	return p.slack + p.faults.delay() + pause
}

// quiet says that nothing may be lost, late or refused.
func (p *plan) quiet() bool { return p.kind.quiet() && p.buffers != lossy && !p.mode.hostile }

// overtakes reports whether frames may overtake those before them: by a fault, or where switches
// trim, because a frame too short to be cut goes ahead with the headers of others, whole.
func (p *plan) overtakes() bool { return p.trims || p.faults.disorderly() || p.mode.hostile }

// repeats reports whether frames may come twice: by a fault, or because somebody sends again what
// it saw.
func (p *plan) repeats() bool { return p.faults.repeats() || p.mode.hostile }

// corrupts says whether frames may change on their way.
func (p *plan) corrupts() bool {
	for _, s := range p.faults.spoiled {
		if s.how.Corrupt > 0 {
			return true
		}
	}
	return p.trims || p.mode.hostile
}

// events is far more than should happen.
func (p *plan) events() uint64 {
	packets := 0
	for _, s := range p.sessions {
		packets += s.sides[0].packets() + s.sides[1].packets()
	}
	most := 2_000_000 + uint64(packets*p.topology.hops)*300
	if p.mode.admits() { // who waits for one that is dead says so for as long as its timers last
		most *= 10
	}
	if p.mode.hosts { // flows that hold probe for as long as others are away
		most *= 4
	}
	return most
}
