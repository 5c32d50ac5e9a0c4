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

// plan is everything that is drawn from a seed.
type plan struct {
	seed           uint64
	mode           mode
	kind           kind
	topology       topology
	parts          fabric.Parts
	buffers        buffers
	trims          bool   // switches trim packets that find a full queue
	vlan           uint16 // of all hosts; 0: none
	jitter         units.Duration
	switches       string // description, as is the next
	hosts          string
	traits         []hostTraits
	timings        []hostTiming   // in the mode hosts
	maxAbsence     units.Duration // longest time that a host does not poll
	maxRound       units.Duration // the same without preemption
	maxPerCore     int            // most hosts and loops that share a core
	delayVariation units.Duration // variation of measured delays that is not queueing
	sessions       []*session
	last           units.Time // time of the last post
	faults         faults
	forgedBursts   []forgedBurst // in the mode hostile

	baseRTT     units.Duration // round trip without other traffic
	maxRTT      units.Duration // upper bound of a round trip without loss
	shortTimers bool           // timers are shorter than maxRTT
	grace       units.Duration // time after the last fault within which all sessions must close
}

// hostTraits are the properties that differ between hosts.
type hostTraits struct {
	shared    int            // depth of the shared receive queue; 0: none
	postDelay units.Duration // maximum delay before its program posts receives
	firstQPN  uint32
	held      int // transport.Config.MaxHeld

	cache        *carc.Spec     // nil: none
	llc          units.Bytes    // size of the cache
	consumeDelay units.Duration // maximum time for its program to consume a message
}

// newPlan draws the plan of a seed in a mode.
func newPlan(seed uint64, m mode) (*plan, error) {
	r := newRNG(seed, 0x736f616b)
	p := &plan{seed: seed, mode: m, kind: m.draw(r)}
	if p.kind.name == "chaos" { // each fault only in some runs
		for _, trait := range []*bool{&p.kind.verbErrors, &p.kind.loss, &p.kind.reorder,
			&p.kind.outages, &p.kind.crashes, &p.kind.overload} {
			*trait = r.chance(0.6)
		}
	}
	p.topology = drawTopology(r)
	p.parts.Config = fabric.Config{Seed: seed, MTU: pick(r, units.Bytes(4200), 4200, 4200, 4200,
		9000, 1500)}
	if r.chance(0.1) {
		p.vlan = uniform(r, uint16(1), 4094)
	}
	p.parts.PauseResponse = uniform(r, units.Bytes(480), 1000)
	p.drawHost(r)
	p.drawSwitch(r)
	for range p.topology.hosts {
		t := hostTraits{firstQPN: uint32(uniform(r, 2, wire.PSNMask))}
		if r.chance(0.3) {
			t.shared = logUniform(r, 2, 64)
		}
		if r.chance(0.15) {
			t.postDelay = logUniform(r, units.Microsecond, 500*units.Microsecond)
		}
		if r.chance(0.3) {
			t.held = logUniform(r, 1, 1000)
		}
		p.traits = append(p.traits, t)
	}
	if err := p.drawTraffic(r); err != nil {
		return nil, err
	}
	p.drawHostTimings()
	p.drawForgedBursts()
	p.drawTimers(r)
	p.drawControls()
	p.drawTokens()
	p.drawCredits()
	p.drawFaults(r)
	p.drawStalls()
	p.scheduleForgedBursts()
	p.deriveBounds()
	return p, nil
}

// wireOverhead is an upper bound of what a packet adds to its payload on the wire.
const wireOverhead = 130

