package ccp

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// Config configures a Controller and its Agent.
type Config struct {
	// Program runs on every acknowledgement: PerAck, PerRTT, or one with the same report.
	Program string
	// Ring is the number of Slots for reports, each of which takes three; 0 means 4096.
	Ring int
	// Service is the time that the agent takes for a report, in virtual time.
	Service units.Duration
	// Payload is the size of a full packet; 0 means 4096.
	Payload units.Bytes
}

// The programs fold the same values, and report losses at once.
const (
	fold = `(def (Report (volatile bytes 0) (volatile packets 0) (volatile ecn 0)
		(volatile lost 0) (volatile timeout 0) (volatile rtt +infinity)
		(volatile flight 0) (volatile pending 0) (volatile flying 0)))
	(when true
		(:= Report.bytes (+ Report.bytes Ack.bytes_acked))
		(:= Report.packets (+ Report.packets Ack.packets_acked))
		(:= Report.ecn (+ Report.ecn Ack.ecn_packets))
		(:= Report.lost (+ Report.lost Ack.packets_misordered))
		(:= Report.timeout (max Report.timeout Flow.was_timeout))
		(:= Report.rtt (if (< Flow.rtt_sample_us 4294967295) Flow.rtt_sample_us))
		(:= Report.flight Flow.bytes_in_flight)
		(:= Report.pending Flow.bytes_pending)
		(:= Report.flying Flow.packets_in_flight)
		(fallthrough))
	(when (|| Report.lost Report.timeout) (report) (:= Micros 0))
	`
	PerAck = fold + `(when true (report))`
	PerRTT = fold + `(when (> Micros Flow.rtt_sample_us) (report) (:= Micros 0))`
)

// The report registers of these programs.
const (
	reportBytes = iota
	reportPackets
	reportECN
	reportLost
	reportTimeout
	reportRTT
	reportFlight
	reportPending
	reportFlying
	reportFields
)

// unlimited is the rate that stands for none, since CCP has no way to remove a rate.
const unlimited = 1 << 60

// retryCreate is the time after which an unsuccessful Create is retried.
const retryCreate = 100 * units.Millisecond

// ProgramID is the ID of our only program; 1 clears libccp's table.
const ProgramID = 1

// Controller is a cc.Controller that works like CCP's datapath: it runs the program, and sends
// reports. It belongs to the polling core.
type Controller struct {
	config  Config
	reports *nicoffload.Producer
	replies *nicoffload.Consumer
	handoff *nicoffload.Handoff
	agent   *Agent // on this core; nil if it is on another one
	program *Program
	flows   []*flow
	free    []cc.Flow
	msg     Message
	out     []byte
	in      []byte
	ready   bool // Ready has been sent
	now     units.Time

	counters Counters
}

type flow struct {
	handle   nicoffload.Handle
	live     bool
	changed  bool
	running  bool
	created  bool
	retryAt  units.Time
	wants    cc.EventSet
	decision cc.Decision
	machine  Machine
	staged   [2]Update // newest update of the window, and of the rate; a value of 0 means none
	update   bool
	change   bool
}

// Counters counts events of a Controller.
type Counters struct {
	Invocations uint64 // of the program
	Reports     uint64
	Dropped     uint64 // reports without room in the ring, lost with all they counted
	Updates     uint64 // received
	Aborted     uint64 // invocations that ended with ErrArithmetic
	Malformed   uint64
}

// compiled fills in defaults, and compiles the program.
func (c *Config) compiled() (*Program, error) {
	if c.Ring == 0 {
		c.Ring = 4096
	}
	if c.Payload == 0 {
		c.Payload = 4096
	}
	if c.Program == "" {
		c.Program = PerAck
	}
	if c.Service < 0 || c.Payload < 0 {
		return nil, fmt.Errorf("ccp: service time %v and payload %v, want neither negative",
			c.Service, c.Payload)
	}
	p, err := Compile(ProgramID, c.Program)
	if err == nil && p.reports != reportFields {
		err = fmt.Errorf("ccp: program with %d report fields, want %d", p.reports, reportFields)
	}
	return p, err
}

// New returns a Controller and its agent. With share the Controller polls the agent; otherwise
// another core does.
func New(c Config, share bool) (*Controller, *Agent, error) {
	if _, err := c.compiled(); err != nil {
		return nil, nil, err
	}
	up, err := newRing(c.Ring)
	if err != nil {
		return nil, nil, err
	}
	down, err := newRing(downSlots)
	if err != nil {
		return nil, nil, err
	}
	handoff := nicoffload.NewHandoff()
	a, err := NewAgent(c, up.consumer, down.producer, handoff)
	if err != nil {
		return nil, nil, err
	}
	ctl := &Controller{config: c, reports: up.producer, replies: down.consumer, handoff: handoff,
		in: make([]byte, MaxMessage+nicoffload.Slot)}
	if share {
		ctl.agent = a
	}
	return ctl, a, nil
}

