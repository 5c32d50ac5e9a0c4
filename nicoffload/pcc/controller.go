package pcc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Config is what a Controller is made with.
type Config struct {
	LineRate units.BitRate
	// Delay is from an event to what is decided taking effect: the way through the NIC's
	// processors.
	Delay units.Duration
}

// Controller is a cc.Controller that decides on the NIC: an algorithm of cc hears what such a NIC
// hears, and its decisions come a while later. Neither timeouts nor the host's state are among it.
// It belongs to the polling core, whose time it takes: a real NIC's processors would be others.
type Controller struct {
	inline cc.Inline
	config Config
	flows  []flow
	queue  []pending // decisions on their way, the earliest first
	head   int
	cc.Late
}

type flow struct {
	live     bool
	changed  bool
	life     uint32
	decision cc.Decision
}

type pending struct {
	at       units.Time
	flow     cc.Flow
	life     uint32
	decision cc.Decision
}

// unheard is what DOCA PCC has no event for.
const unheard = cc.EventSet(1<<cc.RTO | 1<<cc.HOST)

// NewController makes one.
func NewController(c Config) (*Controller, error) {
	if c.LineRate <= 0 || c.Delay < 0 {
		return nil, fmt.Errorf("pcc: a controller of a line of %v that decides in %v", c.LineRate,
			c.Delay)
	}
	return &Controller{config: c}, nil
}

// Add implements cc.Controller. The first decision holds at once.
func (c *Controller) Add(a cc.Algorithm, now units.Time) cc.Flow {
	name := c.inline.Add(a, now)
	for int(name) >= len(c.flows) {
		c.flows = append(c.flows, flow{})
	}
	d, _ := c.inline.Decision(name)
	c.flows[name] = flow{live: true, changed: true, life: c.flows[name].life + 1,
		decision: c.limited(d)}
	return name
}

// Remove implements cc.Controller.
func (c *Controller) Remove(name cc.Flow) {
	c.inline.Remove(name)
	c.flows[name] = flow{life: c.flows[name].life}
}

// Wants implements cc.Controller.
func (c *Controller) Wants(name cc.Flow) cc.EventSet { return c.inline.Wants(name) &^ unheard }

// Report implements cc.Controller.
func (c *Controller) Report(ev *cc.Event, now units.Time) {
	if !c.Wants(ev.Flow).Has(ev.Kind) || ev.Kind == cc.RTT && ev.Probe && ev.Delay <= 0 {
		return
	}
	c.inline.Report(ev, now)
	c.heed(ev.Flow, now)
}

// heed puts what the algorithm decides on its way.
func (c *Controller) heed(name cc.Flow, now units.Time) {
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
	c.queue = append(c.queue, pending{now.Add(c.config.Delay), name, c.flows[name].life,
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
		c.heed(name, now)
		c.tellLate(name)
	}
	for ; c.head < len(c.queue); c.head++ {
		p := &c.queue[c.head]
		if p.at.After(now) {
			return units.Earlier(next, p.at)
		}
		if f := &c.flows[p.flow]; f.live && f.life == p.life {
			c.set(p.flow, p.decision)
			c.tellLate(p.flow)
		}
	}
	return next
}

func (c *Controller) tellLate(name cc.Flow) {
	if c.flows[name].changed {
		c.Tell(name)
	}
}

// Snapshot implements cc.Observer.
func (c *Controller) Snapshot(name cc.Flow) cc.Snapshot { return c.inline.Snapshot(name) }
