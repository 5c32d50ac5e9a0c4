package transport

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Late packets are not lost. Lost packets are retransmitted no earlier than they may be late, and
// not much later.
func TestLostIsSentAgainAfterReorderingWindow(t *testing.T) {
	const us = units.Microsecond
	for _, c := range []struct {
		name       string
		reordering units.Duration
		late       map[wire.PSN]units.Duration // by how much a packet is late, the first time
		lost       []wire.PSN
		again      int
		duration   [2]units.Duration // between
	}{
		{"in order", 10 * us, nil, nil, 0, [2]units.Duration{2 * us, 2 * us}},
		{"late, without a reordering window", 0, map[wire.PSN]units.Duration{103: 5 * us}, nil, 1,
			[2]units.Duration{4 * us, 4 * us}},
		{"late", 10 * us, map[wire.PSN]units.Duration{103: 5 * us}, nil, 0,
			[2]units.Duration{7 * us, 7 * us}},
		{"the first late", 10 * us, map[wire.PSN]units.Duration{100: 5 * us}, nil, 0,
			[2]units.Duration{7 * us, 7 * us}},
		{"every other late", 10 * us, map[wire.PSN]units.Duration{100: 3 * us, 102: 4 * us,
			104: 5 * us, 106: 6 * us, 108: 3 * us, 110: 4 * us}, nil, 0, [2]units.Duration{8 * us,
			8 * us}},
		{"too late", 10 * us, map[wire.PSN]units.Duration{103: 20 * us}, nil, 1,
			[2]units.Duration{14 * us, 17 * us}},
		{"lost", 10 * us, nil, []wire.PSN{103}, 1, [2]units.Duration{14 * us, 17 * us}},
		{"lost and late", 10 * us, map[wire.PSN]units.Duration{105: 5 * us, 103: 8 * us},
			[]wire.PSN{107}, 1, [2]units.Duration{14 * us, 17 * us}},
		{"lost twice: a timeout", 10 * us, nil, []wire.PSN{103, 103}, 2,
			[2]units.Duration{65 * us, 200 * us}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.reordering = c.reordering
			a, b := p.connected(o)
			p.settle(units.Millisecond)
			p.la.tamper, p.la.late = losing(c.lost...), func(frame []byte) units.Duration {
				q, _ := parsed(frame)
				d := c.late[q.PSN]
				delete(c.late, q.PSN)
				return d
			}
			fill(a.mem, 3)
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20480)},
				RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
			start := p.now
			require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
			duration := p.now.Sub(start)
			assert.GreaterOrEqual(t, duration, c.duration[0])
			assert.LessOrEqual(t, duration, c.duration[1])
			p.settle(units.Millisecond)
			assert.True(t, bytes.Equal(a.mem[:20480], b.mem[:20480]))
			assert.EqualValues(t, c.again, p.a.counters.Retransmitted)
			assert.Nil(t, a.qp.loss.recovery)
			p.conserved()
		})
	}
}

// Whatever is late, lost or duplicated, everything arrives. With a reordering window, nothing that
// is only late is retransmitted.
func TestReorderingOfEverything(t *testing.T) {
	seed := testSeed(t)
	for run := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, run))
		p := newPair(t)
		o := selective()
		// data and its acknowledgement may each be five late
		o.memory, o.reordering = 1<<19, 10*units.Microsecond
		a, b := p.connected(o)
		p.settle(units.Millisecond)
		loses := run%2 == 1
		for _, l := range []*link{p.la, p.lb} {
			l.late = func([]byte) units.Duration {
				return units.Duration(rng.IntN(6)) * units.Microsecond
			}
			l.tamper = func([]byte) int {
				if loses && rng.IntN(50) == 0 {
					return rng.IntN(2) * 2
				}
				return 1
			}
		}
		fill(a.mem, byte(run))
		for i := range 8 {
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true,
				SGList: []SGE{a.mr.SGE(i<<16, 1<<16)}, RemoteAddr: b.mr.Addr + uint64(i<<16),
				RKey: b.mr.RKey})
		}
		for _, wc := range p.await(a, 8) {
			require.Equal(t, StatusSuccess, wc.Status)
		}
		require.True(t, bytes.Equal(a.mem, b.mem))
		if !loses {
			require.Zero(t, p.a.counters.Retransmitted, "run %d", run)
		}
		p.conserved()
	}
}

func TestImpossibleReordering(t *testing.T) {
	p := newPair(t)
	for _, r := range []units.Duration{-1, units.Second + 1} {
		o := defaults()
		s := o.make(t, p.a)
		require.NoError(t, s.qp.Modify(Init, QPAttr{}))
		s.qp.state = ReadyToReceive
		require.ErrorContains(t,
			s.qp.Modify(ReadyToSend, QPAttr{Reordering: r, Class: packet.ClassData}),
			"reordering of")
	}
}
