package tocc

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

var (
	seeds    = flag.Uint64("seeds", 300, "seeds of the soak tests")
	seedFlag = flag.Uint64("seed", 0, "one seed of the soak tests; 0 all")
)

func eachSeed(t *testing.T, run func(t *testing.T, seed uint64)) {
	from, to := uint64(1), *seeds
	if *seedFlag != 0 {
		from, to = *seedFlag, *seedFlag
	}
	for seed := from; seed <= to; seed++ {
		run(t, seed)
		if t.Failed() {
			t.Fatalf("replay with -seed=%d", seed)
		}
	}
}

// draw picks one value.
func draw[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// Without loss a sender gets exactly the tokens that its bytes need, however they are posted.
func TestExactVolume(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: draw(rng, 5*us, 12*us),
			Payload: draw[units.Bytes](rng, 1024, 1456, 4096)}
		text := fmt.Sprintf("unsch=%s,k=%s,cc=%s", draw(rng, "0", "1BDP", "0.5BDP"),
			draw(rng, "1pkt", "3pkt", "8192"),
			draw(rng, "none", "dcqcn", "dctcp", "swift", "timely"))
		m := newModel(t, parse(t, text), path, seed)
		m.marks = draw(rng, 0, 0, 0.05)
		total := units.Bytes(0)
		for range rng.IntN(4) + 1 {
			bytes := units.Bytes(rng.IntN(draw(rng, 2_000, 100_000, 1_000_000)) + 1)
			total += bytes
			m.post(bytes)
			m.run(units.Duration(rng.IntN(30)) * us)
		}
		m.run(100 * units.Millisecond)
		s, r := m.gate.(*Sender), m.granter.(*Receiver)
		require.True(t, m.done(), "seed %d: %s: %d of %d sent, %d wait: %+v %+v", seed, text,
			m.next, len(m.packets), m.waits, s, r)
		assert.Equal(t, total-m.totals.unscheduled, r.stats.Granted, "seed %d: %s", seed, text)
		assert.Zero(t, s.stats.Unneeded, "seed %d: %s", seed, text)
		assert.LessOrEqual(t, m.totals.most, s.unsch)
	})
}

// Whatever is lost, marked or late, everything is sent, unscheduled bytes are within their bound,
// and no more is granted than what was needed, lost, or discarded by the sender.
func TestNeverStuck(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 2))
		path := cc.Path{LineRate: draw(rng, 25*units.Gbps, 100*units.Gbps),
			BaseRTT: draw(rng, 5*us, 12*us),
			Payload: draw[units.Bytes](rng, 1024, 1456, 4096)}
		text := fmt.Sprintf("unsch=%s,k=%s,cc=%s,volume=%s,window=%s,age=%s,drop=off",
			draw(rng, "0", "1BDP", "0.5BDP"), draw(rng, "1pkt", "3pkt"),
			draw(rng, "none", "none", "dcqcn", "dctcp", "swift", "timely"), draw(rng, "on", "on",
				"off"),
			draw(rng, "1BDP", "1pkt"), draw(rng, "200us", "0s"))
		m := newModel(t, parse(t, text), path, seed)
		m.lossData = draw(rng, 0, 0.01, 0.05)
		m.lossToken, m.lossRTS = draw(rng, 0, 0.2, 0.5), draw(rng, 0, 0.2, 0.5)
		m.lossAck, m.marks = draw(rng, 0, 0.1), draw(rng, 0, 0.1)
		total := units.Bytes(0)
		for range rng.IntN(5) + 1 {
			bytes := units.Bytes(rng.IntN(draw(rng, 2_000, 100_000, 1_000_000)) + 1)
			total += bytes
			m.post(bytes)
			m.run(units.Duration(rng.IntN(100)) * us)
			if rng.IntN(2) == 0 {
				m.paused = m.Now.Add(280 * us)
			}
		}
		m.run(20 * units.Second)
		s, r := m.gate.(*Sender), m.granter.(*Receiver)
		require.True(t, m.done(), "seed %d: %s: %d of %d sent, %d wait: %+v %+v", seed, text,
			m.next, len(m.packets), m.waits, s, r)
		assert.LessOrEqual(t, m.totals.most, s.unsch, "seed %d", seed)
		assert.Zero(t, r.Next(), "seed %d: the receiver rests", seed)
		assert.Zero(t, s.Next(), "seed %d: the sender rests", seed)
		assert.LessOrEqual(t, s.limit, r.limit)
		excess := r.stats.Granted - (total - m.totals.unscheduled) - m.totals.retransmitted -
			s.stats.Discarded
		assert.LessOrEqual(t, excess, s.stats.Unneeded+r.limit-s.limit, "seed %d: %s", seed, text)
		if s.volume {
			assert.LessOrEqual(t, s.stats.Unneeded, m.totals.missing+m.totals.lost, "seed %d: %s",
				seed, text)
		}
	})
}

// The other schemes complete, too.
func TestEverySchemeCompletes(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		path := cc.Path{LineRate: draw(rng, 25*units.Gbps, 100*units.Gbps),
			BaseRTT: draw(rng, 5*us, 12*us),
			Payload: draw[units.Bytes](rng, 1024, 4096), Seed: uint32(seed)}
		text := draw(rng, "expresspass", "ep:feedback=paper", "ep:cc=none", "ep+aeolus", "homa",
			"homa+aeolus", "ndp", "ndp+aeolus", "tocc+aeolus",
			"tocc:echo=cnp", "tocc:limiter=off", "tocc:volume=off",
			"homa:cutoffs=1KB/10KB,overcommit=2")
		m := newModel(t, parse(t, text), path, seed)
		m.lossData = draw(rng, 0, 0.01, 0.05)
		m.lossToken, m.lossRTS = draw(rng, 0, 0.2, 0.5), draw(rng, 0, 0.2, 0.5)
		m.lossAck, m.marks = draw(rng, 0, 0.1), draw(rng, 0, 0.1)
		if rng.IntN(2) == 0 {
			m.threshold = 8000
		}
		for range rng.IntN(5) + 1 {
			m.post(units.Bytes(rng.IntN(draw(rng, 2_000, 100_000, 1_000_000)) + 1))
			m.run(units.Duration(rng.IntN(100)) * us)
			if rng.IntN(2) == 0 {
				m.paused = m.Now.Add(280 * us)
			}
		}
		m.run(20 * units.Second)
		require.True(t, m.done(), "seed %d: %s: %d of %d sent, %d wait: %+v %+v", seed, text,
			m.next, len(m.packets), m.waits, m.gate, m.granter)
		assert.LessOrEqual(t, m.totals.most, path.BDP(), "seed %d: %s", seed, text)
		assert.Zero(t, m.granter.Next(), "seed %d: %s: the receiver rests", seed, text)
		assert.Zero(t, m.gate.Next(), "seed %d: %s: the sender rests", seed, text)
	})
}