// downSlots is the size of the ring from the agent, which carries one Install and many updates.
const downSlots = 4096

type ring struct {
	producer *nicoffload.Producer
	consumer *nicoffload.Consumer
}

func newRing(slots int) (r ring, err error) {
	mem := nicoffload.AlignedMemory(nicoffload.RingBytes(slots))
	if r.producer, err = nicoffload.NewProducer(mem, slots); err != nil {
		return r, err
	}
	r.consumer, err = nicoffload.NewConsumer(mem, slots)
	return r, err
}

// push sends a message, padded to whole Slots, and reports whether there was room.
func push(p *nicoffload.Producer, m *Message, buf *[]byte) bool {
	b := m.Append((*buf)[:0])
	for len(b)%nicoffload.Slot != 0 {
		b = append(b, 0)
	}
	*buf = b
	return p.Push(b)
}

// pull receives one message through buf, which has room for MaxMessage and a Slot. some is false if
// there is none; ok is false if it is malformed.
func pull(c *nicoffload.Consumer, m *Message, buf []byte) (some, ok bool) {
	n := c.Pull(buf[:nicoffload.Slot])
	if n == 0 {
		return false, false
	}
	if length := int(le.Uint16(buf[2:])); length > n && length <= MaxMessage {
		n += c.Pull(buf[n : (length+nicoffload.Slot-1)/nicoffload.Slot*nicoffload.Slot])
	}
	_, err := m.Decode(buf[:n])
	return true, err == nil
}

// Add implements cc.Controller.
func (c *Controller) Add(a cc.Algorithm, now units.Time) cc.Flow {
	c.now = now
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
		c.flows = append(c.flows, &flow{handle: nicoffload.NewHandle(uint32(name), ^uint32(0))})
	}
	f := c.flows[name]
	*f = flow{handle: nicoffload.NewHandle(uint32(name), f.handle.Generation()+1), live: true,
		changed: true, wants: a.Events(), decision: first, retryAt: now}
	c.handoff.Put(f.handle, a, first)
	c.create(f, now)
	return name
}

// create announces a flow to the agent, and retries while there is no room.
func (c *Controller) create(f *flow, now units.Time) {
	if !c.ready {
		c.msg = Message{Kind: Ready}
		if c.ready = push(c.reports, &c.msg, &c.out); !c.ready {
			return
		}
	}
	if f.created || now.Before(f.retryAt) {
		return
	}
	c.msg.Kind, c.msg.Flow, c.msg.InitCwnd, c.msg.MSS = Create, uint32(f.handle),
		uint32(min(f.decision.Window, 1<<31)), uint32(c.config.Payload)
	c.msg.Algorithm = ""
	f.created, f.retryAt = push(c.reports, &c.msg, &c.out), now.Add(retryCreate)
}

// Remove implements cc.Controller.
func (c *Controller) Remove(name cc.Flow) {
	f := c.flows[name]
	if !f.live {
		return
	}
	c.msg.Kind, c.msg.Flow, c.msg.Program, c.msg.Fields = Measure, uint32(f.handle), 0, nil
	push(c.reports, &c.msg, &c.out) // without room, the agent keeps its state of the flow
	f.live = false
	c.free = append(c.free, name)
}

// Events implements cc.Controller. It returns the algorithm's events that CCP's primitives can
// express, and RTT, on which programs may depend in any case.
func (c *Controller) Events(name cc.Flow) cc.EventSet {
	return c.flows[name].wants&cc.Events(cc.ACK, cc.ECN, cc.OOO, cc.RTO, cc.CNP) | cc.Events(cc.RTT)
}

