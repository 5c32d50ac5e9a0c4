package transport

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A minimal receiver-driven control: a sender that reports what waits, a receiver that grants it,
// so much at a time, and both repeat every 50 us what was not answered.

const (
	grantSize   = 4096
	repeatAfter = 50 * units.Microsecond
)

var errInvalidCounter = errors.New("counter runs backwards")

type plainGate struct {
	spent, limit   uint32
	next           units.Time
	waiting        units.Bytes
	marks          cc.Marks
	wants          cc.MarkSet
	received       []cc.ControlMessage
	posted, lost   units.Bytes
	withData       bool
	ignoresControl bool // ignores control messages
}

func (g *plainGate) Posted(n units.Bytes, b cc.Backlog, now units.Time) {
	g.posted, g.waiting, g.next = g.posted+n, b.Waits, now
}

func (g *plainGate) Ready(p *cc.Outgoing, _ units.Time) bool {
	return uint32(p.Bytes) <= g.limit-g.spent
}

func (g *plainGate) Sent(p *cc.Outgoing, _ units.Time) cc.Marks {
	g.spent += uint32(p.Bytes)
	g.waiting = p.Waits - p.Bytes
	return g.marks
}

func (g *plainGate) Lost(n units.Bytes, b cc.Backlog, now units.Time) {
	g.lost, g.waiting, g.next = g.lost+n, b.Waits, now
}

func (g *plainGate) Receive(n *cc.ControlMessage, _ cc.Backlog, now units.Time) error {
	if !g.ignoresControl {
		g.received = append(g.received, *n)
	}
	if n.Limit > 1<<30 && !g.ignoresControl {
		return errInvalidCounter
	}
	if int32(n.Limit-g.limit) > 0 {
		g.limit = n.Limit
	}
	return nil
}

func (g *plainGate) Emit(b cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	g.waiting, g.next = b.Waits, 0
	if b.Waits > 0 {
		g.next = now.Add(repeatAfter)
	}
	return cc.ControlMessage{Kind: cc.RTS, Demand: g.spent + uint32(b.Waits), Spent: g.spent, CE: 3,
		Seq: 9, Flags: cc.FlagEnd, WithData: g.withData}, true
}

func (g *plainGate) Next() units.Time  { return g.next }
func (g *plainGate) Marks() cc.MarkSet { return g.wants }

type plainGranter struct {
	demand, limit  uint32
	window         uint32
	arrived        uint32
	missing        int
	next           units.Time
	seq            uint16
	arrivals       []cc.Arrival
	received       []cc.ControlMessage
	queue          int
	rank           int
	releases       units.Bytes
	algorithm      cc.Algorithm
	reporter       cc.Reporter
	decisions      []cc.Decision
	ignoresControl bool
}

func (g *plainGranter) Arrived(a *cc.Arrival, now units.Time) {
	if !g.ignoresControl {
		g.arrivals = append(g.arrivals, *a)
	}
	g.arrived += uint32(a.Bytes)
	g.setNext(now)
}

func (g *plainGranter) setNext(now units.Time) {
	switch {
	case g.limit == g.demand && g.arrived >= g.limit:
		g.next = 0
	case g.limit != g.demand && g.limit-min(g.arrived, g.limit) < g.window:
		g.next = now
	default:
		g.next = now.Add(repeatAfter)
	}
}

func (g *plainGranter) Missing(n int, _ units.Bytes, _ units.Time) { g.missing += n }
func (g *plainGranter) Consumed(units.Bytes, units.Time)           {}

func (g *plainGranter) Receive(n *cc.ControlMessage, now units.Time) error {
	if !g.ignoresControl {
		g.received = append(g.received, *n)
	}
	if n.Demand > 1<<30 && !g.ignoresControl {
		return errInvalidCounter
	}
	if int32(n.Demand-g.demand) > 0 {
		g.demand = n.Demand
	}
	g.arrived = max(g.arrived, n.Spent)
	g.next = now // an answer, in any case
	return nil
}

