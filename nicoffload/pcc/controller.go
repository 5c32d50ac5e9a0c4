package pcc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Config configures a Controller.
type Config struct {
	LineRate units.BitRate
	// Delay is the time from an event until the resulting decision takes effect: the latency of the
	// NIC's processors.
	Delay units.Duration
}

// Controller is a cc.Controller that decides on the NIC. An algorithm of cc gets the events that
// such a NIC provides, which exclude timeouts and the host's state, and its decisions take effect
// after a delay. It belongs to the polling core and runs on it, whereas a real NIC has processors
// of its own.
type Controller struct {
	inline cc.Inline
	config Config
	flows  []flow
	queue  []pending // decisions that have not taken effect, in order of time
	head   int
	cc.ChangedFlows
}

type flow struct {
	live       bool
	changed    bool
	generation uint32
	decision   cc.Decision
}

type pending struct {
	at         units.Time
	flow       cc.Flow
	generation uint32
	decision   cc.Decision
}

// unsupported are the events that DOCA PCC does not provide.
const unsupported = cc.EventSet(1<<cc.RTO | 1<<cc.HOST)

// NewController returns a Controller without flows.
func NewController(c Config) (*Controller, error) {
	if c.LineRate <= 0 || c.Delay < 0 {
		return nil, fmt.Errorf("pcc: line rate %v and delay %v, want a positive rate and a "+
			"delay of at least 0", c.LineRate, c.Delay)
	}
	return &Controller{config: c}, nil
}

// Add implements cc.Controller. The first decision takes effect at once.
func (c *Controller) Add(a cc.Algorithm, now units.Time) cc.Flow {
	name := c.inline.Add(a, now)
	for int(name) >= len(c.flows) {
		c.flows = append(c.flows, flow{})
	}
	d, _ := c.inline.Decision(name)
	c.flows[name] = flow{live: true, changed: true, generation: c.flows[name].generation + 1,
		decision: c.limited(d)}
	return name
}

// Remove implements cc.Controller.
func (c *Controller) Remove(name cc.Flow) {
	c.inline.Remove(name)
	c.flows[name] = flow{generation: c.flows[name].generation}
}

// Events implements cc.Controller.
func (c *Controller) Events(name cc.Flow) cc.EventSet {
	return c.inline.Events(name) &^ unsupported
}

// Report implements cc.Controller.
func (c *Controller) Report(ev *cc.Event, now units.Time) {
	if !c.Events(ev.Flow).Has(ev.Kind) || ev.Kind == cc.RTT && ev.Probe && ev.Delay <= 0 {
		return
	}
	c.inline.Report(ev, now)
	c.queueDecision(ev.Flow, now)
}

// queueDecision queues the algorithm's new decision, if there is one.
func (c *Controller) queueDecision(name cc.Flow, now units.Time) {
	d, changed := c.inline.Decision(name)
	if !changed {
		return
	}
	if c.config.Delay == 0 {
		c.set(name, c.limited(d))
		return
	}
	if c.head > 0 && c.head == len(c.queue) {
		c.queue, c.head = c.queue[:0], 0
	} else if c.head > 1024 {
		c.queue, c.head = c.queue[:copy(c.queue, c.queue[c.head:])], 0
	}
	c.queue = append(c.queue, pending{now.Add(c.config.Delay), name, c.flows[name].generation,
		c.limited(d)})
}

func (c *Controller) limited(d cc.Decision) cc.Decision {
	d.Rate = Quantised(d.Rate, c.config.LineRate)
	d.WakeAt = 0
	return d
}

func (c *Controller) set(name cc.Flow, d cc.Decision) {
	if f := &c.flows[name]; d != f.decision {
		f.decision, f.changed = d, true
	}
}

// Decision implements cc.Controller.
func (c *Controller) Decision(name cc.Flow) (cc.Decision, bool) {
	f := &c.flows[name]
	changed := f.changed
	f.changed = false
	return f.decision, changed
}

// Poll implements cc.Controller.
func (c *Controller) Poll(now units.Time) units.Time {
	next := c.inline.Poll(now)
	for name, some := c.inline.Changed(); some; name, some = c.inline.Changed() {
		c.queueDecision(name, now)
		c.notify(name)
	}
	for ; c.head < len(c.queue); c.head++ {
		p := &c.queue[c.head]
		if p.at.After(now) {
			return units.Earlier(next, p.at)
		}
		if f := &c.flows[p.flow]; f.live && f.generation == p.generation {
			c.set(p.flow, p.decision)
			c.notify(p.flow)
		}
	}
	return next
}

func (c *Controller) notify(name cc.Flow) {
	if c.flows[name].changed {
		c.NoteChanged(name)
	}
}

// Snapshot implements cc.Observer.
func (c *Controller) Snapshot(name cc.Flow) cc.Snapshot { return c.inline.Snapshot(name) }
