package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// ControllerConfig configures a Controller.
type ControllerConfig struct {
	Datapath Datapath
	// Handoff passes the algorithms to the agent; nil if the agent makes them itself, in another
	// process.
	Handoff *Handoff
	// Agent, unless nil, is polled by the Controller, on the polling core.
	Agent *Agent
	// Silence is for how long messages may wait without the agent fetching any. After that, flows
	// are controlled by the fallback until it does. 0 means DefaultSilence; a negative value
	// disables the fallback.
	Silence units.Duration
	// Fallback returns the algorithm that controls a flow meanwhile, starting from the flow's
	// decision; nil means NewFallbackAIMD.
	Fallback func(last cc.Decision) cc.Algorithm
}

// DefaultSilence is many times the reaction time of a live agent, a scheduler's time slice
// included.
const DefaultSilence = 10 * units.Millisecond

// Controller is a cc.Controller whose algorithms run in an agent behind a device. It belongs to the
// polling core.
type Controller struct {
	config ControllerConfig
	path   Datapath
	flows  []controllerFlow
	free   []cc.Flow
	cc.ChangedFlows
	local      cc.Inline // runs the fallback
	owners     []cc.Flow // the Controller's flow, by local's flow
	inFallback bool
	checkAt    units.Time
	event      cc.Event
	result     Result
	last       units.Time // time of the last call
	dirty      bool       // something changed since the last Poll
	next       units.Time // return value of the last Poll

	counters ControllerCounters
}

// controllerFlow is the Controller's state of a flow.
type controllerFlow struct {
	handle   Handle
	live     bool
	changed  bool
	wants    cc.EventSet
	decision cc.Decision // returned to the transport
	remote   cc.Decision // the agent's latest
	local    cc.Flow
}

// ControllerCounters counts events of a Controller.
type ControllerCounters struct {
	Results  uint64 // from the agent
	Stale    uint64 // results for flows that have ended
	Silences uint64 // times that the fallback began
	Returns  uint64 // times that the agent resumed
}

// NewController returns a Controller without flows.
func NewController(c ControllerConfig) (*Controller, error) {
	if c.Datapath == nil {
		return nil, fmt.Errorf("nicoffload: controller without a Datapath, want one")
	}
	if c.Silence == 0 {
		c.Silence = DefaultSilence
	}
	if c.Fallback == nil {
		c.Fallback = func(last cc.Decision) cc.Algorithm { return NewFallbackAIMD(last) }
	}
	return &Controller{config: c, path: c.Datapath, dirty: true}, nil
}

// NewSplit returns a Controller over a device, of which path and device are the two sides, and with
// an agent in this process. With split the agent is returned, for another core to poll; otherwise
// the Controller polls it. NewSplit sets the agent's Device and Adopt, and the Controller's
// Datapath, Handoff and Agent.
func NewSplit(path Datapath, device Device, agent AgentConfig, c ControllerConfig, split bool,
	now units.Time) (*Controller, *Agent, error) {
	handoff := NewHandoff()
	agent.Device, agent.Adopt = device, handoff.Adopt
	a, err := NewAgent(agent, now)
	if err != nil {
		return nil, nil, err
	}
	c.Datapath, c.Handoff, c.Agent = path, handoff, nil
	if !split {
		c.Agent = a
	}
	controller, err := NewController(c)
	if err != nil || !split {
		return controller, nil, err
	}
	return controller, a, nil
}

// NewShared returns a Controller with a soft NIC and an agent on the polling core, connected
// directly, or over a PCIe link if distance is not nil. The agent has the NIC's Aggregation.
func NewShared(nic Config, agent AgentConfig, distance *PCIe, now units.Time) (*Controller, error) {
	n, err := NewNIC(nic, now)
	if err != nil {
		return nil, err
	}
	var device Device = n
	if distance != nil {
		if device, err = NewDelayedDevice(n, *distance); err != nil {
			return nil, err
		}
	}
	agent.Aggregation = &nic.Aggregation
	// The agent cannot be silent.
	c, _, err := NewSplit(n, device, agent, ControllerConfig{Silence: -1}, false, now)
	return c, err
}

// NewLinked returns a Controller with a soft NIC, and an agent for another core to poll, connected
// by a Link. The agent has the NIC's Aggregation.
func NewLinked(nic Config, agent AgentConfig, c ControllerConfig, now units.Time) (*Controller,
	*Agent, error) {
	n, err := NewNIC(nic, now)
	if err != nil {
		return nil, nil, err
	}
	link := NewLink()
	side, err := link.NICSide(n)
	if err != nil {
		return nil, nil, err
	}
	host, err := link.Host()
	if err != nil {
		return nil, nil, err
	}
	agent.Aggregation = &nic.Aggregation
	return NewSplit(side, host, agent, c, true, now)
}

// Add implements cc.Controller. The algorithm belongs to the agent from then on.
func (c *Controller) Add(a cc.Algorithm, now units.Time) cc.Flow {
	c.last, c.dirty = now, true
	first := cc.Decision{Window: units.MiB}
	if s, ok := a.(cc.Starter); ok {
		first = s.Start(now)
	}
	var name cc.Flow
	if n := len(c.free); n > 0 {
		name = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		name = cc.Flow(len(c.flows))
		c.flows = append(c.flows, controllerFlow{handle: NewHandle(uint32(name), ^uint32(0))})
	}
	f := &c.flows[name]
	*f = controllerFlow{
		handle: NewHandle(uint32(name), f.handle.Generation()+1), live: true, changed: true,
		wants: a.Events(), decision: first, remote: first,
	}
	if c.config.Handoff != nil {
		c.config.Handoff.Put(f.handle, a, first)
	}
	c.path.Open(f.handle, first, now)
	if c.inFallback {
		c.startFallback(name, now)
	}
	return name
}