func (g *plainGranter) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	if g.limit-min(g.arrived, g.limit) < g.window {
		g.limit += min(grantSize, g.demand-g.limit)
	}
	g.seq++
	g.setNext(now)
	return cc.ControlMessage{Kind: cc.TOKEN, Limit: g.limit, Seq: g.seq, Priority: 5,
		Missing: incomplete, Releases: g.releases, TrafficClass: 44<<2 | wire.ECNECT0,
		Classed: true}, true
}

func (g *plainGranter) Next() units.Time                  { return g.next }
func (g *plainGranter) Rank() int                         { return g.rank }
func (g *plainGranter) QueueCapacity() int                { return g.queue }
func (g *plainGranter) Algorithm() cc.Algorithm           { return g.algorithm }
func (g *plainGranter) Attach(r cc.Reporter)              { g.reporter = r }
func (g *plainGranter) Apply(d cc.Decision, _ units.Time) { g.decisions = append(g.decisions, d) }

// admittedPair is a connection whose client may send what its server grants. Their neighbour
// entries are resolved.
func admittedPair(t testing.TB, o sideOptions) (p *pair, a, b *side, g *plainGate,
	r *plainGranter) {
	p = newPair(t)
	a, b = o.make(t, p.a), o.make(t, p.b)
	g, r = &plainGate{}, &plainGranter{window: 16384}
	require.NoError(t, a.qp.admit(g, &plainGranter{window: 1}))
	require.NoError(t, b.qp.admit(&plainGate{}, r))
	o.features |= wire.FeatureToken
	a.connect(t, o, b)
	b.connect(t, o, a)
	p.settle(10 * units.Microsecond)
	p.la.record, p.lb.record = true, true
	return p, a, b, g, r
}

// A WRITE leaves as it is granted: as much as that, and not before. Both halves are notified of
// everything.
func TestAdmission(t *testing.T) {
	p, a, b, g, r := admittedPair(t, defaults())
	fill(a.mem, 1)
	g.marks = cc.Marks{Set: cc.MarkUnscheduled | cc.MarkTokenMarked,
		TrafficClass: 10<<2 | wire.ECNECT0, Classed: true}
	const size = 50_000
	a.write(t, b, size)
	got := p.await(a, 1)
	require.Equal(t, StatusSuccess, got[0].Status)
	assert.Equal(t, a.mem[:size], b.mem[:size])
	assert.EqualValues(t, size, g.posted)
	assert.EqualValues(t, size, r.limit, "what was granted is what was asked for")
	assert.EqualValues(t, size, g.spent)
	assert.Zero(t, g.waiting)
	assert.Len(t, r.arrivals, (size+1023)/1024)
	assert.Equal(t, cc.Arrival{Bytes: 1024, Set: cc.MarkUnscheduled | cc.MarkTokenMarked,
		AfterRTS: true}, r.arrivals[0])
	assert.Equal(t, cc.RTS, r.received[0].Kind)
	assert.Equal(t, cc.ControlMessage{Kind: cc.RTS, Demand: size, CE: 3, Seq: 9,
		Flags: cc.FlagEnd}, r.received[0])
	assert.Equal(t, cc.ControlMessage{Kind: cc.TOKEN, Limit: 4096, Seq: 1, Priority: 5},
		g.received[0])
	var first wire.Packet
	for i, frame := range p.lb.sent { // the token before everything that it releases
		if require.NoError(t, first.Parse(frame)); first.Op == wire.Token {
			assert.Zero(t, i)
			assert.EqualValues(t, 44, first.DSCP)
			assert.EqualValues(t, wire.ECNECT0, first.ECN)
			break
		}
	}
	require.NoError(t, first.Parse(p.la.sent[1]))
	assert.EqualValues(t, 10, first.DSCP, "the gate chooses the class of a packet")
	assert.Zero(t, p.a.counters.DropNotice+p.b.counters.DropNotice+p.a.counters.DropUnnegotiated)
	p.conserved()
}

