package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// ControllerConfig is what a Controller is made with.
type ControllerConfig struct {
	Datapath Datapath
	// Roster is where the agent gets the algorithms from; nil when it makes them itself, in another
	// process.
	Roster *Roster
	// Agent, if it is not nil, is polled by the Controller: it shares the polling core.
	Agent *Agent
	// Silence is for how long messages may wait without the agent fetching any: after that flows
	// are controlled in line until it does. 0 is DefaultSilence, less than 0 is for ever.
	Silence units.Duration
	// Fallback makes the algorithm by which a flow is controlled meanwhile, from the decision it
	// has; nil is NewCaution.
	Fallback func(last cc.Decision) cc.Algorithm
}

// DefaultSilence is many times what an agent that lives takes, a scheduler's time slice included.
const DefaultSilence = 10 * units.Millisecond

// Controller is a cc.Controller whose algorithms run in an agent behind a device. It belongs to the
// polling core.
type Controller struct {
	config ControllerConfig
	path   Datapath
	flows  []controlled
	free   []cc.Flow
	cc.Late
	local    cc.Inline // while the agent is silent
	owners   []cc.Flow // of local's flows
	alone    bool
	listenAt units.Time
	event    cc.Event
	result   Result
	last     units.Time // that was told
	news     bool       // something happened since the last Poll
	next     units.Time // what it answered

	counters ControllerCounters
}

// controlled is one flow.
type controlled struct {
	handle   Handle
	live     bool
	changed  bool
	wants    cc.EventSet
	decision cc.Decision // what the transport is told
	remote   cc.Decision // the agent's last
	local    cc.Flow
}

// ControllerCounters is what happened to a Controller.
type ControllerCounters struct {
	Results  uint64 // of the agent
	Stale    uint64 // results for flows that ended
	Silences uint64 // times that flows were controlled in line
	Returns  uint64 // times that the agent was back
}

// NewController makes one.
func NewController(c ControllerConfig) (*Controller, error) {
	if c.Datapath == nil {
		return nil, fmt.Errorf("nicoffload: a controller needs a Datapath")
	}
	if c.Silence == 0 {
		c.Silence = DefaultSilence
	}
	if c.Fallback == nil {
		c.Fallback = func(last cc.Decision) cc.Algorithm { return NewCaution(last) }
	}
	return &Controller{config: c, path: c.Datapath, news: true}, nil
}

// NewOver makes a Controller over a device, of which path and device are the two sides, and an
// agent of this process. With split the agent is answered, for another core to poll; else the
// Controller polls it. The agent's Device and Adopt, and the Controller's Datapath, Roster and
// Agent, are set here.
func NewOver(path Datapath, device Device, agent AgentConfig, c ControllerConfig, split bool,
	now units.Time) (*Controller, *Agent, error) {
	roster := NewRoster()
	agent.Device, agent.Adopt = device, roster.Adopt
	a, err := NewAgent(agent, now)
	if err != nil {
		return nil, nil, err
	}
	c.Datapath, c.Roster, c.Agent = path, roster, nil
	if !split {
		c.Agent = a
	}
	controller, err := NewController(c)
	if err != nil || !split {
		return controller, nil, err
	}
	return controller, a, nil
}

// NewShared makes a Controller with all behind it on the polling core: a soft NIC, an agent, and
// between them nothing, or some distance if it is not nil. The agent has the NIC's Aggregation.
func NewShared(nic Config, agent AgentConfig, distance *PCIe, now units.Time) (*Controller, error) {
	n, err := NewNIC(nic, now)
	if err != nil {
		return nil, err
	}
	var device Device = n
	if distance != nil {
		if device, err = NewDistant(n, *distance); err != nil {
			return nil, err
		}
	}
	agent.Aggregation = &nic.Aggregation
	// it cannot be silent
	c, _, err := NewOver(n, device, agent, ControllerConfig{Silence: -1}, false, now)
	return c, err
}

// NewSplit makes a Controller and its agent, for another core to poll, with a Link between them.
// The agent has the NIC's Aggregation.
func NewSplit(nic Config, agent AgentConfig, c ControllerConfig, now units.Time) (*Controller,
	*Agent, error) {
	n, err := NewNIC(nic, now)
	if err != nil {
		return nil, nil, err
	}
	link := NewLink()
	board, err := link.Board(n)
	if err != nil {
		return nil, nil, err
	}
	host, err := link.Host()
	if err != nil {
		return nil, nil, err
	}
	agent.Aggregation = &nic.Aggregation
	return NewOver(board, host, agent, c, true, now)
}

// Add implements cc.Controller. The algorithm is the agent's from then on.
func (c *Controller) Add(a cc.Algorithm, now units.Time) cc.Flow {
	c.last, c.news = now, true
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
		c.flows = append(c.flows, controlled{handle: NewHandle(uint32(name), ^uint32(0))})
	}
	f := &c.flows[name]
	*f = controlled{
		handle: NewHandle(uint32(name), f.handle.Life()+1), live: true, changed: true,
		wants: a.Events(), decision: first, remote: first,
	}
	if c.config.Roster != nil {
		c.config.Roster.Put(f.handle, a, first)
	}
	c.path.Open(f.handle, first, now)
	if c.alone {
		c.takeOver(name, now)
	}
	return name
}

