package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// AgentConfig configures an Agent.
type AgentConfig struct {
	Device Device
	// Adopt returns the algorithm for a flow that began, one of cc's, unchanged. After an error the
	// flow keeps the decision it has.
	Adopt func(f Handle) (cc.Algorithm, error)
	// Bind returns the Binding for an algorithm; nil means DefaultBinding.
	Bind func(a cc.Algorithm) Binding
	// Aggregation is set at the device initially; nil means DefaultAggregation.
	Aggregation *Aggregation
	// MinRate and MaxRate bound the decided rates; 0 means TAURUS's 100 kb/s and 400 Gb/s.
	MinRate, MaxRate units.BitRate
	// Batch is the maximum number of bytes fetched at once; 0 means twice the size of a ring.
	Batch int
	// Unfiltered disables the filters, so that every decision is written, to measure their effect.
	Unfiltered bool
}

// The bounds of rates that TAURUS gives as an example (section 3.5).
const (
	DefaultMinRate = 100 * units.Kbps
	DefaultMaxRate = 400 * units.Gbps
)

// Agent is TAURUS's software part: it fetches messages, samples the host, runs the algorithms, and
// writes their filtered decisions to the NIC. It belongs to one core, which need not be the one
// that polls the network.
type Agent struct {
	config  AgentConfig
	device  Device
	delayed *DelayedDevice // the device, if it is delayed
	inline  cc.Inline      // runs the algorithms and their timers

	flows   []agentFlow // by index of the handle
	handles []Handle    // by cc.Inline's flow
	msg     messageHandler
	// eventTime is the time up to which all events have been dispatched: the time of timers and
	// samples
	eventTime units.Time
	host      sampling
	out       []Result
	unwritten []uint32 // flows whose newest decision was not accepted by the device

	counters AgentCounters
}

// agentFlow is the agent's state of a flow.
type agentFlow struct {
	handle    Handle
	name      cc.Flow
	algorithm cc.Algorithm
	live      bool
	bindsHost bool       // binds HOST
	known     bool       // written is valid
	waiting   bool       // the flow is in Agent.unwritten
	clock     units.Time // time of the newest event
	rtt       units.Time // time of the newest sample
	written   cc.Decision
}

// AgentCounters counts events of an Agent. All values only increase.
type AgentCounters struct {
	Messages uint64
	Events   uint64 // dispatched to an algorithm
	Results  uint64 // written
	Samples  uint64 // of the host

	Clamped    uint64              // decisions out of bounds
	Duplicates uint64              // decisions without a change
	Stretched  uint64              // times that the periods were doubled
	Evicted    [len(typeOf)]uint64 // raw messages discarded, by cc.Kind

	Malformed uint64 // messages that could not be decoded; the rest of the batch is discarded
	Unknown   uint64 // messages of nonexistent flows, or of flows that have ended
	Unbound   uint64 // messages of events that the algorithm does not use
	Backwards uint64 // messages with implausible times
	Late      uint64 // samples older than the newest of their flow
	Unparsed  uint64 // custom segments without a parser, or that the parser rejected
	Refused   uint64 // flows that got no algorithm
	Busy      uint64 // times that the device did not accept everything
}