// drawTimers derives the bounds of a round trip and draws the timers. Most timers exceed the time
// that all traffic together takes on the slowest link, so that only lost packets are sent again.
func (p *plan) drawTimers(r rng) {
	t, host := &p.topology, &p.parts.Host
	bytes, packets := units.Bytes(0), 0
	pace := units.Duration(0)
	for _, s := range p.sessions {
		for _, end := range s.ends {
			all := units.Bytes(0)
			for _, m := range end.script {
				all += units.Bytes(m.size + wireOverhead*m.packets(s.mtu))
				packets += 2 * m.packets(s.mtu) // and an ACK
			}
			bytes += all
			if end.rate > 0 {
				pace = max(pace, end.rate.Duration(all))
			}
		}
	}
	for i := range p.forgedBursts {
		bytes += units.Bytes(p.forgedBursts[i].frames) * longestFrame(p.parts.MTU)
		packets += 2 * p.forgedBursts[i].frames // and an answer
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
	p.baseRTT = 2 * way
	p.maxRTT = 3*slowest.Duration(bytes) + processor + 2*p.baseRTT + pace + 20*units.Microsecond
	p.addAbsences(packets)
	if p.mode.hasAdmission() { // control messages wait for each other, and data for them
		p.maxRTT *= 4
	}
	p.shortTimers = p.kind.overload && r.chance(0.4)
	enough := uint8(1)
	least := p.maxRTT
	if p.mode.hasAdmission() {
		least = max(least, toccTimeout)
	}
	for wire.AckTimeout(enough) < least {
		enough++
	}
	for _, s := range p.sessions {
		for _, end := range s.ends {
			end.drawTimer(r, enough)
		}
	}
}

func (end *peerEnd) drawTimer(r rng, enough uint8) {
	p := end.session.plan
	end.timeout = uniform(r, enough, enough+1)
	if p.shortTimers {
		end.timeout = uniform(r, uint8(1), enough)
	}
	longest := wire.AckTimeout(end.timeout)
	if r.chance(0.3) {
		end.rtoHigh = uniform(r, wire.AckTimeout(enough), 2*wire.AckTimeout(enough))
		if p.shortTimers {
			end.rtoHigh = logUniform(r, 20*units.Microsecond, 2*wire.AckTimeout(enough))
		}
		longest = end.rtoHigh
	}
	if r.chance(0.3) {
		end.rtoLow = uniform(r, min(p.maxRTT, longest), longest)
		if p.shortTimers {
			end.rtoLow = logUniform(r, 10*units.Microsecond, longest)
		}
	}
	if p.isFaultFree() && r.chance(0.1) {
		end.timeout, end.rtoHigh, end.rtoLow, longest = 0, 0, 0, p.maxRTT // timers off
	}
	end.retryTime, end.minTimeout = units.Duration(end.retries+1)*longest, longest
	if end.rtoLow > 0 {
		end.minTimeout = min(end.minTimeout, end.rtoLow)
	}
}

// deriveBounds derives which failures may occur and how long the simulation may take.
func (p *plan) deriveBounds() {
	longest, stalls, sequels := units.Duration(0), units.Duration(0), units.Duration(1)
	for _, s := range p.sessions {
		if s.predecessor != nil {
			sequels = 2
		}
		for _, end := range s.ends {
			end.judgeRetries()
			wait := p.traits[end.peer.host].postDelay + wire.RNRTimer(end.peer.rnrTimer) +
				p.traits[end.peer.host].consumeDelay
			if p.mode.credits {
				wait += p.baseRTT
			}
			if !p.isFaultFree() {
				wait += end.retryTime
			}
			longest = max(longest, end.retryTime)
			waits := len(end.script)
			if p.kind.overload { // a packet may need all its retries
				waits += end.packets()
			}
			stalls = max(stalls, times(2*waits, wait)+times(end.roundTrips(), p.baseRTT))
			if s.control != nil {
				stalls = max(stalls, end.slowestDrain())
			}
		}
	}
	p.grace = sequels * (min(10*p.maxRTT+longest, maxGrace) + stalls + 10*units.Millisecond)
	if !p.isFaultFree() {
		p.grace += sequels * 5 * units.Second // retries of neighbour discovery
	}
	p.grace = min(p.grace, maxGrace)
}

// maxGrace exceeds the duration of any simulation that makes progress. Four times its value fits
// units.Time.
const maxGrace = 1_000_000 * units.Second

// times returns n*d, or maxGrace if that is less.
func times(n int, d units.Duration) units.Duration {
	if float64(n)*float64(d) > float64(maxGrace) {
		return maxGrace
	}
	return units.Duration(n) * d
}

// packets returns the number of packets of all messages of the end.
func (end *peerEnd) packets() int {
	sum := 0
	for _, m := range end.script {
		sum += m.packets(end.session.mtu)
	}
	return sum
}

// roundTrips returns how often an end waits for its peer because its window is full.
func (end *peerEnd) roundTrips() int {
	window := end.window
	if end.inFlight > 0 {
		window = min(window, end.inFlight)
	}
	mtu := end.session.mtu
	packets := max(1, int(window/mtu))
	if end.session.selective { // no PSN is in flight that a SACK could not name
		packets = min(packets, int(end.session.sackBits))
	}
	trips := 0
	for _, m := range end.script {
		trips += 1 + m.packets(mtu)/packets
	}
	return trips
}

// maxBadLuck is the probability that an end exceeds its retries by chance above which mayExhaust is
// set.
const maxBadLuck = 1e-7

// judgeRetries derives whether the end may exceed its retries by chance.
func (end *peerEnd) judgeRetries() {
	s := end.session
	p := s.plan
	loss := p.faults.loss(s.selective)
	trip := 1 - math.Pow(1-loss, float64(2*p.topology.hops))
	tries := end.retries + 1
	if p.mode.hostile { // a forged packet behind a gap costs one: see hostile.go
		tries = end.retries
	}
	end.mayExhaust = p.shortTimers || p.kind.overload || float64(2*end.packets())*math.Pow(trip,
		float64(tries)) > maxBadLuck ||
		p.faults.hold() > end.minTimeout*units.Duration(end.retries)/2
}

// String describes the plan.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d is %s: %s, %d hosts, MTU %d\n", p.seed, p.kind.name, p.topology.name,
		p.topology.hosts, int64(p.parts.MTU))
	fmt.Fprintf(&b, "  hosts: %s\n  switches: %s\n", p.hosts, p.switches)
	fmt.Fprintf(&b,
		"  max RTT %v, short timers %v, last message at %v, faults end at %v, grace %v\n",
		p.maxRTT, p.shortTimers, p.last, p.faults.end, p.grace)
	fmt.Fprintf(&b, "  faults: %s\n", p.faults.String())
	for _, s := range p.sessions {
		fmt.Fprintf(&b, "  %v\n", s)
	}
	return b.String()
}

