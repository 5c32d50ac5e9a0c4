package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A minimal implementation of credits: a sender that takes one for each line of a message that
// begins, and asks when it has none; and a receiver that returns what is consumed, at once when it
// is an eighth of all credits, and 10 us later otherwise.

const (
	creditLine  = 64
	returnAfter = 10 * units.Microsecond
	queryAfter  = 50 * units.Microsecond
)

func linesOf(n units.Bytes) uint64 { return uint64(n+creditLine-1) / creditLine }

type plainCreditGate struct {
	lines, epoch    uint32
	taken, returned uint64
	maxTaken        uint64 // most lines out at once
	queryAt         units.Time
	queries         int
	served          units.Duration
	answered        units.Bytes
	agreed          cc.CreditTerms
	terms           cc.CreditTerms
}

func (g *plainCreditGate) Terms() cc.CreditTerms { return g.terms }
func (g *plainCreditGate) Agree(t cc.CreditTerms) {
	g.agreed, g.lines = t, t.Lines
}
func (g *plainCreditGate) Posted(units.Bytes, cc.Backlog, units.Time) {}
func (g *plainCreditGate) Lost(units.Bytes, cc.Backlog, units.Time)   {}
func (g *plainCreditGate) Next() units.Time                           { return g.queryAt }
func (g *plainCreditGate) Marks() cc.MarkSet                          { return 0 }

func (g *plainCreditGate) Answered(n units.Bytes, _ units.Time) {
	g.answered += n
	if g.agreed.Responses {
		g.returned += linesOf(n)
	}
}

func (g *plainCreditGate) Ready(p *cc.Outgoing, now units.Time) bool {
	if p.Message == 0 || p.Again || !p.Completes && !g.agreed.Writes ||
		g.taken-g.returned+linesOf(p.Message) <= uint64(g.lines) || g.taken == g.returned {
		return true
	}
	if g.queryAt == 0 {
		g.queryAt = now.Add(queryAfter)
	}
	return false
}

func (g *plainCreditGate) Sent(p *cc.Outgoing, _ units.Time) cc.Marks {
	if p.Message > 0 && (p.Completes || g.agreed.Writes) && !p.Again {
		g.taken += linesOf(p.Message)
		g.maxTaken = max(g.maxTaken, g.taken-g.returned)
		g.queryAt = 0
	}
	return cc.Marks{}
}

func (g *plainCreditGate) Receive(n *cc.ControlMessage, _ cc.Backlog, _ units.Time) error {
	if n.Kind != cc.CREDIT {
		return errInvalidCounter
	}
	if n.Returned > g.taken {
		return cc.ErrForged
	}
	if n.Returned >= g.returned {
		g.returned, g.lines, g.epoch = n.Returned, n.Credits, uint32(n.Epoch)
	}
	if n.Served > 0 {
		g.served = n.Served
	}
	return nil
}

func (g *plainCreditGate) Emit(_ cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	g.queries++
	g.queryAt = now.Add(queryAfter)
	return cc.ControlMessage{Kind: cc.CREDIT, Flags: cc.FlagQuery, Returned: g.returned}, true
}

type plainCreditGranter struct {
	plainGranter
	terms              cc.CreditTerms
	agreed             cc.CreditTerms
	delivered          units.Bytes
	consumed, returned uint64
	replyDue           bool // an answer is to be sent
	at                 units.Time
	served             units.Duration
	forged             uint64
	queries            int
}

func (r *plainCreditGranter) Terms() cc.CreditTerms  { return r.terms }
func (r *plainCreditGranter) Agree(t cc.CreditTerms) { r.agreed = t }
func (r *plainCreditGranter) Next() units.Time       { return r.at }

func (r *plainCreditGranter) Delivered(n units.Bytes, _ units.Time) { r.delivered += n }

func (r *plainCreditGranter) Consumed(n units.Bytes, now units.Time) {
	r.delivered -= n
	if r.agreed.Responses {
		return
	}
	r.consumed += linesOf(n)
	switch pending := r.consumed - r.returned; {
	case pending >= max(1, uint64(r.agreed.Lines)/8):
		r.at = now
	case pending > 0 && r.at == 0:
		r.at = now.Add(returnAfter)
	}
}

