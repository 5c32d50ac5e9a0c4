package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Requests that wait at a gate can be cancelled. What has left in part goes on, and what is posted
// afterwards is not affected.
func TestCancelWaiting(t *testing.T) {
	p, a, b, g, _ := creditPair(t, 20, defaults())
	p.messages(a, b, 5, 1200) // 19 lines: one goes
	p.settle(units.Millisecond)
	require.Equal(t, 4, a.qp.Admission().CancelWaiting())
	require.Zero(t, a.qp.Admission().CancelWaiting())
	got := a.poll()
	require.Len(t, got, 5)
	for i, wc := range got {
		assert.EqualValues(t, i, wc.ID)
		assert.Equal(t, i == 0, wc.Status == StatusSuccess)
		assert.Equal(t, i > 0, wc.Status == StatusWRFlushErr)
	}
	a.comp = nil
	blocked := a.qp.Stats().Admission
	assert.Zero(t, blocked.Messages)
	p.settle(10 * units.Second)
	assert.Equal(t, blocked, a.qp.Stats().Admission, "nothing is waiting any longer")
	assert.Equal(t, ReadyToSend, a.qp.State())
	require.True(t, consumeOne(t, b))
	a.post(t, WorkRequest{ID: 9, Op: OpSend, Signaled: true, SGList: []SGE{a.mr.SGE(0, 100)}})
	assert.EqualValues(t, 9, p.await(a, 1)[0].ID)
	assert.EqualValues(t, 21, g.taken)
	assert.EqualValues(t, 2, b.qp.rcv.msn)
	p.conserved()
}

// In other states, and for other types of queue pairs, nothing can be cancelled.
func TestCancelWaitingOfOthers(t *testing.T) {
	p := newPair(t)
	a := defaults().make(t, p.a)
	assert.Zero(t, a.qp.Admission().CancelWaiting())
	o := defaults()
	o.kind = UC
	c, d := p.connected(o)
	c.write(t, d, 100)
	assert.Zero(t, c.qp.Admission().CancelWaiting())
	p.await(c, 1)
	a, b := p.connected(defaults())
	a.write(t, b, 100)
	assert.Equal(t, 1, a.qp.Admission().CancelWaiting(), "also without a gate")
	assert.Equal(t, StatusWRFlushErr, p.await(a, 1)[0].Status)
	p.settle(units.Second)
	assert.Equal(t, ReadyToSend, a.qp.State())
}

// Whatever is lost, and whenever something is cancelled: each request completes once, those that
// succeeded arrived, in order, and no other did, with selective repeat and without, among READs,
// with tokens and credits.
func TestCancelWaitingWithLoss(t *testing.T) {
	seed := testSeed(t)
	for s := seed; s < seed+60; s++ {
		rng := rand.New(rand.NewPCG(s, 1))
		p := newPair(t)
		o := defaults()
		o.offers = true
		if s%2 == 0 {
			o.without = wire.FeatureSACK
		}
		a, b := o.make(t, p.a), o.make(t, p.b)
		tokens, granter, credits, returner := &plainGate{}, &plainGranter{window: 16384},
			newCreditGate(), newCreditGranter(64)
		gate := cc.AllOf(credits)
		if s%3 == 0 {
			gate = cc.AllOf(tokens, credits)
		}
		require.NoError(t, a.qp.admit(gate))
		require.NoError(t, b.qp.admit(nil, granter, returner))
		p.join(a, b, o)
		fate := func([]byte) int { return []int{1, 1, 1, 1, 1, 1, 1, 1, 0, 2}[rng.IntN(10)] }
		p.la.tamper, p.lb.tamper = fate, fate

		var came []uint64
		status := map[uint64]Status{}
		id, read := uint64(0), map[uint64]bool{}
		take := func() {
			for _, wc := range a.poll() {
				require.NotContains(t, status, wc.ID, "seed %d: it completed before", s)
				status[wc.ID] = wc.Status
			}
			a.comp = nil
			for _, wc := range b.poll() {
				came = append(came, uint64(wc.Imm))
				require.NoError(t, b.qp.Admission().Consumed(units.Bytes(wc.ByteLen)))
			}
			b.comp = nil
		}
		for range 60 {
			for range rng.IntN(4) {
				if a.qp.SendRoom() == 0 {
					break
				}
				n := rng.IntN(3000)
				if rng.IntN(5) == 0 {
					read[id] = true
					a.post(t, WorkRequest{ID: id, Op: OpRead, Signaled: true,
						SGList: []SGE{a.mr.SGE(0, n)}, RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
				} else {
					b.recv(t, id, 0, 3000)
					a.post(t, WorkRequest{ID: id, Op: OpSendImm, Imm: uint32(id), Signaled: true,
						SGList: []SGE{a.mr.SGE(0, n)}})
				}
				id++
			}
			p.settle(units.Duration(rng.IntN(30)) * units.Microsecond)
			if rng.IntN(4) == 0 {
				a.qp.Admission().CancelWaiting()
			}
			if rng.IntN(2) == 0 {
				take()
			}
		}
		require.True(t, p.run(20*units.Second, func() bool {
			take()
			return len(status) == int(id)
		}), "seed %d: %d of %d: %+v", s, len(status), id, p.a.counters)
		p.la.tamper, p.lb.tamper = nil, nil
		p.settle(units.Second)
		take()
		var want []uint64
		for i := range id {
			if status[i] == StatusSuccess && !read[i] {
				want = append(want, i)
			} else if status[i] != StatusSuccess {
				require.Equal(t, StatusWRFlushErr, status[i], "seed %d", s)
			}
		}
		require.Equal(t, want, came, "seed %d", s)
		require.Equal(t, ReadyToSend, a.qp.State(), "seed %d", s)
		require.Equal(t, credits.taken, returner.consumed, "seed %d", s)
		require.Equal(t, cc.Backlog{}, a.qp.adm.backlog(), "seed %d", s)
		require.Zero(t, a.qp.snd.cold().pending, "seed %d", s)
	}
}
