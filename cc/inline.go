package cc

import "github.com/goroce/goroce/units"

// Inline is the Controller that calls each algorithm at once, on the polling core. The zero value
// is ready.
type Inline struct {
	flows []inlineFlow
	free  []Flow
	ChangedFlows

	waking   int        // flows whose Decision has a WakeAt
	earliest units.Time // lower bound of all WakeAt; undefined when waking is 0
	timer    Event      // the TIMER event of Poll; a field, so that none escapes
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
	c.decide(f, first)
	return name
}

// Remove implements Controller. A later Add may reuse the name.
func (c *Inline) Remove(f Flow) {
	flow := &c.flows[f]
	if flow.algorithm == nil {
		return // already removed
	}
	c.decide(flow, Decision{})
	*flow = inlineFlow{}
	c.free = append(c.free, f)
}

// decide is the only place that changes a Decision: it maintains waking and earliest.
func (c *Inline) decide(f *inlineFlow, d Decision) {
	if f.decision.WakeAt != 0 {
		c.waking--
	}
	if d.WakeAt != 0 {
		if c.waking == 0 || d.WakeAt.Before(c.earliest) {
			c.earliest = d.WakeAt
		}
		c.waking++
	}
	f.decision = d
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
		c.decide(f, d)
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

// Poll implements Controller: it sends the TIMER events that are due. It scans the flows only when
// one may be due.
func (c *Inline) Poll(now units.Time) units.Time {
	switch {
	case c.waking == 0:
		return now.Add(units.Forever)
	case c.earliest.After(now):
		return c.earliest
	}
	next := now.Add(units.Forever)
	for i := range c.flows {
		f := &c.flows[i]
		if at := f.decision.WakeAt; at != 0 && !at.After(now) {
			d := f.decision
			d.WakeAt = 0
			c.decide(f, d)
			c.timer = Event{Kind: TIMER, Flow: Flow(i)}
			c.Report(&c.timer, now)
			if f.changed {
				c.NoteChanged(Flow(i))
			}
		}
		if at := f.decision.WakeAt; at != 0 {
			next = units.Earlier(next, at)
		}
	}
	c.earliest = next
	return next
}