func (r *plainCreditGranter) Receive(n *cc.ControlMessage, now units.Time) error {
	if n.Returned > r.consumed {
		return cc.ErrForged
	}
	r.queries++
	r.replyDue, r.at = true, now
	return nil
}

func (r *plainCreditGranter) Emit(_ bool, _ units.Time) (cc.ControlMessage, bool) {
	r.at = 0
	if r.returned == r.consumed && !r.replyDue && r.forged == 0 {
		return cc.ControlMessage{}, false
	}
	r.returned, r.replyDue = r.consumed, false
	return cc.ControlMessage{Kind: cc.CREDIT, Credits: r.agreed.Lines, Epoch: 3,
		Returned: r.consumed + r.forged, Cache: cc.CacheIdle | cc.CacheApproaching,
		Waited: units.Microsecond, Served: r.served}, true
}

func newCreditGate() *plainCreditGate {
	return &plainCreditGate{terms: cc.CreditTerms{Line: creditLine}}
}

func newCreditGranter(lines uint32) *plainCreditGranter {
	return &plainCreditGranter{terms: cc.CreditTerms{Line: creditLine, Lines: lines}}
}

// creditPair is a connection whose client may send what its server's program has consumed, up to
// the given number of lines.
func creditPair(t *testing.T, lines uint32, o sideOptions) (p *pair, a, b *side, g *plainCreditGate,
	r *plainCreditGranter) {
	p = newPair(t)
	a, b = o.make(t, p.a), o.make(t, p.b)
	g, r = newCreditGate(), newCreditGranter(lines)
	require.NoError(t, a.qp.admit(g))
	require.NoError(t, b.qp.admit(nil, r))
	o.offers = true
	p.join(a, b, o)
	return p, a, b, g, r
}

func (p *pair) join(a, b *side, o sideOptions) {
	p.t.Helper()
	a.connect(p.t, o, b)
	b.connect(p.t, o, a)
	p.settle(10 * units.Microsecond) // at time 0 nothing is due, because 0 means never
}

// messages posts n messages of the given size, for which the server has receives.
func (p *pair) messages(a, b *side, n, size int) {
	for i := range n {
		b.recv(p.t, uint64(i), 0, size)
		a.post(p.t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, size)}})
	}
}

// consumeOne consumes the server's oldest completion, if there is one.
func consumeOne(t testing.TB, b *side) bool {
	var wc [1]WorkCompletion
	if b.cq.Poll(wc[:]) == 0 {
		return false
	}
	require.Equal(t, StatusSuccess, wc[0].Status)
	require.NoError(t, b.qp.Admission().Consumed(units.Bytes(wc[0].ByteLen)))
	return true
}

// No more lines are out than the receiver's cache has, whatever is posted; as many messages arrive
// as are consumed.
func TestCreditsBoundWhatIsUnconsumed(t *testing.T) {
	p, a, b, g, r := creditPair(t, 64, defaults())
	assert.Equal(t, cc.CreditTerms{Line: creditLine, Lines: 64}, g.agreed)
	assert.Equal(t, g.agreed, r.agreed)
	p.messages(a, b, 10, 1100) // 18 lines each: three go
	p.settle(5 * units.Millisecond)
	assert.EqualValues(t, 3*1100, r.delivered)
	assert.Len(t, a.poll(), 3)
	s := a.qp.Stats().Admission
	assert.EqualValues(t, 1, s.Blocked)
	assert.Greater(t, s.BlockedTime, 4*units.Millisecond)
	assert.Equal(t, 7, s.Messages)
	for range 10 {
		require.True(t, consumeOne(t, b))
		p.settle(100 * units.Microsecond)
	}
	assert.Len(t, a.poll(), 10)
	assert.EqualValues(t, 10*18, g.taken)
	assert.EqualValues(t, 10*18, g.returned)
	assert.LessOrEqual(t, g.maxTaken, uint64(64))
	assert.Zero(t, r.delivered)
	assert.Zero(t, p.a.counters.DropNotice+p.b.counters.DropNotice+p.a.counters.DropUnnegotiated)
	p.conserved()
}