// Loss of data, RTS, TOKEN or ACK costs time and nothing else, with selective repeat and without.
func TestAdmissionWithLoss(t *testing.T) {
	for _, sack := range []uint16{0, 256} {
		for seed := range uint64(40) {
			o := defaults()
			o.sack, o.timeout = sack, 7
			p, a, b, g, r := admittedPair(t, o)
			p.la.record, p.lb.record = false, false
			rng := rand.New(rand.NewPCG(seed, 1))
			lossy := func([]byte) int {
				switch {
				case rng.IntN(10) == 0:
					return 0
				case rng.IntN(20) == 0:
					return 2
				}
				return 1
			}
			fill(a.mem, byte(seed))
			p.la.tamper, p.lb.tamper = lossy, lossy
			total := 0
			for range 4 {
				n := 1 + rng.IntN(30_000)
				total += n
				a.write(t, b, n)
			}
			got := p.await(a, 4)
			for _, wc := range got {
				require.Equal(t, StatusSuccess, wc.Status, "seed %d", seed)
			}
			p.la.tamper, p.lb.tamper = nil, nil
			p.settle(units.Millisecond)
			assert.Zero(t, a.qp.adm.backlog().Waits)
			assert.Zero(t, a.qp.adm.backlog().InFlight)
			assert.GreaterOrEqual(t, g.spent, uint32(total))
			assert.LessOrEqual(t, g.spent, r.limit)
			if sack > 0 {
				assert.LessOrEqual(t, int(g.spent), total+int(g.lost),
					"selective repeat retransmits only lost packets")
			}
			p.conserved()
		}
	}
}

// Backlog agrees with a model of the queue, with and without READs and lost packets.
func TestBacklog(t *testing.T) {
	o := defaults()
	o.sack = 256
	p, a, b, g, r := admittedPair(t, o)
	r.window = 0 // grants nothing
	a.write(t, b, 3000)
	assert.Equal(t, cc.Backlog{Waits: 3000}, a.qp.adm.backlog())
	a.post(t, WorkRequest{Op: OpRead, SGList: []SGE{a.mr.SGE(0, 500)}, RemoteAddr: b.mr.Addr,
		RKey: b.mr.RKey})
	a.write(t, b, 700)
	assert.Equal(t, cc.Backlog{Waits: 3700}, a.qp.adm.backlog(), "READs do not count")
	g.limit = 1024
	p.settle(units.Microsecond / 2)
	assert.Equal(t, cc.Backlog{Waits: 2676, InFlight: 1024}, a.qp.adm.backlog())
	p.settle(10 * units.Microsecond)
	assert.Equal(t, cc.Backlog{Waits: 2676, InFlight: 1024}, a.qp.adm.backlog(),
		"no packet asked for an ACK, and with READs outstanding no TOKEN is one")
	g.limit = 1 << 20
	p.la.tamper = func(frame []byte) int { return 0 }
	p.a.scheduleRequests(a.qp)
	p.settle(units.Microsecond)
	assert.Equal(t, cc.Backlog{InFlight: 3700}, a.qp.adm.backlog())
	p.la.tamper = nil
	p.await(a, 2)
	assert.Equal(t, cc.Backlog{}, a.qp.adm.backlog())
}

// TOKENs acknowledge what has arrived, so that not each packet for them must ask for an ACK.
func TestTokensAcknowledge(t *testing.T) {
	const packets, size = 64, 64 * 1024
	p, a, b, g, r := admittedPair(t, defaults())
	r.window = 1 // one TOKEN of four packets at a time
	a.write(t, b, size)
	most := units.Bytes(0)
	p.la.tamper = func([]byte) int { most = max(most, a.qp.adm.backlog().InFlight); return 1 }
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	assert.EqualValues(t, size, g.spent)
	assert.EqualValues(t, packets/ackEvery, p.b.counters.AcksSent)
	assert.LessOrEqual(t, most, units.Bytes(2*grantSize))
}