// Remove implements cc.Controller. The flow's number may be reused afterwards.
func (c *Controller) Remove(name cc.Flow) {
	f := &c.flows[name]
	if !f.live {
		return
	}
	c.dirty = true
	if c.inFallback {
		c.local.Remove(f.local)
	}
	c.path.Close(f.handle, c.last)
	*f = controllerFlow{handle: f.handle}
	c.free = append(c.free, name)
}

// Events implements cc.Controller.
func (c *Controller) Events(name cc.Flow) cc.EventSet { return c.flows[name].wants }

// Report implements cc.Controller: the NIC collects the event. Decisions take effect with a Poll.
func (c *Controller) Report(ev *cc.Event, now units.Time) {
	f := &c.flows[ev.Flow]
	if !f.live || !f.wants.Has(ev.Kind) {
		return
	}
	c.dirty = true
	c.path.Report(f.handle, ev, now)
	if c.inFallback {
		c.event = *ev
		c.event.Flow = f.local
		c.local.Report(&c.event, now)
		c.applyLocal(f)
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
	if now == c.last && !c.dirty { // again in the same round: messages since then wait for the next
		return c.next
	}
	c.last, c.dirty = now, false
	c.next = c.poll(now)
	return c.next
}

func (c *Controller) poll(now units.Time) units.Time {
	next := c.path.Poll(now)
	if c.config.Agent != nil {
		next = units.Earlier(next, c.config.Agent.Poll(now))
	}
	for c.path.Result(&c.result) {
		c.applyResult(&c.result)
	}
	if c.config.Silence < 0 {
		return next
	}
	return units.Earlier(next, c.checkSilence(now))
}

// silenceChecks is how often silence is checked within its duration. Each check may fetch cache
// lines from the agent's core.
const silenceChecks = 16

// checkSilence detects that the agent has become silent, and that it has resumed.
func (c *Controller) checkSilence(now units.Time) (next units.Time) {
	if !c.inFallback && now.Before(c.checkAt) {
		return c.checkAt
	}
	c.checkAt = now.Add(c.config.Silence / silenceChecks)
	silent := c.path.Silence(now)
	switch {
	case !c.inFallback && silent >= c.config.Silence:
		c.inFallback = true
		c.counters.Silences++
		for i := range c.flows {
			if c.flows[i].live {
				c.startFallback(cc.Flow(i), now)
			}
		}
	case c.inFallback && silent == 0:
		c.endFallback()
	}
	if !c.inFallback {
		if silent == 0 {
			return now.Add(units.Forever) // nothing to fetch; the next signal causes a Poll
		}
		return units.Earlier(c.checkAt, now.Add(c.config.Silence-silent))
	}
	next = c.local.Poll(now)
	for l, some := c.local.Changed(); some; l, some = c.local.Changed() {
		name := c.owners[l]
		c.applyLocal(&c.flows[name])
		c.notify(name)
	}
	return next
}

// startFallback starts the fallback for a flow, with the decision it has.
func (c *Controller) startFallback(name cc.Flow, now units.Time) {
	f := &c.flows[name]
	f.local = c.local.Add(c.config.Fallback(f.decision), now)
	for int(f.local) >= len(c.owners) {
		c.owners = append(c.owners, 0)
	}
	c.owners[f.local] = name
	c.applyLocal(f)
	c.notify(name)
}

// endFallback ends the fallback. The agent's latest decisions, which the agent assumes to be in
// force, apply again.
func (c *Controller) endFallback() {
	c.inFallback = false
	c.counters.Returns++
	for i := range c.flows {
		if f := &c.flows[i]; f.live {
			c.local.Remove(f.local)
			f.set(f.remote)
			c.notify(cc.Flow(i))
		}
	}
}

func (c *Controller) applyLocal(f *controllerFlow) {
	if d, changed := c.local.Decision(f.local); changed {
		f.set(d)
	}
}

func (c *Controller) applyResult(r *Result) {
	name := cc.Flow(r.Flow.Index())
	if int(name) >= len(c.flows) || !c.flows[name].live || c.flows[name].handle != r.Flow {
		c.counters.Stale++
		return
	}
	c.counters.Results++
	f := &c.flows[name]
	f.remote = r.Decision
	if !c.inFallback && f.set(r.Decision) {
		c.NoteChanged(name)
	}
}

func (f *controllerFlow) set(d cc.Decision) bool {
	if d == f.decision {
		return false
	}
	f.decision, f.changed = d, true
	return true
}

func (c *Controller) notify(name cc.Flow) {
	if c.flows[name].changed {
		c.NoteChanged(name)
	}
}

// Snapshot implements cc.Observer. It returns the full state of an algorithm on this core, and the
// latest decision of one on another core.
func (c *Controller) Snapshot(name cc.Flow) cc.Snapshot {
	f := &c.flows[name]
	if c.inFallback && f.live {
		return c.local.Snapshot(f.local)
	}
	if c.config.Agent != nil {
		if s, ok := c.config.Agent.Snapshot(f.handle); ok {
			return s
		}
	}
	return cc.Snapshot{Window: f.decision.Window, Rate: f.decision.Rate}
}

// Agent returns the agent that shares the polling core, or nil.
func (c *Controller) Agent() *Agent { return c.config.Agent }

// InFallback reports whether the fallback controls flows because the agent is silent.
func (c *Controller) InFallback() bool { return c.inFallback }

// Counters returns the counters.
func (c *Controller) Counters() ControllerCounters { return c.counters }
