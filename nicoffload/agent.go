package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// AgentConfig is what an Agent is made with.
type AgentConfig struct {
	Device Device
	// Adopt answers the algorithm of a flow that began: one of cc's, unchanged. An error leaves the
	// flow with the decision it has.
	Adopt func(f Handle) (cc.Algorithm, error)
	// Bind says what else than its events an algorithm wants of the NIC; nil is DefaultBinding.
	Bind func(a cc.Algorithm) Binding
	// Aggregation is asked of the device at the beginning; nil is DefaultAggregation.
	Aggregation *Aggregation
	// MinRate and MaxRate bound what is decided; 0 are TAURUS's 100 kb/s and 400 Gb/s.
	MinRate, MaxRate units.BitRate
	// Batch is how many bytes of messages are fetched at once; 0 is all that a ring can hold.
	Batch int
	// Unfiltered writes every decision, changed or not, within bounds or not: for measurements of
	// what the filters are worth.
	Unfiltered bool
}

// The bounds that TAURUS gives as its example (section 3.5).
const (
	DefaultMinRate = 100 * units.Kbps
	DefaultMaxRate = 400 * units.Gbps
)

// Agent is TAURUS's software part: it fetches messages, collects what the NIC cannot, lets the
// algorithms decide, and writes to the NIC what they changed. It belongs to one core, which need
// not be the one that polls the network.
type Agent struct {
	config  AgentConfig
	device  Device
	distant *Distant  // the device, if it is one
	inline  cc.Inline // runs the algorithms, and wakes them

	flows []agentFlow // by index of the handle
	names []Handle    // of cc.Inline's flows
	msg   messages
	// until when what happened has been heard of: the time that timers and samples have
	heard units.Time
	host  sampling
	out   []Result
	owed  []uint32 // flows whose newest decision the device did not take

	counters AgentCounters
}

// agentFlow is what the agent knows of a flow.
type agentFlow struct {
	handle    Handle
	name      cc.Flow
	algorithm cc.Algorithm
	live      bool
	hears     bool       // samples of the host
	known     bool       // written is what the device has
	owes      bool       // it is in owed
	clock     units.Time // the newest event's
	rtt       units.Time // the newest sample's
	written   cc.Decision
}

// AgentCounters is what went through an Agent, and what went wrong. All count up.
type AgentCounters struct {
	Messages uint64
	Events   uint64 // dispatched to an algorithm
	Results  uint64 // written
	Samples  uint64 // of the host

	Clamped    uint64              // decisions out of bounds
	Duplicates uint64              // decisions that changed nothing
	Stretched  uint64              // times that periods were made longer
	Evicted    [len(typeOf)]uint64 // raw messages that gave way, by cc.Kind

	Malformed uint64 // messages that could not be read, with all behind them
	Unknown   uint64 // messages of a flow that there is not, or not any more
	Unbound   uint64 // messages that the algorithm did not ask for
	Backwards uint64 // messages whose times cannot be
	Late      uint64 // samples older than the newest of their flow
	Unparsed  uint64 // custom segments that nobody could read
	Refused   uint64 // flows that got no algorithm
	Busy      uint64 // times that the device did not take all
}

// NewAgent makes one at a time.
func NewAgent(c AgentConfig, now units.Time) (*Agent, error) {
	if c.Device == nil || c.Adopt == nil {
		return nil, fmt.Errorf("nicoffload: an agent needs a Device, and Adopt")
	}
	if c.MinRate == 0 {
		c.MinRate = DefaultMinRate
	}
	if c.MaxRate == 0 {
		c.MaxRate = DefaultMaxRate
	}
	if c.MinRate < 0 || c.MaxRate < c.MinRate {
		return nil, fmt.Errorf("nicoffload: an agent for rates from %v to %v", c.MinRate, c.MaxRate)
	}
	if c.Bind == nil {
		c.Bind = DefaultBinding
	}
	if c.Batch == 0 {
		c.Batch = 2 * UpSlots * Slot
	}
	if c.Batch < MaxMessage {
		return nil, fmt.Errorf("nicoffload: a batch of %d bytes, a message may have %d", c.Batch,
			MaxMessage)
	}
	a := &Agent{config: c, device: c.Device, heard: now, out: make([]Result, 0, 256)}
	a.distant, _ = c.Device.(*Distant)
	a.msg.init(c.Batch)
	a.msg.pressure.configured = DefaultAggregation
	if c.Aggregation != nil {
		a.msg.pressure.configured = *c.Aggregation
	}
	if err := c.Device.Aggregate(a.msg.pressure.configured); err != nil {
		return nil, err
	}
	return a, nil
}

