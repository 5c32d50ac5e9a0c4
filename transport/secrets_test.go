package transport

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// drawn is the first few numbers of each kind that an endpoint reveals to its peers.
type drawn struct {
	keys, psns [4]uint32
	tags       [4]uint16
	qpns       [4]wire.QPN
}

func drawFrom(t *testing.T, c Config) (d drawn) {
	t.Helper()
	var now units.Time
	c.Port, c.Addrs = newLink("secrets", 1, &now), prefixes("10.0.0.1/24")
	e, err := New(c, now)
	require.NoError(t, err)
	pd := e.AllocPD()
	cq, err := e.CreateCQ(4)
	require.NoError(t, err)
	for i := range d.keys {
		mr, err := e.RegisterMemory(pd, make([]byte, 1), 0)
		require.NoError(t, err)
		qp, err := e.CreateQP(QPInit{Type: RC, PD: pd, SendCQ: cq, RecvCQ: cq})
		require.NoError(t, err)
		d.keys[i], d.psns[i], d.tags[i], d.qpns[i] = mr.RKey, e.Setup().RandomPSN(),
			e.Setup().Offer().Tag, qp.Num
	}
	return d
}

// Without a seed no two endpoints draw the same numbers. The chance that four numbers of one kind
// are equal is at most 2^-64.
func TestEndpointsWithoutASeedHaveSecrets(t *testing.T) {
	a, b := drawFrom(t, Config{}), drawFrom(t, Config{})
	require.NotEqual(t, a.keys, b.keys)
	require.NotEqual(t, a.psns, b.psns)
	require.NotEqual(t, a.tags, b.tags)
	require.NotEqual(t, a.qpns, b.qpns)
}

// With a seed all numbers come from one generator, in the order in which they are drawn: recorded
// results and failing seeds can be replayed.
func TestSeededNumbersNeverChange(t *testing.T) {
	for _, c := range []Config{{Seed: 1}, {Seed: 0, Repeatable: true}} {
		rng, want := rand.NewPCG(c.Seed, 0x726f6365), drawn{qpns: [4]wire.QPN{0x11, 0x12, 0x13,
			0x14}}
		for i := range want.keys {
			want.keys[i] = uint32(rng.Uint64() >> 32)
			want.psns[i] = uint32(rng.Uint64()) & 0xffffff
			want.tags[i] = uint16(rng.Uint64()%0xffff) + 1
		}
		require.Equal(t, want, drawFrom(t, c))
	}
}

// All 32 bits of a key are drawn: over 4096 keys each bit is set in about half of them, and never
// in the same ones as the next bit. A bit of a good key leaves the bounds with a probability of
// 2^-80.
func TestKeysHaveThirtyTwoRandomBits(t *testing.T) {
	const n = 4096
	var now units.Time
	e, err := New(Config{Port: newLink("keys", 1, &now), Addrs: prefixes("10.0.0.1/24")}, now)
	require.NoError(t, err)
	pd := e.AllocPD()
	var set, differs [32]int
	for range n {
		mr, err := e.RegisterMemory(pd, make([]byte, 1), 0)
		require.NoError(t, err)
		require.Equal(t, mr.LKey, mr.RKey)
		for b := range 32 {
			set[b] += int(mr.RKey >> b & 1)
			differs[b] += int((mr.RKey ^ bits.RotateLeft32(mr.RKey, 1)) >> b & 1)
		}
	}
	for b := range 32 {
		require.InDelta(t, n/2, set[b], n/6, "bit %d", b)
		require.InDelta(t, n/2, differs[b], n/6, "bit %d and the next lower one", b)
	}
}

// Queue pair numbers are drawn from those that the configuration allows: of the endpoint's residue,
// from the first on, without the multicast number (InfiniBand spec 3.4.4). None is drawn again soon
// after it was given up.
func TestDrawnNumbersOfQueuePairs(t *testing.T) {
	create := drawing(t, Config{FirstQPN: 0xffc001, QPNStep: 2})
	last := map[wire.QPN]int{}
	for i := range 20_000 { // of 8191 numbers
		qp, err := create()
		require.NoError(t, err)
		require.GreaterOrEqual(t, qp.Num, wire.QPN(0xffc001))
		require.Less(t, qp.Num, wire.QPN(multicastQPN))
		require.EqualValues(t, 1, qp.Num%2)
		if before, again := last[qp.Num]; again {
			require.Greater(t, i-before, maxRetired)
		}
		last[qp.Num] = i
		qp.Destroy()
	}
	require.Greater(t, len(last), 7000,
		"of 8191, 20,000 draws leave out 715 on average, give or take 26")
}

// When few numbers are left creation fails, and does not search for ever.
func TestDrawnNumbersRunOut(t *testing.T) {
	for _, c := range []struct {
		first wire.QPN
		most  int
	}{{0xfffff0, 7}, {0xfffffe, 0}, {0xffffff, 0}, {1 << 30, 0}} {
		create := drawing(t, Config{FirstQPN: uint32(c.first)})
		for range c.most {
			qp, err := create()
			require.NoError(t, err)
			qp.Destroy()
			_, err = create()
			require.NoError(t, err)
		}
		_, err := create()
		require.ErrorIs(t, err, ErrLimit, "%#x", uint32(c.first))
	}
}

// drawing returns a function that creates queue pairs of an endpoint without a seed.
func drawing(t *testing.T, c Config) func() (*QueuePair, error) {
	t.Helper()
	var now units.Time
	c.Port, c.Addrs = newLink("numbers", 1, &now), prefixes("10.0.0.1/24")
	e, err := New(c, now)
	require.NoError(t, err)
	pd := e.AllocPD()
	cq, err := e.CreateCQ(4)
	require.NoError(t, err)
	return func() (*QueuePair, error) {
		return e.CreateQP(QPInit{Type: RC, PD: pd, SendCQ: cq, RecvCQ: cq})
	}
}

// A packet's key is compared as a whole: with any bit wrong, it names no region.
func TestNoBitOfAKeyIsIgnored(t *testing.T) {
	p := newPair(t)
	mr, err := p.a.RegisterMemory(p.a.AllocPD(), make([]byte, 1), 0)
	require.NoError(t, err)
	require.Same(t, mr, p.a.regions.find(mr.RKey))
	for b := range 32 {
		require.Nil(t, p.a.regions.find(mr.RKey^1<<b), "bit %d", b)
	}
	require.Nil(t, p.a.regions.find(0), "no region has the key of an empty slot")
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], mr.RKey)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		p.a.regions.find(binary.BigEndian.Uint32(key[:]))
	}))
}