// longestPause returns the maximum pause time: 65535 quanta of 64 bytes.
func (p *plan) longestPause() units.Duration { return p.topology.slowest.Duration(65535 * 64) }

// transit is an upper bound of the time that a frame is in flight. A pause whose end was lost lasts
// for the maximum pause time.
func (p *plan) transit() units.Duration {
	pause := units.Duration(0)
	if len(p.faults.outages) > 0 {
		pause = p.longestPause()
	}
	return p.maxRTT + p.faults.delay() + pause
}

// isFaultFree reports whether nothing is lost, late or refused.
func (p *plan) isFaultFree() bool {
	return p.kind.isFaultFree() && p.buffers != lossy && !p.mode.hostile
}

// mayReorder reports whether frames may overtake others: because of a fault, or because switches
// trim. A frame too short to be trimmed travels ahead with the headers of trimmed ones.
func (p *plan) mayReorder() bool { return p.trims || p.faults.mayReorder() || p.mode.hostile }

// mayDuplicate reports whether frames may arrive twice: because of a fault, or because a forger
// replays them.
func (p *plan) mayDuplicate() bool { return p.faults.mayDuplicate() || p.mode.hostile }

// mayCorrupt reports whether frames may change in flight.
func (p *plan) mayCorrupt() bool {
	for _, s := range p.faults.linkFaults {
		if s.faults.Corrupt > 0 {
			return true
		}
	}
	return p.trims || p.mode.hostile
}

// maxEvents returns the number of events after which a simulation counts as stuck.
func (p *plan) maxEvents() uint64 {
	packets := 0
	for _, s := range p.sessions {
		packets += s.ends[0].packets() + s.ends[1].packets()
	}
	most := 2_000_000 + uint64(packets*p.topology.hops)*300
	if p.mode.hasAdmission() { // a sender with a dead peer asks for admission until its timers end
		most *= 10
	}
	if p.mode.hosts { // flows on hold probe for as long as others are absent
		most *= 4
	}
	return most
}
