package ccp

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// Agent is CCP's agent: it makes events of reports, lets algorithms of cc decide, and sends
// updates. It belongs to one core.
type Agent struct {
	config  Config
	program *Program
	reports *nicoffload.Consumer
	replies *nicoffload.Producer
	roster  *nicoffload.Roster
	inline  cc.Inline
	flows   []agentFlow
	names   []nicoffload.Handle
	msg     Message
	in, out []byte
	event   cc.Event
	updates [2]Update
	busy    units.Time // until then, with what it has
	begun   bool

	counters AgentCounters
}

type agentFlow struct {
	handle nicoffload.Handle
	name   cc.Flow
	live   bool
	psn    uint32 // packets acknowledged, for there are no sequence numbers
}

// AgentCounters is what went through an Agent.
type AgentCounters struct {
	Reports   uint64
	Events    uint64
	Updates   uint64
	Dropped   uint64 // updates that there was no room for
	Stale     uint64 // reports of flows that there are not
	Malformed uint64
}

// NewAgent makes an agent for a datapath that is whose ever: it is at the other ends of the rings,
// and puts the algorithms of flows into the roster before it tells of them.
func NewAgent(c Config, reports *nicoffload.Consumer, replies *nicoffload.Producer,
	roster *nicoffload.Roster) (*Agent, error) {
	p, err := c.compiled()
	if err != nil {
		return nil, err
	}
	return &Agent{config: c, program: p, reports: reports, replies: replies, roster: roster,
		in: make([]byte, MaxMessage+nicoffload.Slot)}, nil
}

// Poll handles reports, as many as there is time for, but of those that come meanwhile no more than
// could have waited. It answers when it next has something to do.
func (a *Agent) Poll(now units.Time) units.Time {
	next := units.Earlier(a.inline.Poll(now), now.Add(units.Forever))
	for name, some := a.inline.Changed(); some; name, some = a.inline.Changed() {
		a.update(&a.flows[a.names[name].Index()])
	}
	for most := a.reports.Waiting(); most > 0 && a.reports.Waiting() > 0; most-- {
		if a.config.Service > 0 {
			if !a.begun { // it was idle: this one takes from now
				a.busy, a.begun = now.Add(a.config.Service), true
			}
			if a.busy.After(now) {
				return units.Earlier(next, a.busy)
			}
			a.busy = a.busy.Add(a.config.Service)
		}
		if _, ok := pull(a.reports, &a.msg, a.in); !ok {
			a.counters.Malformed++
			continue
		}
		a.hear(now)
	}
	a.begun = false
	return next
}

func (a *Agent) hear(now units.Time) {
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
		// of another program: expected right after a change
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
	algorithm, err := a.roster.Adopt(h)
	if err != nil {
		a.counters.Stale++
		return
	}
	*f = agentFlow{handle: h, live: true, name: a.inline.Add(algorithm, now)}
	for int(f.name) >= len(a.names) {
		a.names = append(a.names, 0)
	}
	a.names[f.name] = h
	a.inline.Decision(f.name) // the datapath has it
	a.msg.Kind, a.msg.Flow, a.msg.Program, a.msg.Updates = ChangeProg, uint32(h), a.program.ID, nil
	a.reply()
}

// report makes events of a report: what was lost, then what was acknowledged.
func (a *Agent) report(f *agentFlow, r []uint64, now units.Time) {
	a.counters.Reports++
	const most = 1 << 40 // of anything; a report is not trusted
	for i := range r {
		r[i] = min(r[i], most)
	}
	packets := uint32(min(r[reportPackets], 1<<23))
	f.psn = (f.psn + packets) & (1<<24 - 1)
	state := cc.Event{Flow: f.name, PSN: f.psn,
		SndNxt:   (f.psn + uint32(r[reportFlying])) & (1<<24 - 1),
		InFlight: units.Bytes(r[reportFlight]), Left: units.Bytes(r[reportPending])}
	if r[reportTimeout] > 0 {
		a.tell(state, cc.RTO, now)
	}
	if r[reportLost] > 0 {
		a.tell(state, cc.OOO, now)
	}
	wants := a.inline.Wants(f.name)
	switch ecn := int(min(r[reportECN], 1<<23)); {
	case packets == 0:
		if ecn > 0 {
			a.tell(state, cc.CNP, now)
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
		a.tell(state, kind, now)
	}
	a.update(f)
}

func (a *Agent) tell(ev cc.Event, kind cc.Kind, now units.Time) {
	a.counters.Events++
	a.event = ev
	a.event.Kind = kind
	a.inline.Report(&a.event, now)
}

// update tells the datapath of a decision that changed. CCP knows neither to hold nor to probe: a
// flow that is to stop sends a packet at a time.
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

// Counters answers what went through.
func (a *Agent) Counters() AgentCounters { return a.counters }