// What is consumed while ACKs leave rides on them; separate CREDITs leave only at the end.
func TestCreditsOnAcks(t *testing.T) {
	p, a, b, g, r := creditPair(t, 256, defaults())
	r.served = 700 * units.Nanosecond
	p.b.Loop().OnRound(func(units.Time) {
		for consumeOne(t, b) {
		}
	})
	const rounds = 20
	for range rounds {
		p.messages(a, b, 64, 256)
		require.True(t, p.run(units.Second, func() bool { return len(a.poll()) == 64 }))
		a.comp = nil
	}
	p.settle(units.Millisecond)
	assert.EqualValues(t, rounds*64*4, g.returned)
	sent, rode := p.b.counters.CreditsSent, p.b.counters.CreditsOnAcks
	assert.LessOrEqual(t, sent, uint64(rounds), "one for 64 messages at most")
	assert.Equal(t, sent+rode, p.a.counters.CreditsHeard)
	assert.Equal(t, 700*units.Nanosecond, g.served, "an ACK reports how long the program took")
}

// What is consumed just after an ACK left, at the same time as what rode on it, is returned in
// time, too.
func TestCreditsOfOneInstant(t *testing.T) {
	p, a, b, g, r := creditPair(t, 256, defaults())
	rode := false
	p.b.Loop().OnRound(func(units.Time) {
		if !rode {
			rode = consumeOne(t, b)
		}
	})
	p.messages(a, b, 2, 64)
	require.True(t, p.run(units.Second, func() bool { return rode }))
	require.EqualValues(t, 1, p.b.counters.CreditsOnAcks)
	require.True(t, consumeOne(t, b))
	p.settle(returnAfter + 5*units.Microsecond)
	assert.EqualValues(t, 2, r.returned)
	assert.EqualValues(t, 2, g.returned)
}

// Lost, duplicated and late CREDITs and ACKs neither lose credits nor create any.
func TestCreditsSurviveTheirNetwork(t *testing.T) {
	seed := testSeed(t)
	for s := seed; s < seed+20; s++ {
		rng := rand.New(rand.NewPCG(s, 0))
		o := defaults()
		o.retries = 7
		p, a, b, g, r := creditPair(t, 40, o)
		fate := func([]byte) int { return []int{1, 1, 1, 1, 1, 1, 1, 0, 0, 2}[rng.IntN(10)] }
		p.la.tamper, p.lb.tamper = fate, fate
		p.lb.late = func([]byte) units.Duration {
			return units.Duration(rng.IntN(20)) * units.Microsecond
		}
		done := 0
		p.b.Loop().OnRound(func(units.Time) {
			if rng.IntN(3) == 0 && consumeOne(t, b) {
				done++
			}
		})
		p.messages(a, b, 100, 1+rng.IntN(2000))
		require.True(t, p.run(20*units.Second, func() bool {
			for len(a.poll()) == 100 && consumeOne(t, b) { // nothing more happens by itself
				done++
			}
			return done == 100
		}), "seed %d: %d acknowledged, %d consumed: %+v", s, len(a.comp), done, p.a.counters)
		p.la.tamper, p.lb.tamper = nil, nil
		p.settle(units.Second)
		assert.Equal(t, g.taken, r.consumed, "seed %d", s)
		assert.LessOrEqual(t, g.maxTaken, uint64(max(40, linesOf(2000))), "seed %d", s)
		assert.Zero(t, p.a.counters.CreditsForged, "seed %d", s)
	}
}

// A receiver whose program is slow replies, so the sender waits for it; a silent receiver counts as
// dead.
func TestCreditsOfASlowProgram(t *testing.T) {
	o := defaults()
	o.timeout, o.retries = 1, 1
	p, a, b, g, _ := creditPair(t, 16, o)
	p.messages(a, b, 2, 1024)
	p.settle(5 * units.Second)
	require.Equal(t, ReadyToSend, a.qp.State())
	assert.Greater(t, g.queries, 10_000)
	require.True(t, consumeOne(t, b))
	p.await(a, 2)

	p.messages(a, b, 2, 1024)
	p.settle(units.Millisecond)
	p.lb.tamper = func([]byte) int { return 0 }
	require.True(t, p.run(units.Second, func() bool { return a.qp.State() == Errored }))
	assert.Equal(t, StatusRetryExcErr, a.poll()[0].Status)
	assert.EqualValues(t, 1, p.a.counters.RetriesExceeded)
}