// DefaultBinding binds the events of an algorithm. One that wants to know when a flow begins to
// send wants to know of each packet that leaves, too.
func DefaultBinding(a cc.Algorithm) Binding {
	// which the agent makes: so that none is not all
	b := Binding{Events: a.Events() | cc.Events(cc.TIMER)}
	if a.Events().Has(cc.POST) {
		b.Raw = cc.Events(cc.TX)
	}
	return b
}

// Poll does one round: fetches, decides, writes. It answers when it next has something to do though
// no message comes.
func (a *Agent) Poll(now units.Time) units.Time {
	if a.distant != nil {
		a.distant.Advance(now)
	}
	used, size := a.device.Backlog()
	a.msg.backpressure(a, used, size)
	if n := min(a.device.Fetch(a.msg.batch), len(a.msg.batch)); n > 0 { // a driver is not trusted
		a.handle(a.msg.batch[:n], now, used > size-MaxMessage/Slot)
	}
	if heard := now.Add(-a.msg.lag); heard.After(a.heard) {
		a.heard = heard
	}
	next := a.sample(now)
	next = units.Earlier(next, a.inline.Poll(a.heard).Add(a.msg.lag))
	for name, some := a.inline.Changed(); some; name, some = a.inline.Changed() {
		a.decided(&a.flows[a.names[name].Index()])
	}
	a.write()
	if a.distant != nil {
		next = units.Earlier(next, a.distant.Advance(now))
	}
	return next
}

// begin takes over a flow.
func (a *Agent) begin(h Handle, now units.Time) {
	if f := a.find(h); f != nil { // the device lost what it knew
		a.bind(f)
		a.msg.pressure.owed = true
		a.owe(f)
		return
	}
	i := int(h.Index())
	if i < len(a.flows) && a.flows[i].live {
		a.end(&a.flows[i])
	}
	algorithm, err := a.config.Adopt(h)
	if err != nil || algorithm == nil {
		a.counters.Refused++
		return
	}
	for i >= len(a.flows) {
		a.flows = append(a.flows, agentFlow{})
	}
	f := &a.flows[i]
	*f = agentFlow{handle: h, live: true, clock: now, rtt: now, owes: f.owes, algorithm: algorithm}
	f.name = a.inline.Add(algorithm, now)
	f.hears = algorithm.Events().Has(cc.HOST)
	for int(f.name) >= len(a.names) {
		a.names = append(a.names, 0)
	}
	a.names[f.name] = h
	a.bind(f)
	a.decided(f)
}

// bind tells the NIC what a flow's algorithm wants.
func (a *Agent) bind(f *agentFlow) {
	if a.device.Configure(f.handle, a.config.Bind(f.algorithm)) != nil {
		a.counters.Busy++ // it reports more than it need
	}
}

func (a *Agent) end(f *agentFlow) {
	a.inline.Remove(f.name)
	*f = agentFlow{handle: f.handle, owes: f.owes}
}

func (a *Agent) find(h Handle) *agentFlow {
	if i := int(h.Index()); i < len(a.flows) {
		if f := &a.flows[i]; f.live && f.handle == h {
			return f
		}
	}
	return nil
}

// dispatch lets a flow's algorithm hear an event of a moment.
func (a *Agent) dispatch(f *agentFlow, ev *cc.Event, now units.Time) {
	if now.Before(f.clock) {
		now = f.clock
	}
	f.clock = now
	if !a.inline.Wants(f.name).Has(ev.Kind) {
		a.counters.Unbound++
		return
	}
	a.counters.Events++
	ev.Flow = f.name
	a.inline.Report(ev, now)
	a.decided(f)
}

// Probe asks the NIC for a probe of a flow.
func (a *Agent) Probe(h Handle) error { return a.device.Probe(h) }

// Snapshot shows the state of a flow's algorithm, and false of a flow that there is not.
func (a *Agent) Snapshot(h Handle) (cc.Snapshot, bool) {
	if f := a.find(h); f != nil {
		return a.inline.Snapshot(f.name), true
	}
	return cc.Snapshot{}, false
}

// Counters answers what went through.
func (a *Agent) Counters() AgentCounters { return a.counters }

// Activity counts messages: a Poll that did not change it found none.
func (a *Agent) Activity() uint64 { return a.counters.Messages }

// Stretch answers by how much periods are longer than configured, 1 when they are not.
func (a *Agent) Stretch() int { return a.msg.pressure.stretch }

// Teardown forgets every flow: the NIC keeps the decisions it has (TAURUS appendix A).
func (a *Agent) Teardown() {
	for i := range a.flows {
		if f := &a.flows[i]; f.live {
			a.end(f)
		}
	}
	a.out, a.owed = a.out[:0], a.owed[:0]
}