// Packets that used up the tokens and asked for no ACK are acknowledged, without TOKENs and without
// a timeout: the RTS behind them asks for it.
func TestRTSBehindDataIsAcknowledged(t *testing.T) {
	o := defaults()
	o.timeout = 0
	p, a, b, g, _ := admittedPair(t, o)
	p.lb.tamper = func(frame []byte) int {
		if q, ok := parsed(frame); ok && q.Op == wire.Token {
			return 0
		}
		return 1
	}
	g.limit = 4 * 1024
	a.write(t, b, 20_000)
	p.settle(10 * units.Microsecond)
	require.EqualValues(t, g.limit, g.spent)
	require.EqualValues(t, g.limit, a.qp.loss.flight())
	g.withData = true
	p.settle(units.Millisecond)
	assert.Zero(t, a.qp.loss.flight())
	assert.Zero(t, p.a.counters.Timeouts)
}

// A silent peer is detected though nothing is in flight; one that replies and grants nothing is
// not.
func TestAdmissionOfADeadPeer(t *testing.T) {
	o := defaults()
	o.timeout = 4 // 65 us
	p, a, b, _, r := admittedPair(t, o)
	r.window = 0
	a.write(t, b, 3000)
	p.settle(20 * units.Millisecond)
	require.Empty(t, a.poll(), "the peer replies")
	p.lb.tamper = func([]byte) int { return 0 }
	require.Equal(t, StatusRetryExcErr, p.await(a, 1)[0].Status)
}

// A queue pair whose peer does not support tokens goes on without them.
func TestAdmissionNeedsThePeer(t *testing.T) {
	p := newPair(t)
	o := defaults()
	a, b := o.make(t, p.a), o.make(t, p.b)
	g := &plainGate{}
	require.NoError(t, a.qp.admit(g, &plainGranter{}))
	assert.NotZero(t, a.qp.Offer().Features&wire.FeatureToken)
	assert.Zero(t, b.qp.Offer().Features&wire.FeatureToken)
	a.connect(t, o, b)
	b.connect(t, o, a)
	assert.False(t, a.qp.Stats().Admission.Active)
	a.write(t, b, 3000)
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	assert.Zero(t, g.spent)
	require.ErrorIs(t, a.qp.admit(g, nil), ErrState)
	uc, err := p.a.CreateQP(QPInit{Type: UC, PD: a.pd, SendCQ: a.cq, RecvCQ: a.cq})
	require.NoError(t, err)
	require.ErrorIs(t, uc.admit(g, nil), errors.ErrUnsupported)
}

// Packets may carry the number of their grant.
func TestGrantsOnPackets(t *testing.T) {
	o := defaults()
	p := newPair(t)
	a, b := o.make(t, p.a), o.make(t, p.b)
	g, r := &plainGate{wants: cc.MarkGrant, marks: cc.Marks{Set: cc.MarkGrant, Grant: 0x1234}},
		&plainGranter{window: 16384}
	require.NoError(t, a.qp.admit(g, nil))
	require.NoError(t, b.qp.admit(nil, r))
	o.features = wire.FeatureToken
	a.connect(t, o, b)
	b.connect(t, o, a)
	p.settle(10 * units.Microsecond) // at time 0 nothing is due, because 0 means never
	fill(a.mem, 3)
	a.write(t, b, 5000)
	require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
	assert.True(t, bytes.Equal(a.mem[:5000], b.mem[:5000]))
	for _, in := range r.arrivals {
		assert.EqualValues(t, 0x1234, in.Grant)
		assert.NotZero(t, in.Set&cc.MarkGrant)
	}
}

// A packet that did not arrive is reported missing, once; also after an RTS that took the path of
// the data.
func TestMissingIsReportedOnce(t *testing.T) {
	p, a, b, g, r := admittedPair(t, defaults())
	g.limit, r.demand, r.limit, r.arrived = 1<<20, 1<<20, 1<<20, 1<<20
	n := 0
	p.la.tamper = func([]byte) int {
		if n++; n == 3 {
			return 0
		}
		return 1
	}
	a.write(t, b, 5000)
	p.await(a, 1)
	assert.Equal(t, 1, r.missing)

	r.missing, g.withData = 0, true
	p.la.tamper = func(f []byte) int {
		if f[14+20+8] != uint8(wire.RTS) {
			return 0
		}
		return 1
	}
	a.write(t, b, 3000)
	p.settle(2 * units.Microsecond)
	g.next = p.now
	p.a.scheduleResponses(a.qp)
	p.settle(5 * units.Microsecond)
	assert.Equal(t, 3, r.missing)
	p.la.tamper = nil
	p.await(a, 1)
}

