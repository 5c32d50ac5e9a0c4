package workload

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// TestRingByHand tests 3 hosts and 4 steps. Every flow takes a microsecond, so that all hosts are
// synchronous. The first part has 4 of the 10 bytes.
func TestRingByHand(t *testing.T) {
	r := begin(t, RingAllReduce{Hosts: []int{7, 3, 5}, Bytes: 10, Start: 100, Rounds: 1, Class: 2})
	assert.True(t, r.Pending())
	done := drive(t, r, func(Flow) units.Duration { return units.Microsecond }, nil)
	require.Len(t, done, 12)
	slices.SortFunc(done, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
	sizes := [][3]units.Bytes{{4, 3, 3}, {3, 4, 3}, {3, 3, 4}, {4, 3, 3}}
	for i, f := range done {
		step, h := i/3, i%3
		assert.Equal(t,
			Flow{ID: uint64(i), At: units.Time(100).Add(units.Duration(step) * units.Microsecond),
				Src: []int{7, 3, 5}[h], Dst: []int{3, 5, 7}[h], Bytes: sizes[step][h], Group: 0,
				Class: 2}, f.Flow)
	}
}

// TestRingWaits checks that a host's next step waits only for the flow from the previous host.
func TestRingWaits(t *testing.T) {
	r := begin(t, RingAllReduce{Hosts: []int{0, 1, 2}, Bytes: 3, Rounds: 1})
	first := flows(r, 10)
	require.Equal(t, []pair{{0, 1}, {1, 2}, {2, 0}}, pairsOf(first))
	_, ok := r.Peek()
	assert.False(t, ok)
	assert.True(t, r.Pending())

	r.Done(first[1], 50)
	r.Done(first[1], 60)    // a repeated Done has no effect
	r.Done(Flow{ID: 4}, 60) // host 1 has not started its second step
	next := flows(r, 10)
	assert.Equal(t, []pair{{2, 0}}, pairsOf(next))
	assert.Equal(t, units.Time(50), next[0].At)

	r.Done(next[0], 70) // host 2's second flow before its first: host 0 starts no step
	_, ok = r.Next()
	assert.False(t, ok)
	r.Done(first[2], 80) // now host 0 starts both
	both := flows(r, 10)
	assert.Equal(t, []pair{{0, 1}, {0, 1}}, pairsOf(both))
	assert.Equal(t, units.Time(80), both[1].At)
}

// TestRingGap checks the computation time between rounds.
func TestRingGap(t *testing.T) {
	r := begin(t, RingAllReduce{Hosts: []int{0, 1}, Bytes: 2, Rounds: 3,
		Gap: 10 * units.Microsecond})
	done := drive(t, r, func(Flow) units.Duration { return units.Microsecond }, nil)
	require.Len(t, done, 3*2*2)
	for i, g := range Groups(done) {
		assert.Equal(t, units.Time(units.Duration(i)*12*units.Microsecond), g.At)
		assert.Equal(t, 2*units.Microsecond, g.CCT())
	}
}

func TestRingWithoutEnd(t *testing.T) {
	r := begin(t, RingAllReduce{Hosts: []int{0, 1, 2, 3}, Bytes: 1 << 20})
	n := 0
	drive(t, r, func(Flow) units.Duration {
		n++
		return units.Microsecond
	}, func() bool { return n == 1000 })
	assert.True(t, r.Pending())
}

// TestRingReduces computes actual sums over a network that delays and reorders flows at random. At
// the end of every round each host has every part of every host's vector, and has sent every byte
// of a vector twice except for two parts.
func TestRingReduces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "hosts")
		rounds := rapid.IntRange(1, 3).Draw(t, "rounds")
		vector := units.Bytes(rapid.IntRange(n, 1000).Draw(t, "bytes"))
		gap := units.Duration(rapid.IntRange(0, 20).Draw(t, "gap"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r, err := RingAllReduce{Hosts: hostNumbers(n), Bytes: vector, Rounds: rounds,
			Gap: gap}.Source()
		require.NoError(t, err)

		c := newReduction(n)
		watch := &watched{Reactive: r, sent: c.send, done: c.receive}
		done := drive(t, watch, func(Flow) units.Duration {
			return units.Duration(1 + rng.IntN(30))
		}, nil)
		require.Len(t, done, rounds*n*2*(n-1))
		for h := range n {
			for part := range n {
				for round := range rounds {
					require.Equal(t, 1<<n-1, c.have[key{h, part, round}],
						"host %d, part %d, round %d", h, part, round)
				}
			}
		}
		var sum units.Bytes
		for _, f := range done {
			sum += f.Bytes
		}
		require.Equal(t, vector*units.Bytes(2*(n-1)*rounds), sum)
	})
}

// reduction is the hosts' partial sums: a bit per host included in a sum.
type reduction struct {
	n      int
	have   map[key]int
	flying map[uint64]int
	next   map[[2]int]int // steps of a host in a round
	step   map[uint64]int
}

type key struct{ host, part, round int }

func newReduction(n int) *reduction {
	return &reduction{n, make(map[key]int), make(map[uint64]int), make(map[[2]int]int),
		make(map[uint64]int)}
}

func (c *reduction) part(f Flow) int { return (f.Src - c.step[f.ID] + 2*c.n) % c.n }

func (c *reduction) send(f Flow) {
	hostAndRound := [2]int{f.Src, f.Group}
	c.step[f.ID] = c.next[hostAndRound]
	c.next[hostAndRound]++
	k := key{f.Src, c.part(f), f.Group}
	c.flying[f.ID] = c.have[k] | 1<<f.Src
}

func (c *reduction) receive(f Flow) {
	k := key{f.Dst, c.part(f), f.Group}
	c.have[k] |= c.flying[f.ID] | 1<<f.Dst
}

// watched wraps a Reactive with callbacks.
type watched struct {
	Reactive
	sent, done func(Flow)
}

func (w *watched) Next() (Flow, bool) {
	f, ok := w.Reactive.Next()
	if ok {
		w.sent(f)
	}
	return f, ok
}

func (w *watched) Done(f Flow, at units.Time) {
	w.done(f)
	w.Reactive.Done(f, at)
}

// TestRingOfOneFlow tests rounds of one flow: 3 hosts send 4/3 of a vector each, and compute before
// every round but the first.
func TestRingOfOneFlow(t *testing.T) {
	r := begin(t, RingAllReduce{Hosts: []int{7, 3, 5}, Bytes: 30, Rounds: 3, OneFlow: true,
		Gap: 10 * units.Microsecond})
	done := drive(t, r, func(Flow) units.Duration { return units.Microsecond }, nil)
	require.Len(t, done, 3*3)
	for i, g := range Groups(done) {
		assert.Equal(t, units.Time(units.Duration(i)*11*units.Microsecond), g.At)
		assert.Equal(t, units.Microsecond, g.CCT())
	}
	for _, f := range done {
		assert.Equal(t, units.Bytes(40), f.Bytes)
	}
}
