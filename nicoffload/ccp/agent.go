package ccp

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// Agent is CCP's agent: it converts reports into events for algorithms of cc, and sends updates. It
// belongs to one core.
type Agent struct {
	config    Config
	program   *Program
	reports   *nicoffload.Consumer
	replies   *nicoffload.Producer
	handoff   *nicoffload.Handoff
	inline    cc.Inline
	flows     []agentFlow
	handles   []nicoffload.Handle
	msg       Message
	in, out   []byte
	event     cc.Event
	updates   [2]Update
	busyUntil units.Time // when the current report will have been handled
	serving   bool       // busy is valid

	counters AgentCounters
}

type agentFlow struct {
	handle nicoffload.Handle
	name   cc.Flow
	live   bool
	psn    uint32 // number of acknowledged packets, since reports have no sequence numbers
}

// AgentCounters counts events of an Agent.
type AgentCounters struct {
	Reports   uint64
	Events    uint64
	Updates   uint64
	Dropped   uint64 // updates without room in the ring
	Stale     uint64 // reports of nonexistent flows
	Malformed uint64
}

// NewAgent returns an agent for any datapath at the other ends of the rings. The datapath puts the
// algorithms of flows into the handoff before it announces the flows.
func NewAgent(c Config, reports *nicoffload.Consumer, replies *nicoffload.Producer,
	handoff *nicoffload.Handoff) (*Agent, error) {
	p, err := c.compiled()
	if err != nil {
		return nil, err
	}
	return &Agent{config: c, program: p, reports: reports, replies: replies, handoff: handoff,
		in: make([]byte, MaxMessage+nicoffload.Slot)}, nil
}

// Poll handles reports, as many as the service time allows, and at most as many as were waiting
// when it began. It returns when it next has something to do.
func (a *Agent) Poll(now units.Time) units.Time {
	next := units.Earlier(a.inline.Poll(now), now.Add(units.Forever))
	for name, some := a.inline.Changed(); some; name, some = a.inline.Changed() {
		a.update(&a.flows[a.handles[name].Index()])
	}
	for most := a.reports.Waiting(); most > 0 && a.reports.Waiting() > 0; most-- {
		if a.config.Service > 0 {
			if !a.serving { // it was idle: the service begins now
				a.busyUntil, a.serving = now.Add(a.config.Service), true
			}
			if a.busyUntil.After(now) {
				return units.Earlier(next, a.busyUntil)
			}
			a.busyUntil = a.busyUntil.Add(a.config.Service)
		}
		if _, ok := pull(a.reports, &a.msg, a.in); !ok {
			a.counters.Malformed++
			continue
		}
		a.handle(now)
	}
	a.serving = false
	return next
}

func (a *Agent) handle(now units.Time) {
	m := &a.msg
	h := nicoffload.Handle(m.Flow)
	switch m.Kind {
	case Ready:
		a.msg = Message{Kind: Install, Program: a.program.ID, Expressions: a.program.Expressions,
			Instructions: a.program.Instructions}
		a.reply()
	case Create:
		a.begin(h, now)
	case Measure:
		f := a.find(h)
		switch {
		case f == nil:
			a.counters.Stale++
		case m.Program == 0 && len(m.Fields) == 0:
			a.inline.Remove(f.name)
			f.live = false
			// Of another program: expected right after a change.
		case m.Program != a.program.ID || len(m.Fields) != reportFields:
			a.counters.Stale++
		default:
			a.report(f, m.Fields, now)
		}
	default:
		a.counters.Malformed++
	}
}

func (a *Agent) find(h nicoffload.Handle) *agentFlow {
	if i := int(h.Index()); i < len(a.flows) && a.flows[i].live && a.flows[i].handle == h {
		return &a.flows[i]
	}
	return nil
}

func (a *Agent) begin(h nicoffload.Handle, now units.Time) {
	for int(h.Index()) >= len(a.flows) {
		a.flows = append(a.flows, agentFlow{})
	}
	f := &a.flows[h.Index()]
	if f.live {
		if f.handle == h {
			return
		}
		a.inline.Remove(f.name)
		f.live = false
	}
	algorithm, err := a.handoff.Adopt(h)
	if err != nil {
		a.counters.Stale++
		return
	}
	*f = agentFlow{handle: h, live: true, name: a.inline.Add(algorithm, now)}
	for int(f.name) >= len(a.handles) {
		a.handles = append(a.handles, 0)
	}
	a.handles[f.name] = h
	a.inline.Decision(f.name) // known to the datapath
	a.msg.Kind, a.msg.Flow, a.msg.Program, a.msg.Updates = ChangeProg, uint32(h), a.program.ID, nil
	a.reply()
}

// report converts a report into events: first losses, then acknowledgements.
func (a *Agent) report(f *agentFlow, r []uint64, now units.Time) {
	a.counters.Reports++
	const most = 1 << 40 // bound of each value, since reports are not trusted
	for i := range r {
		r[i] = min(r[i], most)
	}
	packets := uint32(min(r[reportPackets], 1<<23))
	f.psn = (f.psn + packets) & (1<<24 - 1)
	state := cc.Event{Flow: f.name, PSN: f.psn,
		SndNxt:   (f.psn + uint32(r[reportFlying])) & (1<<24 - 1),
		InFlight: units.Bytes(r[reportFlight]), Left: units.Bytes(r[reportPending])}
	if r[reportTimeout] > 0 {
		a.dispatch(state, cc.RTO, now)
	}
	if r[reportLost] > 0 {
		a.dispatch(state, cc.OOO, now)
	}
	wants := a.inline.Events(f.name)
	switch ecn := int(min(r[reportECN], 1<<23)); {
	case packets == 0:
		if ecn > 0 {
			a.dispatch(state, cc.CNP, now)
		}
	default:
		state.Packets, state.Bytes, state.Marked = int(packets), units.Bytes(r[reportBytes]),
			min(ecn, int(packets))
		kind := cc.ACK
		if rtt := r[reportRTT]; rtt < infinity && wants.Has(cc.RTT) {
			kind, state.Delay = cc.RTT, units.Duration(rtt)*units.Microsecond
		} else if ecn > 0 && wants.Has(cc.ECN) {
			kind = cc.ECN
		}
		a.dispatch(state, kind, now)
	}
	a.update(f)
}

func (a *Agent) dispatch(ev cc.Event, kind cc.Kind, now units.Time) {
	a.counters.Events++
	a.event = ev
	a.event.Kind = kind
	a.inline.Report(&a.event, now)
}

// update sends a changed decision to the datapath. CCP supports neither Hold nor ProbeAt: a flow on
// hold gets a window of one byte, so that it sends one packet at a time.
func (a *Agent) update(f *agentFlow) {
	d, changed := a.inline.Decision(f.name)
	if !changed {
		return
	}
	if d.Hold {
		d.Window = 1
	}
	a.updates = [2]Update{{Register{Implicit, Cwnd}, max(1, positive(d.Window))},
		{Register{Implicit, Rate}, rateOf(d.Rate)}}
	a.msg.Kind, a.msg.Flow, a.msg.Updates = UpdateFields, uint32(f.handle), a.updates[:]
	a.reply()
}

func (a *Agent) reply() {
	if push(a.replies, &a.msg, &a.out) {
		a.counters.Updates++
	} else {
		a.counters.Dropped++
	}
}

// Counters returns the counters.
func (a *Agent) Counters() AgentCounters { return a.counters }
