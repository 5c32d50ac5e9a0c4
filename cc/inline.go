package cc

import "github.com/goroce/goroce/units"

// Inline is the Controller that calls each algorithm at once, on the polling core. The zero value
// is ready.
type Inline struct {
	flows []inlineFlow
	free  []Flow
}

type inlineFlow struct {
	algorithm Algorithm
	wants     EventSet
	decision  Decision
	changed   bool
}

// defaultWindow is what a flow begins with whose algorithm does not say.
const defaultWindow = units.MiB

// Add implements Controller.
func (c *Inline) Add(a Algorithm, now units.Time) Flow {
	first := Decision{Window: defaultWindow}
	if s, ok := a.(Starter); ok {
		first = s.Start(now)
	}
	flow := inlineFlow{algorithm: a, wants: a.Events(), decision: first, changed: true}
	if n := len(c.free); n > 0 {
		f := c.free[n-1]
		c.free = c.free[:n-1]
		c.flows[f] = flow
		return f
	}
	c.flows = append(c.flows, flow)
	return Flow(len(c.flows) - 1)
}

// Remove implements Controller.
func (c *Inline) Remove(f Flow) {
	c.flows[f] = inlineFlow{}
	c.free = append(c.free, f)
}

// Wants implements Controller.
func (c *Inline) Wants(f Flow) EventSet { return c.flows[f].wants }

// Report implements Controller. An event of a flow that ended, or that it did not bind, does nothing.
func (c *Inline) Report(ev *Event, now units.Time) {
	f := &c.flows[ev.Flow]
	if !f.wants.Has(ev.Kind) {
		return
	}
	if d := f.algorithm.On(ev, now); d != f.decision {
		f.decision, f.changed = d, true
	}
}

// Decision implements Controller.
func (c *Inline) Decision(f Flow) (Decision, bool) {
	flow := &c.flows[f]
	changed := flow.changed
	flow.changed = false
	return flow.decision, changed
}

// Poll implements Controller: it sends the TIMER events that are due.
func (c *Inline) Poll(now units.Time) units.Time {
	next := now.Add(units.Forever)
	for i := range c.flows {
		f := &c.flows[i]
		at := f.decision.WakeAt
		if at == 0 {
			continue
		}
		if at.After(now) {
			next = units.Earlier(next, at)
			continue
		}
		f.decision.WakeAt = 0
		c.Report(&Event{Kind: TIMER, Flow: Flow(i)}, now)
		if f.decision.WakeAt != 0 {
			next = units.Earlier(next, f.decision.WakeAt)
		}
	}
	return next
}