// Report implements cc.Controller: one invocation of the program.
func (c *Controller) Report(ev *cc.Event, now units.Time) {
	f := c.flows[ev.Flow]
	if !f.live || ev.Probe || !c.Events(ev.Flow).Has(ev.Kind) {
		return
	}
	c.now = now
	if c.create(f, now); !f.created {
		return
	}
	c.apply(f, now)
	if !f.running {
		return
	}
	m := &f.machine
	p := &m.Primitives
	*p = [primitives]uint64{Now: uint64(now.Sub(0) / units.Microsecond),
		BytesInFlight: positive(ev.InFlight), BytesPending: positive(ev.Left),
		PacketsInFlight: uint64((ev.SndNxt - ev.PSN) & (1<<24 - 1))}
	switch ev.Kind {
	case cc.ACK, cc.ECN, cc.RTT:
		p[BytesAcked], p[PacketsAcked] = positive(ev.Bytes), positive(units.Bytes(ev.Packets))
		p[ECNPackets], p[RTTSample] = positive(units.Bytes(ev.Marked)),
			uint64(max(0, ev.Delay)/units.Microsecond)
	case cc.CNP:
		p[ECNPackets] = 1
	case cc.OOO:
		p[PacketsMisordered] = 1
	case cc.RTO:
		p[WasTimeout] = 1
	}
	c.counters.Invocations++
	send, err := m.Run(positive(f.decision.Window), rateOf(f.decision.Rate), now)
	if err != nil {
		c.counters.Aborted++
		return
	}
	f.adopt()
	if send {
		c.msg.Kind, c.msg.Flow, c.msg.Program, c.msg.Fields = Measure, uint32(f.handle),
			m.program.ID, m.Fields()
		if push(c.reports, &c.msg, &c.out) {
			c.counters.Reports++
		} else {
			c.counters.Dropped++
		}
		m.Reported()
	}
}

func positive(n units.Bytes) uint64 { return uint64(max(0, n)) }

// rateOf returns a rate in bytes per second.
func rateOf(r units.BitRate) uint64 {
	if r == 0 {
		return unlimited
	}
	return uint64(r) / 8
}

// apply applies what was staged: first a program, then values.
func (c *Controller) apply(f *flow, now units.Time) {
	if f.change {
		f.change, f.running = false, true
		f.machine.Change(c.program, now)
	}
	if f.update && f.running {
		f.update = false
		d := f.decision
		if w := f.staged[0].Value; w > 0 {
			d.Window = units.Bytes(min(w, 1<<62))
		}
		if r := f.staged[1].Value; r >= unlimited {
			d.Rate = 0
		} else if r > 0 {
			d.Rate = units.BitRate(min(r, unlimited/8) * 8)
		}
		f.staged = [2]Update{}
		f.set(d)
	}
}

// adopt adopts the values that the program itself has set.
func (f *flow) adopt() {
	cwnd, rate := f.machine.Decided()
	d := f.decision
	if cwnd > 0 && cwnd != positive(d.Window) {
		d.Window = units.Bytes(min(cwnd, 1<<62))
	}
	if rate > 0 && rate != rateOf(d.Rate) && rate < unlimited/8 {
		d.Rate = units.BitRate(rate * 8)
	}
	f.set(d)
}

func (f *flow) set(d cc.Decision) {
	if d != f.decision {
		f.decision, f.changed = d, true
	}
}

// Decision implements cc.Controller.
func (c *Controller) Decision(name cc.Flow) (cc.Decision, bool) {
	f := c.flows[name]
	changed := f.changed
	f.changed = false
	return f.decision, changed
}

// Poll implements cc.Controller: it receives the agent's messages, which take effect with the next
// event.
func (c *Controller) Poll(now units.Time) units.Time {
	next := now.Add(units.Forever)
	if c.agent != nil {
		next = c.agent.Poll(now)
	}
	for {
		some, ok := pull(c.replies, &c.msg, c.in)
		if !some {
			return next
		}
		if !ok || !c.handle() {
			c.counters.Malformed++
		}
	}
}

func (c *Controller) handle() bool {
	m := &c.msg
	if m.Kind == Install {
		p, err := NewProgram(m.Program, m.Expressions, m.Instructions)
		if err == nil {
			c.program = p
		}
		return err == nil
	}
	i := int(nicoffload.Handle(m.Flow).Index())
	if i >= len(c.flows) || !c.flows[i].live || uint32(c.flows[i].handle) != m.Flow {
		return m.Kind == UpdateFields || m.Kind == ChangeProg // the flow has ended
	}
	f := c.flows[i]
	switch m.Kind {
	case ChangeProg:
		if c.program == nil || m.Program != c.program.ID {
			return false
		}
		f.change, f.update, f.staged = true, false, [2]Update{} // earlier updates are discarded
	case UpdateFields:
	default:
		return false
	}
	for _, u := range m.Updates {
		if u.Register.Type != Implicit || u.Register.Index != Cwnd && u.Register.Index != Rate {
			return false
		}
		f.staged[u.Register.Index-Cwnd], f.update = u, true
		c.counters.Updates++
	}
	return true
}

// Changed implements cc.Controller.
func (c *Controller) Changed() (cc.Flow, bool) { return 0, false }

// Counters returns the counters.
func (c *Controller) Counters() Counters { return c.counters }