// NewAgent returns an agent whose time begins at now.
func NewAgent(c AgentConfig, now units.Time) (*Agent, error) {
	if c.Device == nil || c.Adopt == nil {
		return nil, fmt.Errorf("nicoffload: agent without a Device or Adopt, want both")
	}
	if c.MinRate == 0 {
		c.MinRate = DefaultMinRate
	}
	if c.MaxRate == 0 {
		c.MaxRate = DefaultMaxRate
	}
	if c.MinRate < 0 || c.MaxRate < c.MinRate {
		return nil, fmt.Errorf("nicoffload: agent with rates from %v to %v, want an ascending "+
			"range", c.MinRate, c.MaxRate)
	}
	if c.Bind == nil {
		c.Bind = DefaultBinding
	}
	if c.Batch == 0 {
		c.Batch = 2 * UpSlots * Slot
	}
	if c.Batch < MaxMessage {
		return nil, fmt.Errorf("nicoffload: batch of %d bytes, want at least %d", c.Batch,
			MaxMessage)
	}
	a := &Agent{config: c, device: c.Device, eventTime: now, out: make([]Result, 0, 256)}
	a.delayed, _ = c.Device.(*DelayedDevice)
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

// DefaultBinding binds the events of an algorithm. For an algorithm with POST events, each
// transmitted packet is reported raw.
func DefaultBinding(a cc.Algorithm) Binding {
	// TIMER is always included, since 0 would mean all events.
	b := Binding{Events: a.Events() | cc.Events(cc.TIMER)}
	if a.Events().Has(cc.POST) {
		b.Raw = cc.Events(cc.TX)
	}
	return b
}

// Poll runs one round: it fetches, decides and writes. It returns when it next has something to do
// if no message comes.
func (a *Agent) Poll(now units.Time) units.Time {
	if a.delayed != nil {
		a.delayed.Advance(now)
	}
	used, size := a.device.Backlog()
	a.msg.applyBackpressure(a, used, size)
	if n := min(a.device.Fetch(a.msg.batch), len(a.msg.batch)); n > 0 { // drivers are not trusted
		a.handle(a.msg.batch[:n], now, used > size-MaxMessage/Slot)
	}
	if t := now.Add(-a.msg.lag); t.After(a.eventTime) {
		a.eventTime = t
	}
	next := a.sample(now)
	next = units.Earlier(next, a.inline.Poll(a.eventTime).Add(a.msg.lag))
	for name, some := a.inline.Changed(); some; name, some = a.inline.Changed() {
		a.filterDecision(&a.flows[a.handles[name].Index()])
	}
	a.write()
	if a.delayed != nil {
		next = units.Earlier(next, a.delayed.Advance(now))
	}
	return next
}

// begin adds a flow.
func (a *Agent) begin(h Handle, now units.Time) {
	if f := a.find(h); f != nil { // the device has restarted
		a.bind(f)
		a.msg.pressure.pending = true
		a.retryLater(f)
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
	*f = agentFlow{handle: h, live: true, clock: now, rtt: now, waiting: f.waiting,
		algorithm: algorithm}
	f.name = a.inline.Add(algorithm, now)
	f.bindsHost = algorithm.Events().Has(cc.HOST)
	for int(f.name) >= len(a.handles) {
		a.handles = append(a.handles, 0)
	}
	a.handles[f.name] = h
	a.bind(f)
	a.filterDecision(f)
}

// bind configures the NIC for a flow's algorithm.
func (a *Agent) bind(f *agentFlow) {
	if a.device.Configure(f.handle, a.config.Bind(f.algorithm)) != nil {
		a.counters.Busy++ // the device continues to report more than necessary
	}
}

func (a *Agent) end(f *agentFlow) {
	a.inline.Remove(f.name)
	*f = agentFlow{handle: f.handle, waiting: f.waiting}
}

func (a *Agent) find(h Handle) *agentFlow {
	if i := int(h.Index()); i < len(a.flows) {
		if f := &a.flows[i]; f.live && f.handle == h {
			return f
		}
	}
	return nil
}

// dispatch passes an event of the time now to a flow's algorithm.
func (a *Agent) dispatch(f *agentFlow, ev *cc.Event, now units.Time) {
	if now.Before(f.clock) {
		now = f.clock
	}
	f.clock = now
	if !a.inline.Events(f.name).Has(ev.Kind) {
		a.counters.Unbound++
		return
	}
	a.counters.Events++
	ev.Flow = f.name
	a.inline.Report(ev, now)
	a.filterDecision(f)
}

// Probe requests a probe of a flow from the NIC.
func (a *Agent) Probe(h Handle) error { return a.device.Probe(h) }

// Snapshot returns the state of a flow's algorithm, and false for a nonexistent flow.
func (a *Agent) Snapshot(h Handle) (cc.Snapshot, bool) {
	if f := a.find(h); f != nil {
		return a.inline.Snapshot(f.name), true
	}
	return cc.Snapshot{}, false
}

// Counters returns the counters.
func (a *Agent) Counters() AgentCounters { return a.counters }

// DeviceCounters returns the counters of its device.
func (a *Agent) DeviceCounters() Counters { return a.device.Counters() }

// Activity returns the number of messages: a Poll that did not change it found none.
func (a *Agent) Activity() uint64 { return a.counters.Messages }

// Stretch returns the factor by which periods are lengthened, 1 if they are not.
func (a *Agent) Stretch() int { return a.msg.pressure.stretch }

// Teardown removes every flow; the NIC keeps its decisions (TAURUS appendix A).
func (a *Agent) Teardown() {
	for i := range a.flows {
		if f := &a.flows[i]; f.live {
			a.end(f)
		}
	}
	a.out, a.unwritten = a.out[:0], a.unwritten[:0]
}