// Remove implements cc.Controller. The name may be another flow's afterwards.
func (c *Controller) Remove(name cc.Flow) {
	f := &c.flows[name]
	if !f.live {
		return
	}
	c.news = true
	if c.alone {
		c.local.Remove(f.local)
	}
	c.path.Close(f.handle, c.last)
	*f = controlled{handle: f.handle}
	c.free = append(c.free, name)
}

// Wants implements cc.Controller.
func (c *Controller) Wants(name cc.Flow) cc.EventSet { return c.flows[name].wants }

// Report implements cc.Controller: the NIC collects it. What is decided shows after a Poll.
func (c *Controller) Report(ev *cc.Event, now units.Time) {
	f := &c.flows[ev.Flow]
	if !f.live || !f.wants.Has(ev.Kind) {
		return
	}
	c.news = true
	c.path.Report(f.handle, ev, now)
	if c.alone {
		c.event = *ev
		c.event.Flow = f.local
		c.local.Report(&c.event, now)
		c.hearLocal(f)
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
	if now == c.last && !c.news { // again in the same round: what came meanwhile waits for the next
		return c.next
	}
	c.last, c.news = now, false
	c.next = c.poll(now)
	return c.next
}

func (c *Controller) poll(now units.Time) units.Time {
	next := c.path.Poll(now)
	if c.config.Agent != nil {
		next = units.Earlier(next, c.config.Agent.Poll(now))
	}
	for c.path.Result(&c.result) {
		c.hear(&c.result)
	}
	if c.config.Silence < 0 {
		return next
	}
	return units.Earlier(next, c.listen(now))
}

// listenings is how often in its time a silence is listened to: the agent's cache lines are far
// away.
const listenings = 16

// listen notices that the agent is silent, and that it is back.
func (c *Controller) listen(now units.Time) (next units.Time) {
	if !c.alone && now.Before(c.listenAt) {
		return c.listenAt
	}
	c.listenAt = now.Add(c.config.Silence / listenings)
	silent := c.path.Silence(now)
	switch {
	case !c.alone && silent >= c.config.Silence:
		c.alone = true
		c.counters.Silences++
		for i := range c.flows {
			if c.flows[i].live {
				c.takeOver(cc.Flow(i), now)
			}
		}
	case c.alone && silent == 0:
		c.giveBack()
	}
	if !c.alone {
		if silent == 0 {
			return now.Add(units.Forever) // there is nothing to fetch: whoever changes that polls
		}
		return units.Earlier(c.listenAt, now.Add(c.config.Silence-silent))
	}
	next = c.local.Poll(now)
	for l, some := c.local.Changed(); some; l, some = c.local.Changed() {
		name := c.owners[l]
		c.hearLocal(&c.flows[name])
		c.tellLate(name)
	}
	return next
}

// takeOver controls a flow in line, beginning with the decision it has.
func (c *Controller) takeOver(name cc.Flow, now units.Time) {
	f := &c.flows[name]
	f.local = c.local.Add(c.config.Fallback(f.decision), now)
	for int(f.local) >= len(c.owners) {
		c.owners = append(c.owners, 0)
	}
	c.owners[f.local] = name
	c.hearLocal(f)
	c.tellLate(name)
}

// giveBack lets the agent decide again: what it has decided last is what it thinks holds.
func (c *Controller) giveBack() {
	c.alone = false
	c.counters.Returns++
	for i := range c.flows {
		if f := &c.flows[i]; f.live {
			c.local.Remove(f.local)
			f.set(f.remote)
			c.tellLate(cc.Flow(i))
		}
	}
}

func (c *Controller) hearLocal(f *controlled) {
	if d, changed := c.local.Decision(f.local); changed {
		f.set(d)
	}
}

func (c *Controller) hear(r *Result) {
	name := cc.Flow(r.Flow.Index())
	if int(name) >= len(c.flows) || !c.flows[name].live || c.flows[name].handle != r.Flow {
		c.counters.Stale++
		return
	}
	c.counters.Results++
	f := &c.flows[name]
	f.remote = r.Decision
	if !c.alone && f.set(r.Decision) {
		c.Tell(name)
	}
}

func (f *controlled) set(d cc.Decision) bool {
	if d == f.decision {
		return false
	}
	f.decision, f.changed = d, true
	return true
}

func (c *Controller) tellLate(name cc.Flow) {
	if c.flows[name].changed {
		c.Tell(name)
	}
}

// Snapshot implements cc.Observer: all of an algorithm that runs on this core, of another one what
// it decided last.
func (c *Controller) Snapshot(name cc.Flow) cc.Snapshot {
	f := &c.flows[name]
	if c.alone && f.live {
		return c.local.Snapshot(f.local)
	}
	if c.config.Agent != nil {
		if s, ok := c.config.Agent.Snapshot(f.handle); ok {
			return s
		}
	}
	return cc.Snapshot{Window: f.decision.Window, Rate: f.decision.Rate}
}

// Agent answers the agent that shares the polling core, nil when none does.
func (c *Controller) Agent() *Agent { return c.config.Agent }

// Alone says whether flows are controlled in line, for the agent is silent.
func (c *Controller) Alone() bool { return c.alone }

// Counters answers what happened.
func (c *Controller) Counters() ControllerCounters { return c.counters }
