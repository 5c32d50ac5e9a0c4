package carclab

import (
	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/units"
)

// conn is one connection, seen from its sender, which always has something to send.
type conn struct {
	load
	m      *model
	thread *thread
	window uint64          // unanswered packets that eRPC allows, so that the ring has room
	copied *hostmodel.Walk // the message buffer
	size   units.Bytes     // a packet on the wire

	sent, acked, answered uint64 // packets
	inFlow                int    // packets of the flow that were sent
	flowBegan             units.Time
	held                  bool // the flow was sent, and is not answered
	waits                 bool // in the model's list of turns

	algorithm cc.Algorithm
	cwnd      units.Bytes
	event     cc.Event

	gate    *carc.Gate
	granter *carc.Granter
	credit  units.Time // when its CREDIT is checked; 0 never
	look    func()
	out     cc.Outgoing
}

func (m *model) connect(l load, window int) error {
	c := &conn{load: l, m: m, thread: m.threads[l.thread], window: uint64(window),
		size: l.packet + overhead, cwnd: units.GiB}
	path := cc.Path{LineRate: m.link, BaseRTT: 2 * oneWay, Payload: l.packet,
		Signals: cc.SignalMarks}
	if l.copies {
		c.copied = m.host.Walk(units.Bytes(l.flow)*l.packet, true)
	}
	spec, err := cc.Parse("dctcp")
	if err != nil {
		return err
	}
	if c.algorithm, err = spec.New(path); err != nil {
		return err
	}
	c.cwnd = c.algorithm.(cc.Starter).Start(0).Window
	if m.credits != nil {
		if c.gate, c.granter, err = m.credits.New(path); err != nil {
			return err
		}
		c.look = c.creditDue
		c.out = cc.Outgoing{Bytes: l.packet, Message: l.packet, Completes: true,
			Backlog: cc.Backlog{Waits: units.GiB}}
		c.granter.Attach(c)
		terms := c.granter.Terms()
		c.granter.Agree(terms)
		c.gate.Agree(terms)
		c.scheduleCredit()
	}
	m.conns = append(m.conns, c)
	c.wake()
	return nil
}

// ready reports whether the next packet may leave now.
func (c *conn) ready() bool {
	switch {
	case c.held, c.sent-c.answered >= c.window:
		return false
	case units.Bytes(c.sent-c.acked)*c.packet >= c.cwnd:
		return false
	}
	return c.gate == nil || c.gate.Ready(&c.out, c.m.clock.Now())
}

// wake adds the connection to the link's turns if its next packet may leave.
func (c *conn) wake() {
	if c.waits || !c.ready() {
		return
	}
	c.waits = true
	m := c.m
	m.turns = append(m.turns, c)
	if !m.sending {
		m.sending = true
		m.clock.At(m.clock.Now(), m.turn)
	}
}

// send puts the next packet on the link.
func (c *conn) send() {
	m, now := c.m, c.m.clock.Now()
	if c.gate != nil {
		c.gate.Sent(&c.out, now)
	}
	if c.inFlow == 0 {
		c.flowBegan = now
	}
	c.sent++
	c.inFlow++
	last := c.inFlow == c.flow
	if last {
		c.inFlow = 0
		c.held = c.flow > 1 && !c.oneWay
	}
	end := now.Add(m.link.Duration(c.size))
	m.toNIC.put(end.Add(oneWay), m.tag(packet{conn: c, last: last, sent: now}))
	m.sending = true
	m.clock.At(end, m.turn)
}

// acknowledge handles the acknowledgement of a packet that is in the server's memory.
func (m *model) acknowledge(tag uint64) {
	p := &m.packets[tag]
	c, now := p.conn, m.clock.Now()
	c.acked++
	c.event = cc.Event{
		Kind: cc.RTT, PSN: psn(c.acked), SndNxt: psn(c.sent), Packets: 1, Bytes: c.packet,
		InFlight: units.Bytes(c.sent-c.acked) * c.packet, Left: units.GiB, Delay: now.Sub(p.sent),
	}
	if p.marked {
		c.event.Marked = 1
	}
	c.cwnd = c.algorithm.On(&c.event, now).Window
	m.spare = append(m.spare, tag)
	c.wake()
}

func psn(n uint64) uint32 { return uint32(n) & (1<<24 - 1) }

// respond handles the response to a packet, or the return of its eRPC credit.
func (m *model) respond(tag uint64) {
	p := m.packets[tag]
	m.spare = append(m.spare, tag)
	c, now := p.conn, m.clock.Now()
	c.answered++
	if m.answered {
		c.gate.Answered(c.packet, now)
	}
	if p.last && c.flow > 1 {
		class := &m.classes[c.class]
		class.fct = append(class.fct, now.Sub(c.flowBegan).Seconds())
		c.held = false
	}
	c.wake()
}

// scheduleCredit schedules the check of the connection's CREDIT.
func (c *conn) scheduleCredit() {
	if at := c.granter.Next(); at != 0 && (c.credit == 0 || at.Before(c.credit)) {
		c.credit = at
		c.m.clock.At(at, c.look)
	}
}

// creditDue sends the CREDIT if it is still due.
func (c *conn) creditDue() {
	c.credit = 0
	if at := c.granter.Next(); at != 0 && !at.After(c.m.clock.Now()) {
		c.sendCredit()
	}
	c.scheduleCredit()
}

// sendCredit sends the CREDIT. Its frame is short and does not queue.
func (c *conn) sendCredit() {
	m, now := c.m, c.m.clock.Now()
	if n, some := c.granter.Emit(false, now); some {
		m.notices.put(now.Add(oneWay), m.tag(packet{conn: c, returns: n}))
	}
}

// onCredit handles a CREDIT at its sender.
func (m *model) onCredit(tag uint64) {
	p := &m.packets[tag]
	m.spare = append(m.spare, tag)
	if err := p.conn.gate.Receive(&p.returns, p.conn.out.Backlog, m.clock.Now()); err != nil {
		m.err = err
	}
	p.conn.wake()
}

// Report and Reschedule implement cc.Reporter for a Granter.
func (*conn) Report(*cc.Event, units.Time) {}

// Reschedule checks when the Granter's CREDIT is due.
func (c *conn) Reschedule() { c.scheduleCredit() }
