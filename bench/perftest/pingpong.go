package perftest

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

const (
	// withoutInstrument round trips at the start with a native peer, to warm caches and the
	// neighbour table
	warmup = 16
	// without a response, after which a datagram or UC message counts as lost
	stall = 2 * units.Second
)

var errLost = errors.New(
	"no response for 2 s: a message was lost, and this connection type does not retransmit")

// pingpong bounces one message. It is the goroce.Program of latency tests at both ends: one end,
// usually the client, starts each round and the other responds. A WRITE has arrived when the last
// byte of the buffer is the round's number; a SEND and a WRITE with immediate when their completion
// arrives; a READ or an atomic when its own completion arrives, without a program at the server.
type pingpong struct {
	test      Test
	initiator bool
	withOFED  bool // OFED peer: the responding end measures too, and ends with the last round
	warm      uint64
	byMemory  bool // arrivals are detected in memory
	checked   bool // --data_validation
	repeats   bool // lost messages are retransmitted (RC)
	clock     func() units.Time

	out      stream
	in       inbound
	sendCQ   *transport.CompletionQueue
	recvCQ   *transport.CompletionQueue
	wcs      [completions]transport.WorkCompletion
	validate *receiveCheck
	brought  *sendCheck
	seen     *byte  // last byte of the receive buffer
	outgoing []byte // memory of the next message to send
	number   uint64 // of the queue pair

	round     uint64 // current
	rounds    uint64 // number of the last; unlimited in a timed run
	begunAt   units.Time
	roundAt   units.Time
	measured  [2]units.Duration // measured part of a timed run, from and to
	length    units.Duration    // of a timed run; 0 otherwise
	latencies *latencies
	samples   []units.Duration // for -U
	meter     meter
	worker    *worker // with --work
	credits   bool    // with --carc
	halt      bool
	err       error
}

func (l *queueSet) newPingPong(size int, initiator bool) *pingpong {
	s, p := l.settings, &l.pairs[0]
	m := &pingpong{
		test: s.Test, initiator: initiator, withOFED: s.withOFED, warm: warmup,
		byMemory: s.Test.Verb == Write && !s.WriteWithImm,
		checked:  s.Validate, repeats: s.Connection == transport.RC, clock: l.host.Now,
		sendCQ: l.sendCQ, recvCQ: l.recvCQ, number: uint64(p.number),
		latencies: newLatencies(),
	}
	if s.withOFED {
		m.warm = 0
	}
	m.rounds = m.warm + uint64(s.Iters)
	if s.Duration > 0 {
		m.length, m.rounds = s.Duration, unlimited
		m.measured = [2]units.Duration{s.Margin, s.Duration - s.Margin}
	}
	if s.Unsorted {
		m.samples = make([]units.Duration, 0, s.Iters)
	}
	mem := l.mr.Bytes()
	m.seen = &mem[p.to+size-1]
	m.outgoing = mem[p.from : p.from+size]
	m.out = stream{qp: p.qp, wr: l.workRequest(p, size)}
	m.out.wr.RemoteAddr = p.region.Addr
	if s.Test.isOneSided() {
		m.out.wr.Signaled = true
	}
	if m.out.wr.Inline {
		m.out.wr.Data = m.outgoing
	}
	m.in = inbound{qp: p.qp, receive: l.receive(0)}
	if m.credits = l.cache != nil; s.Work > 0 {
		m.worker = l.newWorker()
	}
	m.validate = &receiveCheck{queueSet: l, size: size}
	m.brought = &sendCheck{mem: m.outgoing, size: size, pair: m.number, validate: true,
		atomic: s.Test.Verb == Atomic, slots: 1}
	return m
}

// Step implements goroce.Program.
func (m *pingpong) Step(_ *transport.Endpoint, now units.Time) (busy, done bool) {
	if m.halt {
		return true, true
	}
	if m.round == 0 && m.initiator {
		m.begin()
		return true, m.err != nil
	}
	if !m.arrived() {
		if m.err == nil && m.initiator && !m.repeats && now.Sub(m.roundAt) > stall {
			m.err = errLost
		}
		late := m.initiator && m.length > 0 && now.Sub(m.begunAt) > m.length+drainTime
		return m.err != nil, m.err != nil || late
	}
	switch {
	case m.initiator:
		done = m.measure()
	case m.withOFED && m.round == 0:
		m.start()
	case m.withOFED:
		m.measure()
	}
	if !done {
		m.round++
		m.post()
		done = m.withOFED && !m.initiator && m.round == m.rounds
	}
	return true, done || m.err != nil
}

func (m *pingpong) begin() {
	m.start()
	m.round = 1
	m.post()
}

