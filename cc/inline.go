package cc

import (
	"slices"

	"github.com/goroce/goroce/units"
)

// Inline is the Controller that calls each algorithm at once, on the polling core. The zero value
// is ready.
type Inline struct {
	flows []inlineFlow
	free  []Flow
	ChangedFlows

	wakes wakes  // the WakeAt of the flows' Decisions
	due   []Flow // of a Poll
	timer Event  // the TIMER event of Poll; a field, so that none escapes
}

type inlineFlow struct {
	algorithm Algorithm
	decision  Decision
	events    EventSet
	changed   bool
}

// defaultWindow is the first window of a flow whose algorithm is not a Starter.
const defaultWindow = units.MiB

// Add implements Controller.
func (c *Inline) Add(a Algorithm, now units.Time) Flow {
	first := Decision{Window: defaultWindow}
	if s, ok := a.(Starter); ok {
		first = s.Start(now)
	}
	var name Flow
	if n := len(c.free); n > 0 {
		name = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		name = Flow(len(c.flows))
		c.flows = append(c.flows, inlineFlow{})
	}
	f := &c.flows[name]
	f.algorithm, f.events, f.changed = a, a.Events(), true
	c.decide(name, first)
	return name
}

// Remove implements Controller. A later Add may reuse the name.
func (c *Inline) Remove(f Flow) {
	flow := &c.flows[f]
	if flow.algorithm == nil {
		return // already removed
	}
	c.decide(f, Decision{})
	*flow = inlineFlow{}
	c.free = append(c.free, f)
}

// decide is the only place that changes a Decision: it maintains wakes.
func (c *Inline) decide(f Flow, d Decision) {
	flow := &c.flows[f]
	if d.WakeAt != flow.decision.WakeAt {
		c.wakes.set(f, d.WakeAt)
	}
	flow.decision = d
}

// Events implements Controller.
func (c *Inline) Events(f Flow) EventSet { return c.flows[f].events }

// Report implements Controller. An event of a removed flow, or one that the flow does not bind, is
// ignored.
func (c *Inline) Report(ev *Event, now units.Time) {
	f := &c.flows[ev.Flow]
	if !f.events.Has(ev.Kind) {
		return
	}
	if d := f.algorithm.On(ev, now); d != f.decision {
		c.decide(ev.Flow, d)
		f.changed = true
	}
}

// Decision implements Controller.
func (c *Inline) Decision(f Flow) (Decision, bool) {
	flow := &c.flows[f]
	changed := flow.changed
	flow.changed = false
	return flow.decision, changed
}

// Snapshot returns the state of a flow: that of an Observable algorithm, else the newest Decision.
func (c *Inline) Snapshot(f Flow) Snapshot {
	flow := &c.flows[f]
	if o, ok := flow.algorithm.(Observable); ok {
		return o.Snapshot()
	}
	return Snapshot{Window: flow.decision.Window, Rate: flow.decision.Rate}
}

// Poll implements Controller: it sends the TIMER events that are due, one to each flow, in the
// order of flows.
func (c *Inline) Poll(now units.Time) units.Time {
	if !c.wakes.any(now) {
		return c.wakes.next(now)
	}
	c.due = c.due[:0]
	for f, due := c.wakes.due(now); due; f, due = c.wakes.due(now) {
		c.wakes.set(f, 0)
		c.due = append(c.due, f)
	}
	if len(c.due) > 1 {
		slices.Sort(c.due)
	}
	for _, f := range c.due {
		flow := &c.flows[f]
		flow.decision.WakeAt = 0
		c.timer = Event{Kind: TIMER, Flow: f}
		c.Report(&c.timer, now)
		if flow.changed {
			c.NoteChanged(f)
		}
	}
	return c.wakes.next(now)
}