// A receiver that returns more than was taken, or a sender that knows of more than was returned, is
// disconnected.
func TestForgedCredits(t *testing.T) {
	p, a, b, _, r := creditPair(t, 16, defaults())
	p.messages(a, b, 2, 1024)
	p.settle(20 * units.Microsecond)
	require.Len(t, a.poll(), 1)
	r.forged = 17
	require.NoError(t, b.qp.Admission().Consumed(1024))
	p.settle(100 * units.Microsecond)
	assert.Equal(t, Errored, a.qp.State())
	assert.EqualValues(t, 1, p.a.counters.CreditsForged)
	assert.Equal(t, StatusBadRespErr, a.poll()[1].Status)
	assert.False(t, a.qp.Stats().Admission.Active)

	p, a, b, g, _ := creditPair(t, 16, defaults())
	p.messages(a, b, 2, 1024)
	p.settle(20 * units.Microsecond)
	g.returned, g.queryAt = 1, p.now
	p.a.scheduleResponses(a.qp)
	p.settle(10 * units.Microsecond)
	assert.Equal(t, Errored, b.qp.State())
	assert.EqualValues(t, 1, p.b.counters.CreditsForged)
}

// Impossible CREDITs have no effect, from either end.
func TestVoidCredits(t *testing.T) {
	p, a, b, g, _ := creditPair(t, 16, defaults())
	p.messages(a, b, 2, 1024)
	p.settle(20 * units.Microsecond)
	forge := func(to *side, from *side, tag uint16, psn wire.PSN, f extension.CreditFlags,
		lines uint32,
		returned uint64) *Stats {
		frame := make([]byte, 256)
		ext, total := from.qp.tmpl.Build(frame, wire.Fields{Op: wire.CREDIT, PSN: psn}, 0)
		wire.View[wire.XCH](frame[ext:]).Set(tag, extension.CreditLen)
		extension.Credit(frame[ext+wire.XCHLen:][:extension.CreditLen]).Set(f, 0, lines, returned)
		from.qp.tmpl.Seal(frame[:total])
		l := p.la
		if to.ep == p.b {
			l = p.lb
		}
		var one [1]packet.Buf
		l.Alloc(one[:])
		one[0].SetLen(copy(one[0].Room(), frame[:total]))
		one[0].Time = p.now
		l.inbox = append(l.inbox, one[0])
		p.settle(0)
		return &to.ep.counters
	}
	assert.EqualValues(t, 1, forge(a, b, a.tag()+1, 100, 0, 16, 16).DropTag)
	assert.EqualValues(t, 1, forge(a, b, a.tag(), 101, 0, 16, 16).DropNotice,
		"acknowledges a packet never sent")
	assert.EqualValues(t, 2, forge(a, b, a.tag(), 100, 0, 0, 16).DropNotice, "of zero lines")
	assert.EqualValues(t, 3, forge(a, b, a.tag(), 100, 0, extension.MaxCreditLines+1,
		16).DropNotice)
	assert.EqualValues(t, 1, forge(a, b, a.tag(), 100, extension.CreditAsks, 0, 0).DropState,
		"it has no granter")
	assert.EqualValues(t, 1, forge(b, a, b.tag(), 99, 0, 16, 0).DropState, "it has no gate")
	assert.EqualValues(t, 1, forge(b, a, b.tag(), 101+1<<17, extension.CreditAsks, 0, 0).DropNotice)
	assert.Zero(t, g.returned)
	forge(a, b, a.tag(), 100, 0, 16, 16)
	assert.EqualValues(t, 16, g.returned)
	assert.Equal(t, ReadyToSend, a.qp.State())

	c, d := p.connected(defaults())
	assert.EqualValues(t, 1, forge(c, d, 0, 99, 0, 16, 16).DropUnnegotiated)
}

