package main

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// faults are the faults of a simulation and their times.
type faults struct {
	linkFaults  []linkFault
	outages     []outage
	crashes     []crash
	controlLoss float64    // probability of losing an RTS, TOKEN or CREDIT, beside other faults
	end         units.Time // of all faults
}

// linkFault is a faulty link for a time.
type linkFault struct {
	link     uint64 // index of the port, modulo the number of ports; everyPort: all
	from, to units.Time
	faults   fabric.LinkFaults
}

const everyPort = ^uint64(0)

// outage is a link that is down, a NIC that sends pauses without congestion, or a host that stalls.
type outage struct {
	link     uint64 // index of the port; for a storm and a stall, of the host
	storm    bool
	stall    bool // the endpoint is not polled
	priority int
	from, to units.Time
}

// crash is a host that stops, and may start again.
type crash struct {
	host     int
	at, back units.Time // back 0: never
}

// drawFaults draws the faults that the kind of the seed allows.
func (p *plan) drawFaults(r rng) {
	f, k := &p.faults, &p.kind
	span := units.Time(1.5*float64(p.last)) + units.Time(logUniform(r, p.maxRTT/20+1, p.maxRTT))
	f.end = p.last
	if k.loss || k.reorder {
		f.drawLinkFaults(r, k, span)
	}
	if k.outages {
		f.drawOutages(r, p, span)
	}
	if k.crashes {
		f.drawCrashes(r, p.topology.hosts, span)
	}
}

func (f *faults) drawLinkFaults(r rng, k *kind, span units.Time) {
	count := 1
	if r.chance(0.5) {
		count = uniform(r, 1, 6)
	}
	for range count {
		s := linkFault{link: everyPort, to: uniform(r, span/2, span)}
		if count > 1 {
			s.link = r.Uint64() >> 1
		}
		if r.chance(0.3) {
			s.from = uniform(r, 0, s.to)
		}
		if k.loss {
			s.faults.Lose = logUniform(r, 1e-4, pick(r, 0.02, 0.02, 0.2))
			if r.chance(0.5) {
				s.faults.Corrupt = logUniform(r, 1e-4, 0.02)
			}
			if r.chance(0.3) {
				s.faults.Burst = fabric.GilbertElliott{
					ToBad: logUniform(r, 1e-4, 0.02), ToGood: logUniform(r, 0.02, 1),
					LoseGood: pick(r, 0,
						0.001), LoseBad: logUniform(r, 0.1, 1)}
			}
		}
		if k.reorder {
			s.faults.Duplicate = pick(r, 0, logUniform(r, 1e-4, 0.2))
			s.faults.Reorder = logUniform(r, 1e-3, 0.3)
			s.faults.ReorderBy = logUniform(r, 100*units.Nanosecond, 200*units.Microsecond)
			s.faults.Spike = pick(r, 0, logUniform(r, 1e-4, 0.01))
			s.faults.SpikeBy = logUniform(r, units.Microsecond, 500*units.Microsecond)
		}
		f.linkFaults = append(f.linkFaults, s)
		f.end = max(f.end, s.to)
	}
}

// drawStalls draws, in the modes tocc and carc, the loss of control messages, and hosts that do not
// poll for a time.
func (p *plan) drawStalls() {
	k, f := &p.kind, &p.faults
	if !p.mode.hasAdmission() || k.isFaultFree() {
		return
	}
	r := newRNG(p.seed, 0x7374616c6c)
	if k.loss && r.chance(0.7) {
		f.controlLoss = logUniform(r, 0.01, 0.5)
	}
	for n := r.IntN(6); n > 0; n-- {
		o := outage{link: r.Uint64(), stall: true, from: uniform(r, 0, f.end)}
		o.to = o.from.Add(logUniform(r, 10*units.Microsecond, units.Millisecond))
		f.outages = append(f.outages, o)
		f.end = max(f.end, o.to)
	}
}

// drawOutages draws outages, most of which retries survive.
func (f *faults) drawOutages(r rng, p *plan, span units.Time) {
	for range uniform(r, 1, 5) {
		o := outage{link: r.Uint64(), storm: p.buffers == lossless && r.chance(0.5) ||
			r.chance(0.1), priority: r.IntN(fabric.Priorities)}
		o.from = uniform(r, 0, span)
		o.to = o.from.Add(logUniform(r, units.Microsecond, pick(r, p.maxRTT, 10*p.maxRTT)))
		f.outages = append(f.outages, o)
		f.end = max(f.end, o.to)
	}
}

func (f *faults) drawCrashes(r rng, hosts int, span units.Time) {
	for range uniform(r, 1, 3) {
		c := crash{host: r.IntN(hosts), at: uniform(r, 0, span)}
		if r.chance(0.7) {
			c.back = c.at.Add(logUniform(r, 100*units.Nanosecond,
				units.Duration(span)+units.Microsecond))
		}
		again := false
		for _, other := range f.crashes {
			again = again || other.host == c.host
		}
		if !again {
			f.crashes = append(f.crashes, c)
			f.end = max(f.end, c.at, c.back)
		}
	}
}

