package tocc

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/cc/cctest"
	"github.com/goroce/goroce/units"
)

// model is one direction of a connection, packet by packet: a transport with selective repeat at
// either end, and a wire with a delay and a fate for each frame.
type model struct {
	t    testing.TB
	path cc.Path
	rng  *rand.Rand
	cctest.EventQueue

	gate    cc.Gate
	granter cc.Granter
	inline  cc.Inline
	flow    cc.Flow
	wake    units.Time // when it is polled

	lossData, lossToken, lossRTS, lossAck, marks float64
	threshold                                    units.Bytes // of selective drop; 0 none

	// The sender.
	packets            []packet
	next               int   // the first packet that was never sent
	lost               []int // lost packets
	waits              units.Bytes
	inFlight           units.Bytes
	unackedUnscheduled units.Bytes // unscheduled and not acknowledged
	linkFreeAt         units.Time  // when its link is idle
	freeWake           units.Time  // the poll for that
	paused             units.Time  // the sender does nothing until then
	rto                units.Duration
	pollAt             units.Time // when the next poll is due

	// The receiver.
	arrived   []bool
	reported  []bool // missing
	epsn      int
	highest   int        // one past the newest
	tokenAt   units.Time // when the next TOKEN may be sent
	tokenWake units.Time // the poll for that
	askedR    units.Time
	queue     []cc.ControlMessage // queued credits
	draining  bool

	// The wire.
	linkBusyUntil units.Time // until when the bottleneck is busy
	totals        struct {
		unscheduled, lost, retransmitted, missing units.Bytes
		most                                      units.Bytes // unscheduled, not acknowledged
	}
}

type packet struct {
	bytes, message units.Bytes
	sent           units.Time
	out            bool // in flight
	unscheduled    bool
	acked, again   bool
}

func newModel(t testing.TB, spec Spec, path cc.Path, seed uint64) *model {
	gate, granter, err := spec.New(path)
	require.NoError(t, err)
	m := &model{t: t, path: path, rng: rand.New(rand.NewPCG(seed, 7)), gate: gate, granter: granter,
		rto: 400 * us, EventQueue: cctest.EventQueue{Now: 1}}
	granter.Attach(m)
	if a := granter.Algorithm(); a != nil {
		m.flow = m.inline.Add(a, m.Now)
		d, _ := m.inline.Decision(m.flow)
		granter.Apply(d, m.Now)
	}
	return m
}

// Report implements cc.Reporter.
func (m *model) Report(ev *cc.Event, now units.Time) {
	ev.Flow = m.flow
	m.inline.Report(ev, now)
	m.decide()
	m.wakeAlgorithm()
}

func (m *model) wakeAlgorithm() {
	at := m.inline.Poll(m.Now)
	m.decide()
	if at.Sub(m.Now) < units.Second && (!m.wake.After(m.Now) || at.Before(m.wake)) {
		m.wake = at
		m.At(at, func() {
			if m.Now == m.wake {
				m.wakeAlgorithm()
				m.receive()
			}
		})
	}
}

func (m *model) decide() {
	if d, ok := m.inline.Decision(m.flow); ok {
		m.granter.Apply(d, m.Now)
	}
}

func (*model) Reschedule() {}

func (m *model) after(d units.Duration, do func()) { m.At(m.Now.Add(d), do) }

// post appends a message to the send queue.
func (m *model) post(bytes units.Bytes) {
	for left, first := bytes, true; left > 0; first = false {
		p := packet{bytes: min(left, m.path.Payload)}
		if first {
			p.message = bytes
		}
		left -= p.bytes
		m.packets = append(m.packets, p)
		m.arrived, m.reported = append(m.arrived, false), append(m.reported, false)
	}
	m.waits += bytes
	m.gate.Posted(bytes, m.backlog(), m.Now)
	m.send()
}

func (m *model) backlog() cc.Backlog { return cc.Backlog{Waits: m.waits, InFlight: m.inFlight} }