// Consumed accepts what is left of the messages, and nothing else.
func TestConsumed(t *testing.T) {
	p, a, b, _, r := creditPair(t, 1000, defaults())
	require.ErrorIs(t, b.qp.Admission().Consumed(0), ErrInvalid, "nothing came")
	p.messages(a, b, 2, 100)
	a.write(t, b, 500) // takes no credits
	p.await(a, 3)
	assert.EqualValues(t, 200, r.delivered)
	require.ErrorIs(t, b.qp.Admission().Consumed(201), ErrInvalid, "more than came")
	require.NoError(t, b.qp.Admission().Consumed(200))
	require.NoError(t, b.qp.Admission().Consumed(0))
	require.ErrorIs(t, b.qp.Admission().Consumed(0), ErrInvalid, "two came")
	require.NoError(t, a.qp.Admission().Consumed(1), "ignored without a granter")
	a.qp.Admission().Answered(100)

	reporter := r.reporter
	require.NotNil(t, reporter)
	b.qp.Modify(Errored, QPAttr{})
	require.Nil(t, r.reporter, "lines that were not consumed are free again")
	require.NoError(t, b.qp.Admission().Consumed(1), "Consumed may be called later")
	reporter.Reschedule() // of a connection that is gone
}

// A plain WRITE takes credits if both ends agree to that; otherwise nothing would return them.
func TestWritesTakeCredits(t *testing.T) {
	for _, have := range [][2]bool{{true, true}, {true, false}, {false, true}} {
		p := newPair(t)
		o := defaults()
		a, b := o.make(t, p.a), o.make(t, p.b)
		g, r := newCreditGate(), newCreditGranter(16)
		g.terms.Writes, r.terms.Writes = have[0], have[1]
		require.NoError(t, a.qp.admit(g))
		require.NoError(t, b.qp.admit(nil, r))
		if have[1] {
			require.ErrorIs(t, b.qp.consumeOnPost(), ErrInvalid)
		}
		o.offers = true
		p.join(a, b, o)
		a.write(t, b, 500)
		p.await(a, 1)
		if both := have[0] && have[1]; both {
			assert.EqualValues(t, 8, g.taken)
			assert.EqualValues(t, 500, r.delivered)
			require.NoError(t, b.qp.Admission().Consumed(500))
			p.settle(100 * units.Microsecond)
			assert.EqualValues(t, 8, g.returned)
		} else {
			assert.Zero(t, g.taken, "%v", have)
			assert.Zero(t, r.delivered, "%v", have)
		}
	}
}

// If posting a receive consumes the oldest message, nothing else does.
func TestConsumeOnPost(t *testing.T) {
	o := defaults()
	o.depth = 4
	p := newPair(t)
	a, b := o.make(t, p.a), o.make(t, p.b)
	require.ErrorIs(t, b.qp.consumeOnPost(), ErrInvalid, "no granter")
	g, r := newCreditGate(), newCreditGranter(32)
	require.NoError(t, a.qp.admit(g))
	require.NoError(t, b.qp.admit(nil, r))
	require.NoError(t, b.qp.consumeOnPost())
	o.offers = true
	p.join(a, b, o)
	sizes := []int{1, 64, 65, 1000, 2048, 3, 700, 2048, 12, 0, 64}
	for i := range 4 {
		b.recv(t, uint64(i), 0, 4096)
	}
	assert.Zero(t, r.consumed)
	lines, posted := uint64(0), 4
	for i, n := range sizes {
		require.True(t, p.run(units.Second, func() bool {
			for len(b.poll()) > posted-4 {
				b.recv(t, uint64(posted), 0, 4096)
				lines += linesOf(units.Bytes(sizes[posted-4]))
				require.Equal(t, lines, r.consumed)
				posted++
			}
			return a.qp.SendRoom() > 1
		}))
		// for which no receive is posted
		a.post(t, WorkRequest{Op: OpWrite, SGList: []SGE{a.mr.SGE(0, 500)}, RemoteAddr: b.mr.Addr,
			RKey: b.mr.RKey})
		a.post(t, WorkRequest{ID: uint64(i), Op: OpSend, Signaled: true,
			SGList: []SGE{a.mr.SGE(0, n)}})
	}
	for ; posted-4 < len(sizes); posted++ {
		require.True(t, p.run(units.Second, func() bool { return len(b.poll()) > posted-4 }))
		b.recv(t, uint64(posted), 0, 4096)
	}
	p.await(a, len(sizes))
	p.settle(units.Millisecond)
	assert.Equal(t, g.taken, r.consumed)
	assert.Equal(t, g.taken, g.returned)
	require.ErrorIs(t, b.qp.Admission().Consumed(1), ErrInvalid)
	require.ErrorIs(t, b.qp.consumeOnPost(), ErrState)

	srq, err := p.b.CreateSRQ(b.pd, 4, 1)
	require.NoError(t, err)
	o.srq, o.pd = srq, b.pd
	c := o.make(t, p.b)
	require.NoError(t, c.qp.admit(nil, newCreditGranter(1)))
	require.ErrorIs(t, c.qp.consumeOnPost(), ErrInvalid)
}