// Tokens of an endpoint leave no faster than the data that they release can arrive, higher ranks
// first, equal ones in turns.
func TestTokensAreSpaced(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.features = wire.FeatureToken
	p.a.info.LinkRate, p.b.info.LinkRate = 10*units.Gbps, 10*units.Gbps
	var sides, remote [3]*side
	for i := range sides {
		a, b := o.make(t, p.a), o.make(t, p.b)
		r := &plainGranter{window: 1 << 20, releases: 5000, rank: i / 2}
		require.NoError(t, a.qp.admit(&plainGate{}, nil))
		require.NoError(t, b.qp.admit(nil, r))
		a.connect(t, o, b)
		b.connect(t, o, a)
		sides[i], remote[i] = a, b
		defer func() { assert.EqualValues(t, 40_960, r.limit) }()
	}
	p.settle(10 * units.Microsecond)
	p.lb.record = true
	for i, a := range sides {
		a.write(t, remote[i], 40_960)
	}
	began := p.now
	var order []int
	for p.now.Sub(began) < 200*units.Microsecond {
		before := len(p.lb.sent)
		next := p.step()
		for _, f := range p.lb.sent[before:] {
			var pk wire.Packet
			if pk.Parse(f) == nil && pk.Op == wire.Token {
				for i, a := range sides {
					if a.qp.Num == pk.DestQP {
						order = append(order, i)
					}
				}
				if n := len(order); n > 1 {
					assert.GreaterOrEqual(t, p.now.Sub(began),
						units.Duration(n-1)*4*units.Microsecond-units.Microsecond)
				}
			}
		}
		p.now = units.Earlier(next, p.now.Add(units.Microsecond/4))
	}
	require.Greater(t, len(order), 25)
	assert.Equal(t, []int{2, 2, 2, 2, 2, 2, 2, 2, 2}, order[1:10],
		"the highest rank first, from the second on")
	assert.NotEqual(t, order[12], order[13])
	assert.NotEqual(t, order[13], order[14])
}

// Tokens of a granter that queues them at the endpoint are dropped if they find the queue full.
func TestTokensAreDropped(t *testing.T) {
	p, a, b, _, r := admittedPair(t, defaults())
	p.b.info.LinkRate = units.Gbps
	r.queue, r.window, r.releases = 4, 1<<20, 10_000
	a.write(t, b, 60_000)
	p.settle(30 * units.Microsecond)
	assert.NotZero(t, p.b.counters.TokensDropped)
	p.await(a, 1)
}

// Impossible control messages have no effect, from either end.
func TestForgedControlMessages(t *testing.T) {
	p, a, b, g, r := admittedPair(t, defaults())
	r.window = 0
	a.write(t, b, 3000)
	p.settle(20 * units.Microsecond)
	received := len(g.received)
	forge := func(op wire.Opcode, tag uint16, psn wire.PSN, body func([]byte), n int) {
		frame := make([]byte, 256)
		ext, total := b.qp.tmpl.Build(frame, wire.Fields{Op: op, PSN: psn}, n)
		wire.View[wire.XCH](frame[ext:]).Set(tag, 0)
		body(frame[ext+wire.XCHLen:])
		b.qp.tmpl.Seal(frame[:total])
		var one [1]packet.Buf
		p.la.Alloc(one[:])
		one[0].SetLen(copy(one[0].Room(), frame[:total]))
		one[0].Time = p.now
		p.la.inbox = append(p.la.inbox, one[0])
		p.settle(0)
	}
	token := func(limit uint32, n int) func([]byte) {
		return func(b []byte) { extension.Token(b).Set(limit, 1, n, 0, 0) }
	}
	forge(wire.Token, a.tag()+1, 99, token(4096, 0), 0)
	assert.EqualValues(t, 1, p.a.counters.DropTag)
	forge(wire.Token, a.tag(), 99, token(2<<30, 0), 0)
	assert.EqualValues(t, 1, p.a.counters.DropNotice)
	forge(wire.Token, a.tag(), 200, token(4096, 0), 0)
	assert.EqualValues(t, 2, p.a.counters.DropNotice, "acknowledges a packet never sent")
	forge(wire.Token, a.tag(), 99, token(4096, 3), 4)
	assert.EqualValues(t, 1, p.a.counters.DropExtension, "it has fewer ranges than its count")
	forge(wire.RTS, a.tag(), 100, func(b []byte) { extension.RTS(b).Set(4<<30-1, 0, 0, 0, 0) }, 0)
	assert.EqualValues(t, 3, p.a.counters.DropNotice)
	assert.Zero(t, g.spent)
	assert.LessOrEqual(t, len(g.received), received+2)
	forge(wire.Token, a.tag(), 99, token(4096, 0), 0)
	p.settle(10 * units.Microsecond)
	assert.EqualValues(t, 3000, g.spent)
}