// send polls the sender.
func (m *model) send() {
	if m.Now.Before(m.paused) {
		m.At(m.paused, m.send)
		return
	}
	for at := m.gate.Next(); at != 0 && !at.After(m.Now); at = m.gate.Next() {
		n, ok := m.gate.Emit(m.backlog(), m.Now)
		if ok {
			m.carryRTS(n)
		}
	}
	for m.waits > 0 && !m.linkFreeAt.After(m.Now) {
		i, p := m.head()
		out := cc.Outgoing{Bytes: p.bytes, Message: p.message, Again: p.again, Backlog: m.backlog()}
		if !m.gate.Ready(&out, m.Now) {
			break
		}
		m.leave(i, m.gate.Sent(&out, m.Now))
	}
	m.later()
}

// later schedules the sender's next poll.
func (m *model) later() {
	if at := m.gate.Next(); at != 0 &&
		(m.pollAt == 0 || at.Before(m.pollAt) || !m.pollAt.After(m.Now)) {
		m.pollAt = max(at, m.Now)
		m.At(at, m.send)
	}
	if m.waits > 0 && m.linkFreeAt.After(m.Now) && m.freeWake != m.linkFreeAt {
		m.freeWake = m.linkFreeAt
		m.At(m.linkFreeAt, m.send)
	}
}

func (m *model) head() (int, *packet) {
	if len(m.lost) > 0 {
		return m.lost[0], &m.packets[m.lost[0]]
	}
	return m.next, &m.packets[m.next]
}

func (m *model) leave(i int, marks cc.Marks) {
	p := &m.packets[i]
	if len(m.lost) > 0 {
		m.lost = m.lost[1:]
		m.totals.retransmitted += p.bytes
	} else {
		m.next++
	}
	m.waits -= p.bytes
	m.inFlight += p.bytes
	p.sent, p.out = m.Now, true
	p.unscheduled = marks.Set&cc.MarkUnscheduled != 0
	if p.unscheduled {
		require.False(m.t, p.again)
		m.unackedUnscheduled += p.bytes
		m.totals.unscheduled += p.bytes
		m.totals.most = max(m.totals.most, m.unackedUnscheduled)
	}
	m.linkFreeAt = m.Now.Add(m.path.LineRate.Duration(Wire(p.bytes, m.path.Payload)))
	sent, seq := p.sent, i
	m.At(m.linkFreeAt.Add(m.rto), func() { m.timeout(seq, sent) })
	backlog := m.path.LineRate.Bytes(m.linkBusyUntil.Sub(m.Now))
	if m.rng.Float64() < m.lossData || p.unscheduled && m.threshold > 0 && backlog > m.threshold {
		m.totals.lost += p.bytes
		return
	}
	m.linkBusyUntil = max(m.linkBusyUntil,
		m.Now).Add(m.path.LineRate.Duration(Wire(p.bytes, m.path.Payload)))
	a := cc.Arrival{Bytes: p.bytes, Set: marks.Set, Grant: marks.Grant,
		Congested: m.rng.Float64() < m.marks}
	m.At(m.linkBusyUntil.Add(m.path.BaseRTT/2), func() { m.arrive(seq, a) })
}

func (m *model) timeout(i int, sent units.Time) {
	if p := &m.packets[i]; p.out && p.sent == sent {
		m.lose(i)
		m.send()
	}
}

// lose returns a packet to the backlog.
func (m *model) lose(i int) {
	p := &m.packets[i]
	if !p.out || p.acked {
		return
	}
	p.out, p.again = false, true
	if p.unscheduled {
		m.unackedUnscheduled -= p.bytes
		p.unscheduled = false
	}
	m.inFlight -= p.bytes
	m.waits += p.bytes
	m.lost = append(m.lost, i)
	m.gate.Lost(p.bytes, m.backlog(), m.Now)
}

// arrive processes a packet of data at the receiver.
func (m *model) arrive(i int, a cc.Arrival) {
	m.reportMissing(i)
	a.Behind = i < m.highest
	m.highest = max(m.highest, i+1)
	a.Again = m.arrived[i]
	m.arrived[i] = true
	for m.epsn < len(m.arrived) && m.arrived[m.epsn] {
		m.epsn++
	}
	m.granter.Arrived(&a, m.Now)
	m.receive()
	if m.rng.Float64() >= m.lossAck {
		m.after(m.path.BaseRTT/2, func() { m.ack(i) })
	}
}

