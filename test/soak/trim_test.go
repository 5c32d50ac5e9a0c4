package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// TestUnreliableMessagesWithTrimming checks that where switches trim, a message of one short frame
// may overtake longer ones, and that no message may arrive twice.
func TestUnreliableMessagesWithTrimming(t *testing.T) {
	const refused = "matches no message in flight"
	for _, c := range []struct {
		name  string
		trims bool
		do    func(*simulation, *peerEnd)
		want  string
	}{
		{"reordering without trimming", false, func(*simulation, *peerEnd) {}, refused},
		{"short messages overtake", true, func(*simulation, *peerEnd) {}, ""},
		{"a message arrives twice", true, func(_ *simulation, end *peerEnd) {
			for _, m := range end.script {
				m.arrived = true
			}
		}, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := incast()
			p.trims = c.trims
			expectProblem(t, p, units.Time(60*units.Microsecond), c.do, c.want)
		})
	}
}

// incast returns a plan of two unreliable sessions into one host, of long and short messages,
// through a switch that trims.
func incast() *plan {
	r := newRNG(1, 1)
	p := &plan{kind: kind{overload: true}, buffers: lossy,
		parts: fabric.Parts{Config: fabric.Config{MTU: 4200}}, traits: make([]hostTraits, 3)}
	p.parts.Switch.Queues = fabric.Queues{{Trim: 4 * 1100, TrimTo: 7, TrimDSCP: trimmedDSCP}}.At()
	link := fabric.Link{Rate: 10 * units.Gbps, Delay: units.Microsecond}
	p.topology.addLink(link)
	p.topology.star(link, 3)
	for from := range 2 {
		s := p.newSession(r, [2]int{from, 2}, 0)
		s.service, s.mtu, s.class, s.begin = transport.UC, units.KiB, 0, 0
		for i := range 100 {
			m := s.ends[0].drawMessage(r, 0, 0)
			m.op, m.size = transport.OpSendImm, 8+1000*(i%2)
		}
		s.finishScripts(r)
		for _, end := range s.ends {
			end.depth, end.recvDepth, end.window, end.rate, end.inFlight, end.randomCC,
				end.signalAll = 64, 64,
				units.MiB, 0, 0, false, true
		}
	}
	p.drawTimers(r)
	p.deriveBounds()
	return p
}

// TestMayReorderAndDuplicate checks which faults may reorder and duplicate frames.
func TestMayReorderAndDuplicate(t *testing.T) {
	reordered, doubled := fabric.LinkFaults{Reorder: 0.1}, fabric.LinkFaults{Duplicate: 0.1}
	for _, c := range []struct {
		name               string
		p                  plan
		overtakes, repeats bool
	}{
		{"nothing", plan{}, false, false},
		{"lossy switches", plan{buffers: lossy}, false, false},
		{"switches that trim", plan{buffers: lossy, trims: true}, true, false},
		{"links that reorder", plan{faults: faults{linkFaults: []linkFault{{faults: reordered}}}},
			true,
			false},
		{"links that duplicate", plan{faults: faults{linkFaults: []linkFault{{faults: doubled}}}},
			true, true},
		{"hosts that replay frames", plan{mode: mode{hostile: true}}, true, true},
		{"outages", plan{faults: faults{outages: []outage{{}}}}, true, false},
	} {
		assert.Equal(t, c.overtakes, c.p.mayReorder(), c.name)
		assert.Equal(t, c.repeats, c.p.mayDuplicate(), c.name)
	}
}