// With responses that return credits the program reports them, and CREDITs do not return them.
func TestResponsesReturnCredits(t *testing.T) {
	o := defaults()
	for _, both := range []bool{true, false} {
		p := newPair(t)
		a, b := o.make(t, p.a), o.make(t, p.b)
		g, r := newCreditGate(), newCreditGranter(16)
		g.terms.Responses, r.terms.Responses = true, both
		require.NoError(t, a.qp.admit(g))
		require.NoError(t, b.qp.admit(nil, r))
		o.offers = true
		p.join(a, b, o)
		require.Equal(t, both, g.agreed.Responses)
		require.Equal(t, both, r.agreed.Responses)
		p.messages(a, b, 2, 1024)
		p.settle(units.Millisecond)
		require.True(t, consumeOne(t, b))
		a.qp.Admission().Answered(1024)
		p.await(a, 2)
		assert.EqualValues(t, 16, g.returned)
		assert.EqualValues(t, 1024, g.answered)
	}
}

// Each gate and granter is used with a peer that has the counterpart, and with no other.
func TestCreditsNeedThePeer(t *testing.T) {
	for _, c := range []struct {
		name    string
		gate    cc.Gate
		granter cc.Granter // of the peer
		without wire.Features
		gates   int
		grants  bool
		offer   wire.Features
	}{
		{"both agree", newCreditGate(), newCreditGranter(16), 0, 1, true, wire.FeatureCredit},
		{"the peer knows of no credits", newCreditGate(), newCreditGranter(16),
			wire.FeatureCredit, 0, false, wire.FeatureCredit},
		{"the peer has none to give", newCreditGate(), nil, 0, 0, false, wire.FeatureCredit},
		{"the peer has tokens to give", newCreditGate(), &plainGranter{}, 0, 0, false,
			wire.FeatureCredit},
		{"tokens and credits", cc.AllOf(&plainGate{}, newCreditGate()), newCreditGranter(16), 0, 1,
			true, wire.FeatureCredit | wire.FeatureToken},
		{"of tokens and credits, tokens", cc.AllOf(&plainGate{}, newCreditGate()),
			&plainGranter{window: 4096}, 0, 1, true, wire.FeatureCredit | wire.FeatureToken},
		{"no lines", newCreditGate(), newCreditGranter(0), 0, 0, false, wire.FeatureCredit},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := defaults()
			a, b := o.make(t, p.a), o.make(t, p.b)
			require.NoError(t, a.qp.admit(c.gate))
			require.NoError(t, b.qp.admit(nil, c.granter))
			assert.Equal(t, c.offer, a.qp.Offer().Features&(wire.FeatureCredit|wire.FeatureToken))
			o.offers, o.without = true, c.without
			p.join(a, b, o)
			if c.gates == 0 {
				assert.False(t, a.qp.Stats().Admission.Active)
			} else {
				assert.Len(t, cc.Parts(a.qp.adm.gate), c.gates)
			}
			assert.Equal(t, c.grants, b.qp.Stats().Admission.Active)
			p.messages(a, b, 1, 1000)
			p.await(a, 1)
		})
	}
	p := newPair(t)
	a := defaults().make(t, p.a)
	require.ErrorIs(t, a.qp.admit(nil, newCreditGranter(1), newCreditGranter(1)), ErrInvalid)
	require.ErrorIs(t, a.qp.admit(nil, &plainGranter{}, &plainGranter{}), ErrInvalid)
	for _, line := range []units.Bytes{0, 8, 48, 8192} {
		require.ErrorIs(t, a.qp.admit(nil, &plainCreditGranter{terms: cc.CreditTerms{Line: line}}),
			ErrInvalid)
	}
	require.ErrorIs(t,
		a.qp.admit(nil, &plainCreditGranter{terms: cc.CreditTerms{Line: 64, Lines: 1<<26 + 1}}),
		ErrInvalid)
	assert.False(t, a.qp.Stats().Admission.Active)
}

