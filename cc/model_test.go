package cc

import (
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// model is n flows through one queue, packet by packet, without loss: the least network that shows
// whether algorithms share it. Each sender has a link of line rate. The switch marks packets,
// writes telemetry and implements Bolt. The receiver acknowledges every packet at once and sends
// CNPs.
type model struct {
	path   Path
	marks  red
	random *rand.Rand

	now    units.Time
	events eventHeap
	seq    int
	ctl    Inline
	pollAt units.Time
	flows  []*sender

	queue     []*frame
	queued    units.Bytes // without the frame being sent
	busy      bool
	sent      uint32 // bytes, as in telemetry
	maxQueued units.Bytes

	supply   float64 // supply matching, bytes
	supplyAt units.Time
	ramp     int // proactive ramp-up
}

// red is the marking of a switch: none up to low, all beyond high, in between with a probability up
// to p.
type red struct {
	low, high units.Bytes
	p         float64
}

type frame struct {
	from  *sender
	psn   uint32
	sent  units.Time
	ce    bool
	hop   Hop
	flags BoltFlags
	src   SRC
}

type sender struct {
	m        *model
	flow     Flow
	wants    EventSet
	path     Path
	d        Decision
	on       bool
	nxt, una uint32
	inFlight units.Bytes
	last     units.Time // when the last packet was sent
	some     bool
	waking   units.Time
	gate     CNPGate
	acked    units.Bytes
	out      units.Time // when the last packet reaches the switch
	back     units.Time // when the last acknowledgement is processed
}

type modelEvent struct {
	at  units.Time
	seq int
	do  func()
}

// eventHeap is the pending events, the earliest first; events of one time are in the order of their
// scheduling.
type eventHeap []modelEvent

func (h eventHeap) before(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

func (h *eventHeap) push(e modelEvent) {
	*h = append(*h, e)
	for i := len(*h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			return
		}
		(*h)[i], (*h)[parent] = (*h)[parent], (*h)[i]
		i = parent
	}
}

func (h *eventHeap) pop() modelEvent {
	old := *h
	first, last := old[0], len(old)-1
	old[0] = old[last]
	old[last] = modelEvent{}
	*h = old[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		(*h)[i], (*h)[least] = (*h)[least], (*h)[i]
		i = least
	}
}

func (m *model) after(d units.Duration, do func()) {
	m.seq++
	m.events.push(modelEvent{m.now.Add(d), m.seq, do})
}

// jitter returns an additional delay of a host. Without it flows lock into a phase in which always
// the same ones meet the queue.
const jitter = 500 * units.Nanosecond

// inOrder schedules a function after a delay and a jitter, but not before last, and returns when.
func (m *model) inOrder(last units.Time, d units.Duration, do func()) units.Time {
	at := max(last, m.now.Add(d+units.Duration(m.random.Int64N(int64(jitter)))))
	m.after(at.Sub(m.now), do)
	return at
}

// newModel returns a network with a base round trip of path.BaseRTT.
func newModel(path Path, marks red, seed uint64) *model {
	m := &model{path: path, marks: marks, random: rand.New(rand.NewPCG(seed, 7))}
	m.pollAt = units.Time(0).Add(units.Forever)
	return m
}

// wire returns how long a packet takes on a link.
func (m *model) wire() units.Duration { return m.path.LineRate.Duration(m.path.Payload) }

// oneWay returns the propagation delay of the link to the switch, and of the one from it; an
// acknowledgement takes twice as long.
func (m *model) oneWay() units.Duration { return (m.path.BaseRTT - 2*m.wire() - 2*jitter) / 4 }

// add starts a flow at a time.
func (m *model) add(a Algorithm, at units.Time) *sender {
	s := &sender{m: m, path: m.path}
	m.flows = append(m.flows, s)
	m.after(at.Sub(m.now), func() {
		s.flow = m.ctl.Add(a, m.now)
		s.wants = m.ctl.Events(s.flow)
		s.on = true
		s.apply()
	})
	return s
}

func (s *sender) stop() { s.on = false }

// run runs the model until t.
func (m *model) run(t units.Time) {
	for {
		if len(m.events) > 0 && m.events[0].at <= m.pollAt {
			if m.events[0].at > t {
				break
			}
			e := m.events.pop()
			m.now = e.at
			e.do()
		} else if m.pollAt <= t {
			m.now = max(m.now, m.pollAt)
		} else {
			break
		}
		if m.pollAt <= m.now {
			m.pollAt = m.ctl.Poll(m.now)
			for f, some := m.ctl.Changed(); some; f, some = m.ctl.Changed() {
				for _, s := range m.flows {
					if s.on && s.flow == f {
						s.apply()
					}
				}
			}
		}
	}
	m.now = t
}

func (s *sender) report(ev Event) {
	ev.Flow, ev.SndNxt, ev.InFlight, ev.Left = s.flow, s.nxt&0xffffff, s.inFlight, 1<<30
	if s.on && s.wants.Has(ev.Kind) {
		s.m.ctl.Report(&ev, s.m.now)
		s.apply()
	}
}

func (s *sender) apply() {
	s.d, _ = s.m.ctl.Decision(s.flow)
	if at := s.d.WakeAt; at != 0 && at < s.m.pollAt {
		s.m.pollAt = at
	}
	s.send()
}

// send sends what may be sent now, and schedules itself for when more may be.
func (s *sender) send() {
	m := s.m
	if !s.on || s.d.Hold || s.inFlight > 0 && s.inFlight+m.path.Payload > s.d.Window {
		return
	}
	at := m.now
	if s.some {
		gap := m.wire()
		if s.d.Rate > 0 {
			gap = max(gap, s.d.Rate.Duration(m.path.Payload))
		}
		at = max(at, s.last.Add(gap))
	}
	if at > m.now {
		if s.waking <= m.now || at < s.waking {
			s.waking = at
			m.after(at.Sub(m.now), func() {
				if s.waking == at { // no earlier wake-up was scheduled
					s.waking = 0
					s.send()
				}
			})
		}
		return
	}
	f := &frame{from: s, psn: s.nxt, sent: m.now, flags: s.d.Tag(1 << 30)}
	s.nxt++
	s.inFlight += m.path.Payload
	s.last, s.some = m.now, true
	s.out = m.inOrder(s.out, m.wire()+m.oneWay(), func() { m.arrive(f) })
	s.report(Event{Kind: TX, PSN: f.psn & 0xffffff, Packets: 1, Bytes: m.path.Payload})
	s.d.Tags &^= BoltAI
	s.send()
}

// arrive processes the arrival of a frame at the switch.
func (m *model) arrive(f *frame) {
	m.bolt(f)
	m.queue = append(m.queue, f)
	m.queued += m.path.Payload
	m.maxQueued = max(m.maxQueued, m.queued)
	if !m.busy {
		m.depart()
	}
}

// depart sends the frame at the head of the queue.
func (m *model) depart() {
	if len(m.queue) == 0 {
		m.busy = false
		return
	}
	m.busy = true
	f := m.queue[0]
	m.queue = m.queue[1:]
	switch q := m.queued; { // including the departing frame
	case q > m.marks.high:
		f.ce = true
	case q > m.marks.low:
		f.ce = m.random.Float64() < m.marks.p*float64(q-m.marks.low)/
			float64(m.marks.high-m.marks.low)
	}
	m.queued -= m.path.Payload
	m.sent += uint32(m.path.Payload)
	f.hop = Hop{Port: 1, Rate: m.path.LineRate, Time: uint32(m.now / units.Time(units.Nanosecond)),
		Sent: m.sent, Queue: m.queued}
	m.after(m.wire(), func() {
		f.from.back = m.inOrder(f.from.back, 3*m.oneWay(), func() { f.from.acknowledge(f) })
		m.depart()
	})
}

func (s *sender) acknowledge(f *frame) {
	m := s.m
	s.una = f.psn + 1
	s.inFlight -= m.path.Payload
	s.acked += m.path.Payload
	ev := Event{Kind: ACK, PSN: s.una & 0xffffff, Packets: 1, Bytes: m.path.Payload,
		INT: []Hop{f.hop}, Bolt: f.flags, SRC: f.src}
	if f.ce {
		ev.Marked = 1
	}
	if f.flags&BoltINC != 0 {
		ev.Increases = 1
	}
	switch {
	case s.wants.Has(RTT):
		ev.Kind, ev.Delay = RTT, m.now.Sub(f.sent)
	case f.ce && s.wants.Has(ECN):
		ev.Kind = ECN
	}
	s.report(ev)
	if f.ce && s.gate.Marked(m.now) {
		s.report(Event{Kind: CNP, PSN: s.una & 0xffffff})
	}
	s.send()
}

// bolt processes a frame as a Bolt switch does.
func (m *model) bolt(f *frame) {
	mtu := float64(m.path.Payload)
	m.supply += float64(m.path.LineRate)/8*m.now.Sub(m.supplyAt).Seconds() - mtu
	m.supply, m.supplyAt = min(m.supply, mtu), m.now
	switch {
	case m.queued >= 2*m.path.Payload:
		f.flags &^= BoltINC
		f.flags |= BoltDEC
		src := SRC{Drain: m.path.LineRate.Duration(m.queued), Rate: m.path.LineRate, Sent: f.sent}
		f.src = src
		m.after(m.oneWay(), func() { f.from.report(Event{Kind: CST, SRC: src}) })
	case f.flags&BoltLast != 0 && f.flags&BoltFirst == 0:
		m.ramp = min(m.ramp+1, 256)
	case m.ramp > 0 && f.flags&BoltINC != 0:
		m.ramp--
	case m.supply >= mtu && f.flags&BoltINC != 0:
		m.supply -= mtu
	default:
		f.flags &^= BoltINC
	}
}
