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
	idle := Holdings{Neighbors: 2}
	require.Equal(t, idle, p.a.Holdings())
	require.Equal(t, PSNs{100, 100, 100}, a.qp.PSNs())
	p.la.tamper = losing(100)
	a.post(t, WorkRequest{Op: OpWrite, Flags: Signaled, SGList: []SGE{a.mr.SGE(0, 5*1024)},
		RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
	require.True(t, p.run(units.Second, func() bool { return p.b.Holdings().Buffers == 4 }))
	assert.Equal(t, Holdings{Buffers: 4, Gaps: 1, Neighbors: 2}, p.b.Holdings())
	assert.Equal(t, PSNs{105, 100, 100}, a.qp.PSNs())
	require.True(t, p.run(units.Second, func() bool { return a.qp.loss.recovery != nil }))
	assert.Equal(t, Holdings{Recoveries: 1, Neighbors: 2}, p.a.Holdings())
	p.await(a, 1)
	assert.Equal(t, idle, p.a.Holdings())
	assert.Equal(t, idle, p.b.Holdings())
	assert.Equal(t, PSNs{105, 105, 100}, a.qp.PSNs())
	assert.Equal(t, wire.PSN(105), b.qp.PSNs().Expected)
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
		p.now = p.now.Add(heldPatience)
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