// loss returns the highest probability with which a link loses a frame. A Gilbert-Elliott channel
// counts as always bad, since a retry may come before it turns good. Selective repeat takes a
// reordered packet for lost; go-back-N loses the packets behind a gap only when the NAK is
// reordered, too.
func (f *faults) loss(selective bool) float64 {
	worst := 0.0
	for _, s := range f.linkFaults {
		p := s.faults.Lose + s.faults.Corrupt
		if selective {
			p += s.faults.Reorder
		} else {
			p += s.faults.Reorder * s.faults.Reorder
		}
		if s.faults.Burst.ToBad > 0 {
			p += s.faults.Burst.LoseBad
		}
		worst = max(worst, p)
	}
	return min(worst, 1)
}

// mayReorder reports whether frames may be duplicated or overtake each other.
func (f *faults) mayReorder() bool {
	for _, s := range f.linkFaults {
		if s.faults.Reorder > 0 || s.faults.Duplicate > 0 {
			return true
		}
	}
	return len(f.outages) > 0 // a detour has another delay
}

// mayDuplicate reports whether links duplicate frames.
func (f *faults) mayDuplicate() bool {
	for _, s := range f.linkFaults {
		if s.faults.Duplicate > 0 {
			return true
		}
	}
	return false
}

// isAny reports whether there is any fault.
func (f *faults) isAny() bool { return len(f.linkFaults)+len(f.outages)+len(f.crashes) > 0 }

// hold returns the longest time for which a link delays a frame.
func (f *faults) hold() units.Duration {
	longest := units.Duration(0)
	for _, s := range f.linkFaults {
		if s.faults.Reorder+s.faults.Spike > 0 {
			longest = max(longest, s.faults.ReorderBy+s.faults.SpikeBy)
		}
	}
	return longest
}

// delay returns by how much faults may delay a frame.
func (f *faults) delay() units.Duration {
	longest := 10 * f.hold()
	for _, o := range f.outages {
		longest += o.to.Sub(o.from)
	}
	return longest
}

// outageBetween returns the total duration of outages between two times. longestPause is how long a
// pause lasts that nothing ends.
func (f *faults) outageBetween(from, to units.Time, longestPause units.Duration) units.Duration {
	sum := units.Duration(0)
	for _, o := range f.outages {
		sum += max(0, min(f.effectUntil(o, longestPause), to).Sub(max(o.from, from)))
	}
	return sum
}

// effectUntil returns when an outage has no effect any more. A storm's last pause lasts on if the
// frame that ends it is lost, because a link is down.
func (f *faults) effectUntil(o outage, longestPause units.Duration) units.Time {
	until := o.to
	for _, down := range f.outages {
		if o.storm && !down.storm && !down.stall && !o.to.Before(down.from) &&
			!o.to.After(down.to) {
			until = max(until, down.from.Add(longestPause))
		}
	}
	return until
}

// schedule schedules all faults.
func (f *faults) schedule(sim *simulation) {
	ports := sim.ports()
	for _, s := range f.linkFaults {
		chosen := ports
		if s.link != everyPort {
			chosen = ports[s.link%uint64(len(ports)):][:1]
		}
		set := func(how fabric.LinkFaults) func() {
			return func() {
				for _, p := range chosen {
					if err := p.SetFaults(how); err != nil {
						sim.failf("%v", err)
					}
				}
			}
		}
		sim.net.At(s.from, set(s.faults))
		sim.net.At(s.to, set(fabric.LinkFaults{}))
	}
	for _, o := range f.outages {
		if o.stall {
			n := sim.nodes[o.link%uint64(len(sim.nodes))]
			sim.net.At(o.from, func() { n.stall(o.to) })
			continue
		}
		if o.storm {
			hosts := sim.net.Hosts()
			nic := hosts[o.link%uint64(len(hosts))].NIC().Ports()
			port := nic[o.link%uint64(len(nic))]
			sim.net.At(o.from, func() { port.Storm(o.priority, true) })
			sim.net.At(o.to, func() { port.Storm(o.priority, false) })
			continue
		}
		port := ports[o.link%uint64(len(ports))]
		sim.net.At(o.from, func() { port.SetDown(true) })
		sim.net.At(o.to, func() { port.SetDown(false) })
	}
	for _, c := range f.crashes {
		n := sim.nodes[c.host]
		n.restarts = c.back != 0
		sim.net.At(c.at, n.crash)
		if c.back != 0 {
			sim.net.At(c.back, n.start)
		}
	}
}

func (f *faults) String() string {
	var parts []string
	for _, s := range f.linkFaults {
		parts = append(parts, fmt.Sprintf("link %d %v..%v %+v", int64(s.link), s.from, s.to,
			s.faults))
	}
	for _, o := range f.outages {
		parts = append(parts, fmt.Sprintf("outage %+v", o))
	}
	for _, c := range f.crashes {
		parts = append(parts, fmt.Sprintf("host %d stops at %v, back at %v", c.host, c.at, c.back))
	}
	if f.controlLoss > 0 {
		parts = append(parts, fmt.Sprintf("RTSs and TOKENs are lost with %.3g", f.controlLoss))
	}
	return strings.Join(parts, "; ")
}