// reportMissing reports packets before i that did not arrive.
func (m *model) reportMissing(i int) {
	for j := m.epsn; j < i; j++ {
		if !m.arrived[j] && !m.reported[j] && j >= m.highest {
			m.reported[j] = true
			m.totals.missing += m.path.Payload // the transport does not know their length
			m.granter.Missing(1, m.path.Payload, m.Now)
		}
	}
}

func (m *model) ack(i int) {
	p := &m.packets[i]
	if p.acked {
		return
	}
	p.acked = true
	if p.out {
		m.inFlight -= p.bytes
		if p.unscheduled {
			m.unackedUnscheduled -= p.bytes
		}
		p.out = false
	} else { // it counted as lost
		m.waits -= p.bytes
		for k, j := range m.lost {
			if j == i {
				m.lost = append(m.lost[:k], m.lost[k+1:]...)
				break
			}
		}
	}
	m.send()
}

// receive polls the receiver.
func (m *model) receive() {
	at := m.granter.Next()
	for ; at != 0 && !at.After(m.Now); at = m.granter.Next() {
		if m.granter.QueueCapacity() == 0 && m.tokenAt.After(m.Now) {
			if m.tokenWake != m.tokenAt {
				m.tokenWake = m.tokenAt
				m.At(m.tokenAt, m.receive)
			}
			return
		}
		n, ok := m.granter.Emit(m.epsn < m.highest, m.Now)
		switch {
		case !ok:
		case m.granter.QueueCapacity() == 0:
			m.space(n)
			m.carryToken(n)
		case len(m.queue) < m.granter.QueueCapacity():
			m.queue = append(m.queue, n)
			m.drain()
		}
	}
	if at != 0 && (m.askedR == 0 || at.Before(m.askedR) || !m.askedR.After(m.Now)) {
		m.askedR = at
		m.At(at, m.receive)
	}
}

func (m *model) space(n cc.ControlMessage) {
	if n.Releases > 0 {
		m.tokenAt = max(m.tokenAt, m.Now).Add(m.path.LineRate.Duration(n.Releases + TokenWire))
	}
}

// drain sends queued credits.
func (m *model) drain() {
	if m.draining || len(m.queue) == 0 {
		return
	}
	m.draining = true
	m.At(m.tokenAt, func() {
		m.draining = false
		n := m.queue[0]
		m.queue = m.queue[1:]
		m.space(n)
		m.carryToken(n)
		m.drain()
	})
}

func (m *model) carryToken(n cc.ControlMessage) {
	var missing []int
	for j := m.epsn; n.Missing && j < m.highest && len(missing) < 32; j++ {
		if !m.arrived[j] {
			missing = append(missing, j)
		}
	}
	if m.rng.Float64() < m.lossToken {
		return
	}
	m.after(m.path.BaseRTT/2, func() {
		n.Congested = m.rng.Float64() < m.marks
		require.NoError(m.t, m.gate.Receive(&n, m.backlog(), m.Now))
		for _, j := range missing {
			if m.Now.Sub(m.packets[j].sent) > m.path.BaseRTT {
				m.lose(j)
			}
		}
		m.send()
	})
}

func (m *model) carryRTS(n cc.ControlMessage) {
	if m.rng.Float64() < m.lossRTS {
		return
	}
	upto, at := m.next, m.Now
	if n.WithData {
		at = max(m.linkBusyUntil, m.Now)
	}
	m.At(at.Add(m.path.BaseRTT/2), func() {
		if n.WithData {
			m.reportMissing(upto)
			m.highest = max(m.highest, upto)
		}
		require.NoError(m.t, m.granter.Receive(&n, m.Now))
		m.receive()
	})
}

// run runs the model until everything is acknowledged and nothing is left to do, or until d has
// passed.
func (m *model) run(d units.Duration) {
	m.Run(m.Now.Add(d))
}

func (m *model) done() bool { return m.next == len(m.packets) && m.waits == 0 && m.inFlight == 0 }