// A granter's congestion control has a flow of its own at the endpoint's controller.
func TestGranterReports(t *testing.T) {
	p := newPair(t)
	o := defaults()
	a, b := o.make(t, p.a), o.make(t, p.b)
	s := &steered{decision: cc.Decision{Window: 7000}}
	r := &plainGranter{window: 1, algorithm: s}
	require.NoError(t, b.qp.admit(nil, r))
	require.NoError(t, a.qp.admit(&plainGate{}, nil))
	require.Equal(t, []cc.Decision{{Window: 7000}}, r.decisions)
	o.features = wire.FeatureToken
	a.connect(t, o, b)
	b.connect(t, o, a)
	s.on = func(*cc.Event, units.Time) { s.decision.Window = 9000 }
	r.reporter.Report(&cc.Event{Kind: cc.ACK, Packets: 3}, p.now)
	assert.Len(t, s.events, 1)
	assert.EqualValues(t, 9000, r.decisions[1].Window)
	s.on = func(*cc.Event, units.Time) { s.decision.Window, s.decision.WakeAt = 1, 0 }
	s.decision.WakeAt = p.now.Add(units.Microsecond)
	r.reporter.Report(&cc.Event{Kind: cc.RTO}, p.now)
	p.settle(3 * units.Microsecond)
	assert.EqualValues(t, 1, r.decisions[len(r.decisions)-1].Window)
	reporter := r.reporter
	b.qp.Destroy()
	reporter.Report(&cc.Event{Kind: cc.ACK}, p.now) // detached
}

// admitted returns the options of a stream with tokens.
func admitted() sideOptions {
	o := defaults()
	o.features = wire.FeatureToken
	o.admit = func() (cc.Gate, cc.Granter) {
		return &plainGate{ignoresControl: true}, &plainGranter{window: 65536, ignoresControl: true}
	}
	return o
}

// offered returns the options of a stream whose ends agree on everything that they support.
func offered() sideOptions {
	o := defaults()
	o.offers = true
	return o
}

// credited returns the options of a stream with so many credits.
func credited(lines uint32) sideOptions {
	o := offered()
	o.admit = func() (cc.Gate, cc.Granter) { return newCreditGate(), newCreditGranter(lines) }
	return o
}

func TestAdmissionAllocatesNothing(t *testing.T) {
	p, as, bs := crossedPair(t, admitted(), 1)
	s := newStream(p, as[0], bs[0], OpWrite, 10_000)
	s.burst(packet.Burst)
	require.Zero(t, testing.AllocsPerRun(50, func() { s.burst(packet.Burst) }))
	require.NotZero(t, p.b.counters.TokensSent)

	p, as, bs = crossedPair(t, credited(512), 1)
	s = newStream(p, as[0], bs[0], OpSend, 10_000)
	s.burst(packet.Burst)
	require.Zero(t, testing.AllocsPerRun(50, func() { s.burst(packet.Burst) }))
	require.NotZero(t, p.a.counters.CreditsHeard)
	require.NotZero(t, p.a.counters.Blocked)
}

