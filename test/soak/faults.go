package main

import (
	"fmt"
	"strings"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// faults are what goes wrong in a world, and when.
type faults struct {
	spoiled []spoiled
	outages []outage
	crashes []crash
	silence float64    // how likely an RTS or a TOKEN is lost, beside all that
	end     units.Time // of all of them
}

// spoiled is a link that does not carry what it is given.
type spoiled struct {
	link     uint64 // which port, modulo their number; all for everyPort
	from, to units.Time
	how      fabric.LinkFaults
}

const everyPort = ^uint64(0)

// outage is a link that is down, a NIC that pauses its switch without reason, or a host that
// stalls.
type outage struct {
	link     uint64 // which port; of a storm and a stall, which host
	storm    bool
	stall    bool // nobody polls
	priority int
	from, to units.Time
}

// crash is a host that stops, and perhaps starts again.
type crash struct {
	host     int
	at, back units.Time // back 0: never
}

// drawFaults draws all that the kind of the seed allows.
func (p *plan) drawFaults(d dice) {
	f, k := &p.faults, &p.kind
	span := units.Time(1.5*float64(p.last)) + units.Time(scale(d, p.slack/20+1, p.slack))
	f.end = p.last
	if k.loss || k.disorder {
		f.drawSpoiled(d, k, span)
	}
	if k.outages {
		f.drawOutages(d, p, span)
	}
	if k.crashes {
		f.drawCrashes(d, p.topology.hosts, span)
	}
}

func (f *faults) drawSpoiled(d dice, k *kind, span units.Time) {
	count := 1
	if d.chance(0.5) {
		count = between(d, 1, 6)
	}
	for range count {
		s := spoiled{link: everyPort, to: between(d, span/2, span)}
		if count > 1 {
			s.link = d.Uint64() >> 1
		}
		if d.chance(0.3) {
			s.from = between(d, 0, s.to)
		}
		if k.loss {
			s.how.Lose = scale(d, 1e-4, oneOf(d, 0.02, 0.02, 0.2))
			if d.chance(0.5) {
				s.how.Corrupt = scale(d, 1e-4, 0.02)
			}
			if d.chance(0.3) {
				s.how.Burst = fabric.GilbertElliott{
					ToBad: scale(d, 1e-4, 0.02), ToGood: scale(d, 0.02, 1), LoseGood: oneOf(d, 0,
						0.001), LoseBad: scale(d, 0.1, 1)}
			}
		}
		if k.disorder {
			s.how.Duplicate = oneOf(d, 0, scale(d, 1e-4, 0.2))
			s.how.Reorder = scale(d, 1e-3, 0.3)
			s.how.ReorderBy = scale(d, 100*units.Nanosecond, 200*units.Microsecond)
			s.how.Spike = oneOf(d, 0, scale(d, 1e-4, 0.01))
			s.how.SpikeBy = scale(d, units.Microsecond, 500*units.Microsecond)
		}
		f.spoiled = append(f.spoiled, s)
		f.end = max(f.end, s.to)
	}
}

// drawStalls draws, in the modes tocc and carc, how often notices are lost, and hosts that poll
// nothing for a while.
func (p *plan) drawStalls() {
	k, f := &p.kind, &p.faults
	if !p.mode.admits() || k.quiet() {
		return
	}
	d := newDice(p.seed, 0x7374616c6c)
	if k.loss && d.chance(0.7) {
		f.silence = scale(d, 0.01, 0.5)
	}
	for n := d.IntN(6); n > 0; n-- {
		o := outage{link: d.Uint64(), stall: true, from: between(d, 0, f.end)}
		o.to = o.from.Add(scale(d, 10*units.Microsecond, units.Millisecond))
		f.outages = append(f.outages, o)
		f.end = max(f.end, o.to)
	}
}

// drawOutages draws outages that retries survive, and some that they do not.
func (f *faults) drawOutages(d dice, p *plan, span units.Time) {
	for range between(d, 1, 5) {
		o := outage{link: d.Uint64(), storm: p.buffers == lossless && d.chance(0.5) ||
			d.chance(0.1), priority: d.IntN(fabric.Priorities)}
		o.from = between(d, 0, span)
		o.to = o.from.Add(scale(d, units.Microsecond, oneOf(d, p.slack, 10*p.slack)))
		f.outages = append(f.outages, o)
		f.end = max(f.end, o.to)
	}
}

func (f *faults) drawCrashes(d dice, hosts int, span units.Time) {
	for range between(d, 1, 3) {
		c := crash{host: d.IntN(hosts), at: between(d, 0, span)}
		if d.chance(0.7) {
			c.back = c.at.Add(scale(d, 100*units.Nanosecond,
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

// loss is the highest probability with which a link loses a frame. While a channel is bad it counts
// as always bad: a retry may well come before it has turned good. Selective repeat takes what is
// overtaken for lost; go-back-N loses what comes behind a gap when its NAK is overtaken too.
func (f *faults) loss(selective bool) float64 {
	worst := 0.0
	for _, s := range f.spoiled {
		p := s.how.Lose + s.how.Corrupt
		if selective {
			p += s.how.Reorder
		} else {
			p += s.how.Reorder * s.how.Reorder
		}
		if s.how.Burst.ToBad > 0 {
			p += s.how.Burst.LoseBad
		}
		worst = max(worst, p)
	}
	return min(worst, 1)
}

// disorderly says whether frames may come twice, or overtake each other.
func (f *faults) disorderly() bool {
	for _, s := range f.spoiled {
		if s.how.Reorder > 0 || s.how.Duplicate > 0 {
			return true
		}
	}
	return len(f.outages) > 0 // a detour is another way
}

// repeats reports whether links carry frames twice.
func (f *faults) repeats() bool {
	for _, s := range f.spoiled {
		if s.how.Duplicate > 0 {
			return true
		}
	}
	return false
}

// any says whether anything goes wrong.
func (f *faults) any() bool { return len(f.spoiled)+len(f.outages)+len(f.crashes) > 0 }

// hold is how long a link may hold a frame back.
func (f *faults) hold() units.Duration {
	longest := units.Duration(0)
	for _, s := range f.spoiled {
		if s.how.Reorder+s.how.Spike > 0 {
			longest = max(longest, s.how.ReorderBy+s.how.SpikeBy)
		}
	}
	return longest
}

// delay is how much later a frame may come because of faults.
func (f *faults) delay() units.Duration {
	longest := 10 * f.hold()
	for _, o := range f.outages {
		longest += o.to.Sub(o.from)
	}
	return longest
}

// out is how long links were out between two moments.
func (f *faults) out(from, to units.Time) units.Duration {
	sum := units.Duration(0)
	for _, o := range f.outages {
		sum += max(0, min(o.to, to).Sub(max(o.from, from)))
	}
	return sum
}

// begin makes the faults happen.
func (f *faults) begin(w *world) {
	ports := w.ports()
	for _, s := range f.spoiled {
		chosen := ports
		if s.link != everyPort {
			chosen = ports[s.link%uint64(len(ports)):][:1]
		}
		set := func(how fabric.LinkFaults) func() {
			return func() {
				for _, p := range chosen {
					if err := p.SetFaults(how); err != nil {
						w.violated("%v", err)
					}
				}
			}
		}
		w.net.At(s.from, set(s.how))
		w.net.At(s.to, set(fabric.LinkFaults{}))
	}
	for _, o := range f.outages {
		if o.stall {
			n := w.nodes[o.link%uint64(len(w.nodes))]
			w.net.At(o.from, func() { n.stall(o.to) })
			continue
		}
		if o.storm {
			hosts := w.net.Hosts()
			nic := hosts[o.link%uint64(len(hosts))].NIC().Ports()
			port := nic[o.link%uint64(len(nic))]
			w.net.At(o.from, func() { port.Storm(o.priority, true) })
			w.net.At(o.to, func() { port.Storm(o.priority, false) })
			continue
		}
		port := ports[o.link%uint64(len(ports))]
		w.net.At(o.from, func() { port.SetDown(true) })
		w.net.At(o.to, func() { port.SetDown(false) })
	}
	for _, c := range f.crashes {
		n := w.nodes[c.host]
		n.returns = c.back != 0
		w.net.At(c.at, n.crash)
		if c.back != 0 {
			w.net.At(c.back, n.start)
		}
	}
}

func (f *faults) String() string {
	var parts []string
	for _, s := range f.spoiled {
		parts = append(parts, fmt.Sprintf("link %d %v..%v %+v", int64(s.link), s.from, s.to, s.how))
	}
	for _, o := range f.outages {
		parts = append(parts, fmt.Sprintf("outage %+v", o))
	}
	for _, c := range f.crashes {
		parts = append(parts, fmt.Sprintf("host %d stops at %v, back at %v", c.host, c.at, c.back))
	}
	if f.silence > 0 {
		parts = append(parts, fmt.Sprintf("RTSs and TOKENs are lost with %.3g", f.silence))
	}
	return strings.Join(parts, "; ")
}
