package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Where switches trim, a message of one short frame may overtake longer ones; nothing comes twice.
func TestUnreliableMessagesAmongTrimming(t *testing.T) {
	const refused = "holds no message that was sent and has not come"
	for _, c := range []struct {
		name  string
		trims bool
		do    func(*world, *side)
		says  string
	}{
		{"nothing may overtake, and something does", false, func(*world, *side) {}, refused},
		{"short messages may overtake", true, func(*world, *side) {}, ""},
		{"a message comes twice", true, func(_ *world, x *side) {
			for _, m := range x.script {
				m.arrived = true
			}
		}, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := incast()
			p.trims = c.trims
			noticed(t, p, units.Time(60*units.Microsecond), c.do, c.says)
		})
	}
}

// incast is a plan of two unreliable sessions into one host, of long and short messages, through a
// switch that trims.
func incast() *plan {
	d := newDice(1, 1)
	p := &plan{kind: kind{overload: true}, buffers: lossy,
		parts: fabric.Parts{Config: fabric.Config{MTU: 4200}}, traits: make([]hostTraits, 3)}
	p.parts.Switch.Queues = fabric.Queues{{Trim: 4 * 1100, TrimTo: 7, TrimDSCP: trimmedDSCP}}.At()
	link := fabric.Link{Rate: 10 * units.Gbps, Delay: units.Microsecond}
	p.topology.note(link)
	p.topology.star(link, 3)
	for from := range 2 {
		s := p.newSession(d, [2]int{from, 2}, 0)
		s.service, s.mtu, s.class, s.begin = transport.UC, transport.MTU1024, 0, 0
		for i := range 100 {
			m := s.sides[0].drawMessage(d, 0, 0)
			m.op, m.size = transport.OpSendImm, 8+1000*(i%2)
		}
		s.finishScripts(d)
		for _, x := range s.sides {
			x.depth, x.recvDepth, x.window, x.rate, x.inFlight, x.whimsical, x.signalAll = 64, 64,
				units.MiB, 0, 0, false, true
		}
	}
	p.drawTimers(d)
	p.judge()
	return p
}

// A network that neither trims nor spoils frames keeps them in order.
func TestWhatOvertakes(t *testing.T) {
	reordered, doubled := fabric.LinkFaults{Reorder: 0.1}, fabric.LinkFaults{Duplicate: 0.1}
	for _, c := range []struct {
		name               string
		p                  plan
		overtakes, repeats bool
	}{
		{"nothing", plan{}, false, false},
		{"lossy switches", plan{buffers: lossy}, false, false},
		{"switches that trim", plan{buffers: lossy, trims: true}, true, false},
		{"links that reorder", plan{faults: faults{spoiled: []spoiled{{how: reordered}}}}, true,
			false},
		{"links that repeat", plan{faults: faults{spoiled: []spoiled{{how: doubled}}}}, true, true},
		{"hosts that send again what they see", plan{mode: mode{hostile: true}}, true, true},
		{"outages", plan{faults: faults{outages: []outage{{}}}}, true, false},
	} {
		assert.Equal(t, c.overtakes, c.p.overtakes(), c.name)
		assert.Equal(t, c.repeats, c.p.repeats(), c.name)
	}
}