// BenchmarkAdmission measures a message of one packet with a token of its own, with credits, and
// without.
func BenchmarkAdmission(b *testing.B) {
	for _, c := range []struct {
		name string
		op   Op
		o    sideOptions
	}{{"none", OpWrite, defaults()}, {"tokens", OpWrite, admitted()}, {"send", OpSend, offered()},
		{"credits", OpSend, credited(1 << 16)}} {
		b.Run(c.name, func(b *testing.B) {
			o := c.o
			o.mtu, o.sges = 4*units.KiB, 1
			p, as, bs := crossedPair(b, o, 1)
			p.tick = 2 * pace.Slot // otherwise rounds would be spent waiting for the wheel
			s := newStream(p, as[0], bs[0], c.op, grantSize)
			b.ReportAllocs()
			for b.Loop() {
				s.burst(packet.Burst)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/packet.Burst,
				"ns/message")
		})
	}
}

// A queue pair that fails releases what its granter shares with others, like one that is reset;
// later decisions have no effect.
func TestGranterEnds(t *testing.T) {
	for name, end := range map[string]func(*QueuePair){
		"error":   func(qp *QueuePair) { _ = qp.Modify(Errored, QPAttr{}) },
		"reset":   func(qp *QueuePair) { _ = qp.Modify(Reset, QPAttr{}) },
		"destroy": (*QueuePair).Destroy,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			late := &pendingController{}
			p.b.cc = late
			o := defaults()
			a, b := o.make(t, p.a), o.make(t, p.b)
			r := &plainGranter{window: 1, algorithm: &steered{decision: cc.Decision{Window: 7000}}}
			require.NoError(t, b.qp.admit(nil, r))
			require.NoError(t, a.qp.admit(&plainGate{}, nil))
			o.features = wire.FeatureToken
			a.connect(t, o, b)
			b.connect(t, o, a)
			require.NotNil(t, r.reporter)
			late.flows = append(late.flows, b.qp.adm.flow)
			end(b.qp)
			assert.Nil(t, r.reporter)
			p.settle(units.Microsecond)
			assert.Empty(t, late.flows)
		})
	}
}

// pendingController reports changes when a test wants, as one on a NIC may: also of a flow that has
// ended.
type pendingController struct {
	cc.Inline
	flows []cc.Flow
}

func (c *pendingController) Changed() (f cc.Flow, ok bool) {
	if len(c.flows) == 0 {
		return c.Inline.Changed()
	}
	f, c.flows = c.flows[0], c.flows[1:]
	return f, true
}

// A granter to which higher ranks leave no time is served before its sender would consider the
// endpoint dead.
func TestLowRanksAreNotStarved(t *testing.T) {
	p := newPair(t)
	o := defaults()
	o.features = wire.FeatureToken
	p.b.info.LinkRate = 100 * units.Mbps
	var sides, remote [2]*side
	for i := range sides {
		r := &plainGranter{window: 1 << 20, releases: 5000, rank: 7 * i, ignoresControl: true}
		sides[i], remote[i] = o.make(t, p.a), o.make(t, p.b)
		require.NoError(t, sides[i].qp.admit(&plainGate{ignoresControl: true}, nil))
		require.NoError(t, remote[i].qp.admit(nil, r))
		sides[i].connect(t, o, remote[i])
		remote[i].connect(t, o, sides[i])
	}
	p.settle(10 * units.Microsecond)
	for range 100 { // 400 us a token, 16 tokens a message: 640 ms
		sides[1].write(t, remote[1], 65_536)
	}
	p.settle(units.Millisecond)
	sides[0].write(t, remote[0], 1000)
	require.False(t, p.run(maxRankWait-units.Millisecond, func() bool {
		return len(sides[0].poll()) > 0
	}))
	require.True(t, p.run(3*units.Millisecond, func() bool { return len(sides[0].poll()) > 0 }))
	require.Equal(t, StatusSuccess, sides[0].comp[0].Status)
}
