package main

import (
	"fmt"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/units"
)

// scenario is figure 8: flows of several priorities begin one step after each other, the lowest
// first, and end one step after each other, the highest first.
type scenario struct {
	Name   string
	Groups []*group // the lowest priority first
	Bin    units.Duration
	Step   units.Duration
	Queue  []float64 // of the bottleneck, the longest in each bin, as time on the link in us
	Rounds int       // of the polling core, in total
	Took   units.Duration
	Absent units.Duration // part of it for which other programs had the core
}

// group is the flows of one priority.
type group struct {
	Priority     int
	Target       units.Duration
	Begins, Ends units.Duration
	Bytes        []float64 // that arrived, in each bin
	Flows        []*member
}

// member is a flow of a group, and its results.
type member struct {
	*flow
	Stopped bool        // a higher priority made it stop
	Stops   uint64      // number of stops while that was active
	Resumed units.Bytes // that arrived after the higher one had ended

	delivered, until units.Bytes
	before           uint64
}

// bins is the number of bins in a step.
const bins = 400

// controlOf returns the congestion control of a priority's flows: PrioPlus, or Swift alone with the
// same target.
func (s *settings) controlOf(plus bool, sv *channels.Survey, priority int) (cc.Factory,
	units.Duration, error) {
	ch, err := sv.Channels.Of(priority, sv.Path)
	if err != nil {
		return nil, 0, err
	}
	if plus {
		return prioplus.Spec{Inner: s.Inner, Channels: sv.Channels, Priority: priority}, ch.Target,
			nil
	}
	text := fmt.Sprintf("%v,base_target=%v,per_hop=0s,fs_range=0s,max_cwnd=%d", s.alone(),
		ch.Target, s.window(sv)/pathMTU)
	spec, err := cc.Parse(text)
	return spec, ch.Target, err
}

// window returns the most that a flow may have in flight: the highest limit's bytes.
func (s *settings) window(sv *channels.Survey) units.Bytes {
	top, err := sv.Channels.Of(sv.Channels.N()-1, sv.Path)
	if err != nil {
		return 0
	}
	return s.Rate.Bytes(top.Limit) + 4*pathMTU
}

// depth returns the number of messages that a flow has posted: more than its window.
func (s *settings) depth(sv *channels.Survey) int {
	return min(max(8, int(2*s.window(sv)/s.Message)), 1024)
}

// addFlows makes the groups, and their flows on the test bed.
func (s *settings) addFlows(g *testbed, sc *scenario, plus bool, sv *channels.Survey,
	slot func(units.Time) int) error {
	n := len(s.Prios)
	for i, priority := range s.Prios {
		control, target, err := s.controlOf(plus, sv, priority)
		if err != nil {
			return err
		}
		gr := &group{Priority: priority, Target: target, Bytes: make([]float64, len(sc.Queue)),
			Begins: units.Duration(i) * s.Step, Ends: units.Duration(2*n-1-i) * s.Step}
		for range s.Each {
			f, err := g.connect(g.nodes[i], control, sv.Path.BaseRTT, int(s.Message), s.depth(sv))
			if err != nil {
				return err
			}
			p := &member{flow: f}
			f.arrived = func(now units.Time, bytes units.Bytes) {
				gr.Bytes[slot(now)] += float64(bytes)
				p.delivered += bytes
			}
			gr.Flows = append(gr.Flows, p)
		}
		sc.Groups = append(sc.Groups, gr)
	}
	return nil
}

// run runs the scenario until every posted message has arrived.
func (s *settings) run(name string, plus bool, sv *channels.Survey) (*scenario, error) {
	g, err := newTestbed(s, len(s.Prios))
	if err != nil {
		return nil, err
	}
	defer g.close()
	phases := 2*len(s.Prios) - 1
	sc := &scenario{Name: name, Step: s.Step, Bin: s.Step / bins,
		Queue: make([]float64, (phases+1)*bins)}
	var t0 units.Time
	slot := func(now units.Time) int {
		return max(0, min(int(now.Sub(t0)/sc.Bin), len(sc.Queue)-1))
	}
	if err := s.addFlows(g, sc, plus, sv, slot); err != nil {
		return nil, err
	}
	g.bottleneck().Watch(0, func(at units.Time, length units.Bytes) {
		q := &sc.Queue[slot(at)]
		*q = max(*q, s.Rate.Duration(length).Microseconds())
	})
	t0 = g.now()
	ends := units.Duration(phases) * s.Step
	err = g.run(func(now units.Time) (bool, error) {
		passed := now.Sub(t0)
		if passed > ends+s.Patience {
			return true, fmt.Errorf("%s: messages are missing %v after the last flow's end",
				name, s.Patience)
		}
		settled, err := sc.advance(passed)
		return settled && passed > ends, err
	})
	sc.Rounds, sc.Took, sc.Absent = g.rounds, g.now().Sub(t0), g.absent
	if lost := g.lost(); err == nil && lost > 0 {
		err = fmt.Errorf("%s: %d frames were dropped, want none", name, lost)
	}
	return sc, err
}

// advance lets the active flows send, and reports whether everything sent has arrived.
func (sc *scenario) advance(passed units.Duration) (settled bool, err error) {
	settled = true
	for i, gr := range sc.Groups {
		gr.advance(passed, i+1 < len(sc.Groups), sc.Step)
		for _, p := range gr.Flows {
			if err := p.fill(); err != nil {
				return false, err
			}
			settled = settled && p.settled()
		}
	}
	return settled, nil
}

// advance begins and ends the flows of a group, and records the effect of higher groups, if there
// are any.
func (gr *group) advance(passed units.Duration, higher bool, step units.Duration) {
	for _, p := range gr.Flows {
		p.active = passed >= gr.Begins && passed < gr.Ends
		switch { // the next higher priority begins a step after this one, and ends a step before
		case !higher || passed < gr.Begins+step:
			p.before = p.stops()
		case passed < gr.Ends-step:
			p.Stops, p.until = p.stops()-p.before, p.delivered
			p.Stopped = p.Stopped || p.qp.Stats().Congestion.Channel.State == cc.Stopped
		default:
			p.Resumed = p.delivered - p.until
		}
	}
}

// stops returns how often the flow has yielded to higher priorities.
func (f *flow) stops() uint64 { return f.qp.Stats().Congestion.Cuts[cc.Yielded] }
