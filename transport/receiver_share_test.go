package transport

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// holdBehindGap makes a new queue pair of b hold n packets behind a gap that never closes.
func (p *pair) holdBehindGap(n int) *side {
	_, at := p.connected(selective())
	f := newForger(p, at)
	for i := range n {
		f.send(wire.Fields{Op: wire.RCSendOnly, PSN: 101 + wire.PSN(i)}, 0, nil, nil)
	}
	p.settle(10 * units.Microsecond)
	return at
}

// A peer that never sends what is missing takes neither the share of others nor causes them more
// packets than a loss without it; and after a while it holds nothing.
func TestHeldBuffersAreShared(t *testing.T) {
	for _, c := range []struct {
		name    string
		holders []int
		silence units.Duration
		held    int // by these before the loss
	}{
		{"none holds any", nil, 0, 0},
		{"one has most", []int{511}, 0, 511},
		{"one has all that another leaves", []int{511, 1}, 0, 512},
		{"two have all", []int{511, 511}, 0, 512},
		{"two had all, and too long", []int{511, 511}, heldTimeout, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.memory = 1 << 18
			from, to := p.connected(o)
			p.settle(10 * units.Microsecond)
			for _, n := range c.holders {
				p.holdBehindGap(n)
			}
			p.settle(c.silence)
			p.step()
			require.Equal(t, c.held, p.b.held)
			p.la.tamper = losing(100)
			fill(from.mem, 1)
			const size = 1 << 17 // 128 packets, of which the first is lost
			from.post(t, WorkRequest{Op: OpWrite, Signaled: true,
				SGList: []SGE{from.mr.SGE(0, size)}, RemoteAddr: to.mr.Addr, RKey: to.mr.RKey})
			require.Equal(t, StatusSuccess, p.await(from, 1)[0].Status)
			assert.True(t, bytes.Equal(from.mem[:size], to.mem[:size]))
			assert.EqualValues(t, 1, from.qp.loss.cold().retransmitted)
			assert.LessOrEqual(t, p.b.held, p.b.maxHeld)
		})
	}
}

// What a responder dropped after it had reported it as arrived is retransmitted when its turn
// comes, in one round trip and without a timeout.
func TestDroppedAfterItWasHeld(t *testing.T) {
	for _, c := range []struct {
		name    string
		drop    func(p *pair, b *side)
		dropped uint64 // packets retransmitted, besides the one that was lost
	}{
		{"nothing", func(*pair, *side) {}, 0},
		{"the newest", func(_ *pair, b *side) { b.qp.rcv.dropNewest() }, 1},
		{"the newest ten", func(_ *pair, b *side) {
			for range 10 {
				b.qp.rcv.dropNewest()
			}
		}, 10},
		{"everything", func(_ *pair, b *side) { b.qp.rcv.dropReorder() }, 19},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.timeout = 12
			a, b := p.connected(o)
			p.settle(10 * units.Microsecond)
			p.la.tamper = losing(100, 100)
			fill(a.mem, 1)
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 20*1024)},
				RemoteAddr: b.mr.Addr, RKey: b.mr.RKey})
			p.settle(5 * units.Microsecond)
			require.Equal(t, 19, p.b.held)
			c.drop(p, b)
			require.Equal(t, StatusSuccess, p.await(a, 1)[0].Status)
			assert.True(t, bytes.Equal(a.mem[:20*1024], b.mem[:20*1024]))
			assert.EqualValues(t, 2+c.dropped, a.qp.loss.cold().retransmitted)
			assert.EqualValues(t, 1, a.qp.loss.cold().timeouts, "of what was lost twice")
			p.conserved()
		})
	}
}

// The lists agree with a search through all queue pairs, whichever joins, leaves, holds more or
// less, or has its gap move.
func TestShares(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s shares
		var all []*reorderBuffer
		now := units.Time(0)
		for range 2000 {
			now = now.Add(units.Duration(rng.Int64N(int64(heldTimeout / 100))))
			switch i := rng.IntN(max(1, len(all))); {
			case len(all) == 0 || rng.IntN(20) == 0:
				all = append(all, &reorderBuffer{})
				s.join(all[len(all)-1], nil, now)
			case rng.IntN(25) == 0:
				s.leave(all[i])
				all = append(all[:i], all[i+1:]...)
			case rng.IntN(3) == 0:
				s.move(all[i], now)
			case all[i].share.count < psnWindow-1 && rng.IntN(3) > 0:
				s.count(all[i], 1)
			case all[i].share.count > 0:
				s.count(all[i], -1)
			}
			largest, oldest := 0, now
			for _, a := range all {
				largest, oldest = max(largest, a.share.count), min(oldest, a.share.movedAt)
			}
			if len(all) == 0 {
				require.Nil(t, s.largest(), "seed %d", seed)
				require.Nil(t, s.expired(now), "seed %d", seed)
				continue
			}
			require.Equal(t, largest, s.largest().share.count, "seed %d", seed)
			require.Contains(t, all, s.largest(), "seed %d", seed)
			if a := s.expired(now); now.Sub(oldest) < heldTimeout {
				require.Nil(t, a, "seed %d", seed)
			} else {
				require.Equal(t, oldest, a.share.movedAt, "seed %d", seed)
			}
		}
	}
}

// READs that were dropped are retransmitted, and packets for which there was no buffer.
func TestDroppedBehindAGap(t *testing.T) {
	for _, c := range []struct {
		name    string
		op      Op
		maxHeld int
		drops   int
		retries uint8
	}{
		{"READs that were held", OpRead, endpoint.DefaultHeld, 3, 7},
		{"a READ of three that were held", OpRead, endpoint.DefaultHeld, 1, 7},
		{"a READ of three that were held, with no retries", OpRead, endpoint.DefaultHeld, 1, 0},
		{"WRITEs for which there was no buffer", OpWrite, 1, 0, 7},
		{"READs for which there was no buffer", OpRead, 1, 0, 7},
		{"READs for which there was no buffer, with no retries", OpRead, 1, 0, 0},
		{"WRITEs for which there was no buffer, and the one that had one", OpWrite, 1, 1, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			o := selective()
			o.timeout, o.retries = 12, c.retries
			a, b := p.connected(o)
			p.settle(10 * units.Microsecond)
			p.b.maxHeld = c.maxHeld
			p.la.tamper = losing(100)
			fill(b.mem, 1)
			a.post(t, WorkRequest{Op: OpWrite, Signaled: true, SGList: []SGE{a.mr.SGE(0, 64)},
				RemoteAddr: b.mr.Addr + 1<<15, RKey: b.mr.RKey})
			for i := range 3 {
				a.post(t, WorkRequest{Op: c.op, Signaled: true,
					SGList: []SGE{a.mr.SGE(1000*i, 1000)}, RemoteAddr: b.mr.Addr + uint64(1000*i),
					RKey: b.mr.RKey})
			}
			require.True(t, p.run(units.Millisecond, func() bool {
				return p.b.held == min(3, c.maxHeld)
			}))
			for range c.drops {
				b.qp.rcv.dropNewest()
			}
			for _, wc := range p.await(a, 4) {
				require.Equal(t, StatusSuccess, wc.Status)
			}
			assert.True(t, bytes.Equal(a.mem[:3000], b.mem[:3000]))
			assert.Zero(t, a.qp.loss.cold().timeouts)
			p.conserved()
		})
	}
}
