package perftest

import (
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

const (
	completions = 64 // polled from a queue at a time
	// queue pairs visited in a round; it keeps rounds short with thousands of queue pairs
	visits    = 64
	turn      = 128 // messages that a queue pair posts in a visit
	unlimited = math.MaxUint64
)

// sender keeps the send queues of an endpoint full and measures. It is the goroce.Program of
// bandwidth tests; its state belongs to the polling core while it runs.
type sender struct {
	streams []stream
	cq      *transport.CompletionQueue
	wcs     [completions]transport.WorkCompletion
	clock   func() units.Time

	depth    int // of the send queues
	window   int // outstanding messages of each stream, at most
	cqMod    uint32
	postList int
	limit    uint64 // messages of each stream; unlimited in a timed run
	warm     uint64 // messages of all streams before measuring, with --perform_warm_up
	limiter  *limiter
	check    bool // check the data of READs and atomics

	duration, margin units.Duration
	phaseAt          units.Time // start of the next phase of a timed run
	phase            phase

	next      int    // stream to visit next
	done      uint64 // completed messages of all streams
	posted    uint64
	finished  int // streams that have reached the limit
	meter     meter
	latencies *latencies
	cut       uint64 // messages outstanding when the time was over
	halt      bool   // requested to end
	err       error
}

// phase is a part of a timed run.
type phase uint8

const (
	phaseStart    phase = iota
	phaseWarm           // the margin before
	phaseMeasured       //
	phaseCool           // the margin after
	phaseDrain          // waits for completions; nothing is posted
	phaseCut            // the time for that is over
)

// drainTime is how long a timed run waits for what is outstanding at its end.
const drainTime = 100 * units.Millisecond

// stream is the state of one queue pair of a sender.
type stream struct {
	qp        *transport.QueuePair
	wr        transport.WorkRequest // reused for every message
	posted    uint64
	completed uint64
	local     cursor
	remote    cursor
	quiet     uint32 // messages since the last signalled one

	stamps     []units.Time // ring of the posting times of outstanding signalled messages
	head, tail uint32

	base, last uint64     // completed at the start and end of measuring
	endAt      units.Time // when it reached its limit

	check *sendCheck
}

func (l *queueSet) newSender(size int) *sender {
	s := l.settings
	m := &sender{
		streams: make([]stream, len(l.pairs)), cq: l.sendCQ, clock: l.host.Now,
		depth: l.sendDepth(), window: s.window(size), cqMod: uint32(s.cqMod(size)),
		postList: s.PostList,
		limit:    uint64(s.Iters), check: s.Validate && s.Test.isOneSided(), duration: s.Duration,
		margin: s.Margin,
		meter:  newMeter(s.window(size) * len(l.pairs)), latencies: newLatencies(),
	}
	m.cqMod = min(m.cqMod, uint32(m.window))
	m.postList, m.limiter = min(m.postList, m.window), s.newLimiter(size)
	switch {
	case s.Duration > 0:
		m.limit = unlimited
	case s.WarmUp:
		m.limit += uint64(m.window)
		m.warm = uint64(m.window * len(l.pairs))
	}
	if s.Infinitely {
		m.duration, m.margin = units.Forever, units.Forever
	}
	ring := 1
	for ring < m.depth/int(m.cqMod)+signalRoom {
		ring *= 2
	}
	for i := range m.streams {
		st := &m.streams[i]
		p := &l.pairs[i]
		st.qp, st.stamps = p.qp, make([]units.Time, ring)
		st.wr = l.workRequest(p, size)
		span := s.spanOf(size)
		st.local = newCursor(l.mr.Addr+uint64(p.from), span)
		st.remote = newCursor(p.region.Addr, span)
		if s.Test.Verb == Atomic {
			st.remote = newCursor(p.region.Addr, atomicSpan)
		}
		if s.Validate || st.wr.Op == transport.OpCmpSwap || st.wr.Inline {
			st.check = &sendCheck{
				mem: l.mr.Bytes(), base: l.mr.Addr, size: size, pair: uint64(p.number),
				validate: s.Validate, atomic: s.Test.Verb == Atomic, slots: span.slots,
				from: p.from, stride: span.stride,
			}
		}
	}
	return m
}

// atomicSpan is the span of an atomic's counter: a single place.
var atomicSpan = span{stride: cacheLine, slots: 1}

// workRequest returns the request that a pair reuses for every message.
func (l *queueSet) workRequest(p *pair, size int) transport.WorkRequest {
	s := l.settings
	wr := transport.WorkRequest{SGList: []transport.SGE{l.mr.SGE(p.from, size)},
		RKey: p.region.RKey, CompareAdd: 1}
	switch s.Test.Verb {
	case Write:
		wr.Op = transport.OpWrite
		if s.WriteWithImm {
			wr.Op = transport.OpWriteImm
		}
	case Read:
		wr.Op = transport.OpRead
	case Send:
		wr.Op = transport.OpSend
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = l.ah, p.qpn(), udQKey
	case Atomic:
		wr.Op = transport.OpFetchAdd
		if s.AtomicType == CmpAndSwap {
			wr.Op = transport.OpCmpSwap
		}
	}
	wr.Inline = !s.Test.isOneSided() && size <= s.Inline
	return wr
}

// Step implements goroce.Program.
func (m *sender) Step(_ *transport.Endpoint, now units.Time) (busy, done bool) {
	if m.phase == phaseStart {
		m.begin()
	}
	reaped := m.reap(now)
	before := m.posted
	if m.err == nil {
		m.fill(now)
	}
	if m.err != nil || m.halt {
		m.close()
		return true, true
	}
	if m.warm > 0 && m.done >= m.warm {
		m.warm = 0
		m.measureFrom(now)
	}
	m.meter.tick(now, m.done)
	if !m.phaseAt.After(now) {
		m.nextPhase(now)
	}
	if m.over() {
		m.close()
		return true, true
	}
	return reaped > 0 || m.posted != before, false
}

// begin starts the clock.
func (m *sender) begin() {
	now := m.clock()
	m.phase, m.phaseAt = phaseWarm, now.Add(units.Forever)
	m.meter.start(now, 0)
	if m.duration > 0 {
		m.phaseAt = now.Add(m.margin)
	}
}

// measureFrom starts measuring.
func (m *sender) measureFrom(now units.Time) {
	m.meter.start(now, m.done)
	m.latencies.reset()
	for i := range m.streams {
		m.streams[i].base, m.streams[i].endAt = m.streams[i].completed, 0
	}
}

// interval ends one measurement and starts the next. It returns the sender as the first one left
// it.
func (m *sender) interval(fresh *latencies) *sender {
	now := m.clock()
	m.settleAll(now)
	m.freeze(now)
	ended := *m
	ended.streams = slices.Clone(m.streams)
	m.latencies = fresh
	m.measureFrom(now)
	return &ended
}

// nextPhase advances a timed run.
func (m *sender) nextPhase(now units.Time) {
	m.settleAll(now)
	switch m.phase++; m.phase {
	case phaseMeasured:
		m.measureFrom(now)
		m.phaseAt = now.Add(m.duration - 2*m.margin)
	case phaseCool:
		m.freeze(now)
		m.phaseAt = now.Add(m.margin)
	case phaseDrain:
		m.phaseAt = now.Add(drainTime)
	case phaseCut:
		m.phaseAt, m.cut = now.Add(units.Forever), m.posted-m.done
	}
}

// freeze ends measuring.
func (m *sender) freeze(now units.Time) {
	m.meter.stop(now, m.done)
	for i := range m.streams {
		st := &m.streams[i]
		st.last = st.completed
		if st.endAt == 0 {
			st.endAt = now
		}
	}
}

// over reports whether all messages are posted and completed.
func (m *sender) over() bool {
	if m.limit != unlimited {
		return m.finished == len(m.streams)
	}
	return m.phase == phaseDrain && m.done == m.posted || m.phase == phaseCut
}

// close ends the run; after a failure it may still be measuring.
func (m *sender) close() {
	if m.meter.running {
		m.freeze(m.clock())
	}
}

// reap handles all completions and returns their number. Completion queue and stamps have room for
// all outstanding messages.
func (m *sender) reap(now units.Time) (reaped int) {
	for {
		n := m.cq.Poll(m.wcs[:])
		for i := range n {
			wc := &m.wcs[i]
			if wc.Status != transport.StatusSuccess {
				m.err = failure(m.cq, m.wcs[i:n])
				return reaped
			}
			st := &m.streams[wc.ID>>idShift]
			m.latencies.record(now.Sub(st.stamps[st.head&uint32(len(st.stamps)-1)]))
			st.head++
			if m.check {
				if m.err = st.check.arrived(st.completed); m.err != nil {
					return reaped
				}
				st.completed++
				m.done++
			}
		}
		reaped += n
		if n < len(m.wcs) {
			return reaped
		}
	}
}

// settle updates a stream's completed messages and returns the outstanding ones. It uses the room
// in the send queue, since not every message has a completion.
func (m *sender) settle(st *stream, now units.Time) (outstanding int) {
	if !m.check {
		completed := st.posted - uint64(m.depth-st.qp.SendRoom())
		m.done += completed - st.completed
		st.completed = completed
	}
	if st.completed == m.limit && st.endAt == 0 {
		st.endAt = now
		m.finished++
	}
	return int(st.posted - st.completed)
}

func (m *sender) settleAll(now units.Time) {
	for i := range m.streams {
		m.settle(&m.streams[i], now)
	}
}

// fill posts messages on the next streams.
func (m *sender) fill(now units.Time) {
	allowed := math.MaxInt
	if m.limiter != nil {
		allowed = m.limiter.allowed(now)
	}
	for range min(len(m.streams), visits) {
		st := &m.streams[m.next]
		i := m.next
		if m.next++; m.next == len(m.streams) {
			m.next = 0
		}
		n := m.window - m.settle(st, now)
		left := m.limit - st.posted
		if m.phase == phaseDrain {
			left = 0
		}
		if uint64(n) > left {
			n = int(left)
		} else if m.postList > 1 {
			n -= n % m.postList
		}
		if n = min(n, allowed, max(turn, m.postList)); n > 0 {
			m.post(st, uint64(i), n, now)
			allowed -= n
			if m.limiter != nil {
				m.limiter.credit -= float64(n)
			}
		}
		if m.err != nil {
			return
		}
	}
}

// post posts n messages of a stream.
func (m *sender) post(st *stream, index uint64, n int, now units.Time) {
	wr := &st.wr
	mask := uint32(len(st.stamps) - 1)
	for range n {
		wr.Signaled = false
		wr.SGList[0].Addr, wr.RemoteAddr = st.local.next(), st.remote.next()
		if st.check != nil {
			st.check.prepare(wr, st.posted)
		}
		if st.quiet++; st.quiet >= m.cqMod || st.posted+1 == m.limit {
			st.quiet = 0
			wr.Signaled = true
			st.stamps[st.tail&mask] = now
			st.tail++
		}
		wr.ID = index<<idShift | st.posted&idMask
		if err := st.qp.PostSend(wr); err != nil {
			m.err = fmt.Errorf("message %d: %w", st.posted, err)
			return
		}
		st.posted++
		m.posted++
	}
}

// rate returns the messages/s of a stream from begin to its own end.
func (m *sender) rate(st *stream) float64 {
	d := st.endAt.Sub(m.meter.from)
	if d <= 0 {
		return 0
	}
	return float64(st.last-st.base) / d.Seconds()
}
