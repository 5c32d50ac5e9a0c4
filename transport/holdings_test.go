package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Holdings count what is held while it is held; PSNs are those on the wire.
func TestHoldings(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(selective())
	p.settle(10 * units.Microsecond)
	idle := holdings{QueuePairs: 1, Neighbors: 2}
	require.Equal(t, idle, p.a.Stats().Holdings)
	require.Equal(t, [3]wire.PSN{100, 100, 100}, psns(a.qp))
	p.la.tamper = losing(100)
	a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 5*1024)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	require.True(t, p.run(units.Second, func() bool { return p.b.Stats().Holdings.Buffers == 4 }))
	assert.Equal(t, holdings{QueuePairs: 1, Buffers: 4, Gaps: 1, Neighbors: 2},
		p.b.Stats().Holdings)
	assert.Equal(t, [3]wire.PSN{105, 100, 100}, psns(a.qp))
	require.True(t, p.run(units.Second, func() bool { return a.qp.loss.recovery != nil }))
	assert.Equal(t, holdings{QueuePairs: 1, Recoveries: 1, Neighbors: 2}, p.a.Stats().Holdings)
	p.await(a, 1)
	assert.Equal(t, idle, p.a.Stats().Holdings)
	assert.Equal(t, idle, p.b.Stats().Holdings)
	assert.Equal(t, [3]wire.PSN{105, 105, 100}, psns(a.qp))
	assert.Equal(t, wire.PSN(105), b.qp.Query().RecvPSN)
}

// Holding packets, taking another queue pair's share and dropping what is stuck allocate nothing
// once gaps were held before.
func TestHeldPacketsAllocateNothing(t *testing.T) {
	p := newPair(t)
	_, greedy := p.connected(selective())
	_, modest := p.connected(selective())
	p.settle(10 * units.Microsecond)
	p.b.maxHeld = 64
	var frames [2][][]byte
	for i, to := range []*side{greedy, modest} {
		f := newForger(p, to)
		for psn := range wire.PSN(64) {
			f.send(wire.Fields{Op: wire.RCSendOnly, PSN: 101 + psn}, 0, nil,
				func(frame []byte) []byte {
					frames[i] = append(frames[i], frame)
					return frame
				})
		}
	}
	round := func() {
		for i := range frames {
			for _, frame := range frames[i] {
				p.lb.inbox = append(p.lb.inbox, p.lb.filled(frame))
			}
			for len(p.lb.inbox) > 0 {
				p.b.Poll(p.now)
			}
		}
		p.now = p.now.Add(heldTimeout)
		p.b.Poll(p.now)
		p.la.Free(p.la.inbox)
		p.la.inbox = p.la.inbox[:0]
	}
	round()
	before := p.b.counters.HeldDropped
	assert.Zero(t, testing.AllocsPerRun(20, round))
	assert.NotZero(t, p.b.counters.HeldDropped-before)
	assert.Zero(t, p.b.held)
}

// psns returns the next PSN to send, the oldest unacknowledged one, and the next one expected.
func psns(qp *QueuePair) [3]wire.PSN {
	a := qp.Query()
	return [3]wire.PSN{a.SendPSN, a.UnackedPSN, a.RecvPSN}
}