// With tokens and credits a message waits for both, and each half gets its own control messages.
func TestTokensAndCredits(t *testing.T) {
	p := newPair(t)
	o := defaults()
	a, b := o.make(t, p.a), o.make(t, p.b)
	tokens, granter := &plainGate{}, &plainGranter{window: 16384}
	credits, returner := newCreditGate(), newCreditGranter(32)
	require.NoError(t, a.qp.admit(cc.AllOf(tokens, credits)))
	require.NoError(t, b.qp.admit(nil, granter, returner))
	o.offers = true
	p.join(a, b, o)
	p.messages(a, b, 10, 2048)
	p.settle(units.Millisecond)
	assert.EqualValues(t, 2048, returner.delivered)
	assert.EqualValues(t, 2048, tokens.spent)
	assert.Greater(t, granter.limit, tokens.spent, "there are tokens")
	p.b.Loop().OnRound(func(units.Time) { consumeOne(t, b) })
	p.await(a, 10)
	assert.EqualValues(t, 20480, tokens.spent)
	assert.EqualValues(t, 320, credits.taken)
	assert.LessOrEqual(t, credits.maxTaken, uint64(32))
	assert.Zero(t, p.a.counters.DropNotice+p.b.counters.DropNotice)
	for _, n := range tokens.received {
		assert.Equal(t, cc.TOKEN, n.Kind)
	}
	p.conserved()
}

// What go-back-N retransmits takes no further credits.
func TestCreditsAreTakenOnce(t *testing.T) {
	for _, rate := range []units.BitRate{0, units.Gbps} {
		o := defaults()
		o.without = wire.FeatureSACK
		if rate > 0 {
			o.algorithm = &steered{decision: cc.Decision{Rate: rate,
				Window: endpoint.DefaultWindow}}
		}
		p, a, b, g, _ := creditPair(t, 16, o)
		n := 0
		p.la.tamper = func([]byte) int {
			if n++; n <= 2 {
				return 0
			}
			return 1
		}
		p.messages(a, b, 1, 1024)
		p.await(a, 1)
		assert.EqualValues(t, 16, g.taken)
		assert.NotZero(t, p.a.counters.Retransmitted)
		assert.Zero(t, p.a.counters.Blocked)
	}
}

type absenceRecorder struct {
	*plainCreditGranter
	away []units.Duration
}

func (r *absenceRecorder) Away(d units.Duration, _ units.Time) { r.away = append(r.away, d) }

// A granter learns when its host did not poll, but not that its port coalesces interrupts: that
// delays every message, and the program runs meanwhile.
func TestAbsenceOfTheReceiver(t *testing.T) {
	for _, held := range []units.Duration{0, 300 * us} {
		pa, pb := packet.Pipe(packet.PipeOptions{}) // without time stamps
		p := &pair{t: t}
		var err error
		p.a, err = New(Config{Port: pa, Addrs: prefixes("10.0.0.1/24"), Seed: 1}, 0)
		require.NoError(t, err)
		p.b, err = New(Config{Port: coalescingPort{pb, held}, Addrs: prefixes("10.0.0.2/24"),
			Seed: 2}, 0)
		require.NoError(t, err)
		o := defaults()
		o.offers = true
		a, b := o.make(t, p.a), o.make(t, p.b)
		r := &absenceRecorder{plainCreditGranter: newCreditGranter(64)}
		require.NoError(t, a.qp.admit(newCreditGate()))
		require.NoError(t, b.qp.admit(nil, r))
		a.connect(t, o, b)
		b.connect(t, o, a)
		deliver := func(after units.Duration) {
			p.messages(a, b, 1, 1000)
			for range 8 { // the neighbours resolve each other
				p.a.Poll(p.now)
				p.now = p.now.Add(after)
				p.b.Poll(p.now)
			}
			require.NotEmpty(t, b.poll())
		}
		deliver(10 * us)
		assert.Empty(t, r.away)
		deliver(400 * us)
		assert.Equal(t, []units.Duration{400 * us}, r.away)
	}
}