func (m *pingpong) start() {
	m.begunAt = m.clock()
	m.roundAt = m.begunAt
}

// measure records the round that ended and reports whether it was the last.
func (m *pingpong) measure() (done bool) {
	now := m.clock()
	d := now.Sub(m.roundAt)
	counts := m.round > m.warm
	if m.length > 0 {
		since := m.roundAt.Sub(m.begunAt)
		counts = since >= m.measured[0] && since <= m.measured[1]
		done = now.Sub(m.begunAt) >= m.length
	}
	if counts {
		if m.latencies.n == 0 {
			m.meter.start(m.roundAt, 0)
		}
		if !m.test.isOneSided() {
			d /= 2
		}
		m.latencies.record(d)
		if len(m.samples) < cap(m.samples) {
			m.samples = append(m.samples, d)
		}
		m.meter.stop(now, m.latencies.n)
	}
	m.roundAt = now
	return done || m.round == m.rounds
}

// arrived reports whether the message of the current round has arrived.
func (m *pingpong) arrived() bool {
	switch {
	case m.test.isOneSided():
		if m.sendCQ.Poll(m.wcs[:1]) == 0 {
			return false
		}
		if m.wcs[0].Status != transport.StatusSuccess {
			m.err = failure(m.sendCQ, m.wcs[:1])
			return false
		}
		return m.bounced()
	case m.sendCQ.Len() > 0: // only errors have completions
		m.err = failure(m.sendCQ, m.wcs[:0])
		return false
	case m.byMemory:
		return *m.seen == byte(m.expected()) && m.intact()
	}
	return m.received()
}

// expected returns the round of the peer's next message: the server's first is round 1.
func (m *pingpong) expected() uint64 {
	if m.initiator {
		return m.round
	}
	return m.round + 1
}

// received handles a receive completion, posts the receive again, and reports success.
func (m *pingpong) received() bool {
	if m.recvCQ.Poll(m.wcs[:1]) == 0 {
		return false
	}
	wc := &m.wcs[0]
	if wc.Status != transport.StatusSuccess {
		m.err = failure(m.recvCQ, m.wcs[:1])
		return false
	}
	m.in.received = m.expected()
	if m.checked && m.test.Verb == Send {
		m.err = m.validate.message(wc, &m.in)
	} else if m.checked {
		m.intact()
	}
	if m.worker != nil {
		came := m.validate.queueSet.mr.Bytes()[m.validate.queueSet.pairs[0].to:]
		// a faulty peer may WRITE more, elsewhere
		m.worker.work(came[:min(len(came), int(wc.ByteLen))])
	}
	if m.credits {
		// each message is the response to the previous one
		m.in.qp.Admission().Answered(units.Bytes(wc.ByteLen))
		if err := m.in.qp.Admission().Consumed(units.Bytes(wc.ByteLen)); err != nil &&
			m.err == nil {
			m.err = err
		}
	}
	m.in.receive.place(int(wc.ID & idMask))
	err := m.validate.queueSet.postTo(m.in.qp, &m.in.receive.request)
	if err != nil && m.err == nil {
		m.err = err
	}
	return m.err == nil
}

// intact checks the data of a WRITE.
func (m *pingpong) intact() bool {
	if !m.checked {
		return true
	}
	p := &m.validate.queueSet.pairs[0]
	data := m.validate.queueSet.mr.Bytes()[p.to : p.to+m.validate.size]
	body := data
	if m.byMemory {
		body = data[:len(data)-1] // the last byte is the round's number
	}
	m.err = checkPattern(body, m.number, m.expected())
	return m.err == nil
}

// bounced checks the data of a READ or an atomic.
func (m *pingpong) bounced() bool {
	if m.checked {
		message := m.round - 1
		if m.test.Verb == Read {
			message = 0 // there is one slot
		}
		m.err = m.brought.arrived(message)
	}
	return m.err == nil
}

// post sends the message of the current round.
func (m *pingpong) post() {
	wr := &m.out.wr
	wr.ID = m.round
	switch {
	case wr.Op == transport.OpCmpSwap:
		wr.CompareAdd, wr.Swap = m.round-1, m.round
	case m.test.isOneSided():
	default:
		if m.checked {
			fillPattern(m.outgoing, m.number, m.round)
		}
		if m.byMemory {
			m.outgoing[len(m.outgoing)-1] = byte(m.round)
		}
	}
	if m.checked && m.test.isOneSided() {
		clear(m.outgoing)
		m.outgoing[len(m.outgoing)-1] = 0xff
	}
	if err := m.out.qp.PostSend(wr); err != nil {
		m.err = fmt.Errorf("round %d: %w", m.round, err)
	}
}
