package hostmodel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func host(t *testing.T, c CacheConfig) *Host {
	h, err := New(Config{Cache: &c})
	require.NoError(t, err)
	return h
}

func queue(t *testing.T, h *Host, n int, size units.Bytes, o Order) *Queue {
	q, err := h.Queue(n, size, o)
	require.NoError(t, err)
	return q
}

// holds returns which of the first n lines are in the cache.
func holds(c *Cache, n Line) (in []Line) {
	for l := range n {
		if c.Holds(l) {
			in = append(in, l)
		}
	}
	return in
}

// TestFigure3 is CARC's figure 3: one set of five ways, two of them for the NIC, and a ring of
// eight buffers of one line.
func TestFigure3(t *testing.T) {
	h := host(t, CacheConfig{Size: 5 * 64, Ways: 5, DDIO: 2})
	q := queue(t, h, 8, 64, FIFO)
	c := h.Cache
	receive := func(n int) {
		for range n {
			require.True(t, q.Receive(64, 0))
		}
	}
	read := func(n int) {
		for range n {
			m, ok := q.Read()
			require.True(t, ok)
			q.Release(m)
		}
	}
	receive(8)
	assert.Equal(t, []Line{6, 7}, holds(c, 8), "step 1")
	assert.EqualValues(t, 6, c.Stats.EvictedByNIC)
	assert.False(t, q.Receive(64, 0), "the queue is exhausted")
	assert.Equal(t, S4, h.State())
	read(4)
	assert.Equal(t, []Line{0, 1, 2, 3, 7}, holds(c, 8), "step 2")
	assert.EqualValues(t, 4, c.Stats.Missed)
	assert.EqualValues(t, 1, c.Stats.EvictedByCPU, "buffer 6")
	allocated := c.Stats.Allocated
	receive(4)
	assert.Equal(t, allocated, c.Stats.Allocated, "step 3 writes in place")
	read(4)
	assert.Equal(t, []Line{3, 4, 5, 6, 7}, holds(c, 8), "step 4")
	assert.Equal(t, [4]uint64{8, 8, 6, 5}, [4]uint64{c.Stats.Reads, c.Stats.Missed,
		c.Stats.EvictedByNIC, c.Stats.EvictedByCPU})
}

// lagging returns the share of reads that miss in the steady state of a writer and a reader that is
// backlog lines behind. If walks is not 0, the program also touches one of its own lines per line
// read.
func lagging(t *testing.T, buffers int, o Order, backlog float64, walks units.Bytes) float64 {
	h := host(t, CacheConfig{Size: 1024 * 16 * 64, Ways: 16, DDIO: 2})
	const lines = 1024 * 16
	q := queue(t, h, buffers, 64, o)
	var walk *Walk
	if walks > 0 {
		walk = h.Walk(walks, false)
	}
	for range int(backlog * lines) {
		require.True(t, q.Receive(64, 0))
	}
	round := func() {
		require.True(t, q.Receive(64, 0))
		m, ok := q.Read()
		require.True(t, ok)
		q.Release(m)
		if walk != nil {
			walk.Step()
		}
	}
	for range 4 * lines {
		round()
	}
	before := h.Cache.Stats
	for range 4 * lines {
		round()
	}
	return h.Cache.Stats.Since(before).MissShare()
}

// TestBacklogAndRecycling checks the misses by the unconsumed data and the number of buffers. (At
// 0.12, where the NIC's ways are full, half of the reads would miss if all rows of lines were
// aligned, which they are not.)
func TestBacklogAndRecycling(t *testing.T) {
	const lines = 1024 * 16
	for _, c := range []struct {
		buffers int
		order   Order
		backlog []float64
		misses  []float64
	}{
		{lines, FIFO, []float64{.06, .12, .15, .45, .97}, []float64{0, 0, 0, 0, 0}},
		{2 * lines, FIFO, []float64{.06, .12, .15, .45, .97, 1.1, 1.5},
			[]float64{0, .56, 1, 1, 1, 1, 1}},
		{4 * lines, FIFO, []float64{.06, .12, .15, .45, .97, 1.1, 1.5},
			[]float64{0, .56, 1, 1, 1, 1, 1}},
		{2 * lines, LIFO, []float64{.06, .12, .15, .45, .97, 1.1, 1.5},
			[]float64{0, 0, 0, 0, 0, 1, 1}},
		{4 * lines, LIFO, []float64{.06, .12, .15, .45, .97, 1.1, 1.5},
			[]float64{0, 0, 0, 0, 0, 1, 1}},
	} {
		for i, u := range c.backlog {
			t.Run(fmt.Sprintf("%v of %d, %g", c.order, c.buffers, u), func(t *testing.T) {
				assert.InDelta(t, c.misses[i], lagging(t, c.buffers, c.order, u, 0), 0.04)
			})
		}
	}
}

// TestWalkOccupiesItsShare checks that a program that walks half a cache's size occupies half of
// the cache.
func TestWalkOccupiesItsShare(t *testing.T) {
	for u, misses := range map[float64]float64{.45: 0, .55: .82, .7: 1} {
		assert.InDelta(t, misses, lagging(t, 4*1024*16, LIFO, u, units.MiB/2), 0.02, u)
	}
}

func TestStates(t *testing.T) {
	h := host(t, CacheConfig{Size: 64 * 64, Ways: 16, DDIO: 2})
	q := queue(t, h, 100, 64, LIFO)
	queue(t, h, 1, 64, FIFO)
	at := map[State]int{}
	for i := range 100 {
		if _, seen := at[h.State()]; !seen {
			at[h.State()] = i
		}
		require.True(t, q.Receive(60, uint64(i)))
	}
	assert.Equal(t, map[State]int{S1: 0, S2: 8, S3: 64}, at)
	assert.Equal(t, units.Bytes(6400), h.Unconsumed(), "in whole lines")
	assert.Equal(t, S3, h.State(), "another queue has a buffer")
	m, _ := q.Read()
	assert.Equal(t, uint64(0), m.Tag, "the oldest")
	assert.Equal(t, units.Bytes(6400), h.Unconsumed(), "until it is released")
	q.Release(m)
	assert.Equal(t, units.Bytes(6336), h.Unconsumed())
}

func TestCosts(t *testing.T) {
	c := Costs{Message: 100, Hit: 20, Miss: 90}
	assert.EqualValues(t, 100+3*20+2*90, c.Of(Message{Lines: 5, Missed: 2}))
}

func TestWrongCaches(t *testing.T) {
	for want, c := range map[string]CacheConfig{
		"of 0 ways":                      {Size: 64},
		"DDIO of 0 ways in a cache of 2": {Size: 128, Ways: 2},
		"DDIO of 3 ways in a cache of 2": {Size: 128, Ways: 2, DDIO: 3},
		"want a multiple of 128B":        {Size: 192, Ways: 2, DDIO: 1},
	} {
		_, err := New(Config{Cache: &c})
		require.ErrorContains(t, err, want)
	}
	h, err := New(Config{})
	require.NoError(t, err)
	_, err = h.Queue(1, 64, FIFO)
	require.ErrorContains(t, err, "needs a host with a cache")
	_, err = host(t, Xeon4309Y).Queue(0, 64, FIFO)
	require.ErrorContains(t, err, "0 buffers")
}

func TestNothingIsAllocated(t *testing.T) {
	h := host(t, Xeon4309Y)
	q := queue(t, h, 4096, 1500, FIFO)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		q.Receive(1500, 0)
		m, _ := q.Read()
		q.Release(m)
		h.Write(0, 1500)
	}))
}

func BenchmarkLines(b *testing.B) {
	c := Xeon4309Y
	h, err := New(Config{Cache: &c})
	require.NoError(b, err)
	q, err := h.Queue(1<<20, 64, FIFO)
	require.NoError(b, err)
	for range 1 << 18 {
		q.Receive(64, 0)
	}
	for b.Loop() {
		q.Receive(64, 0)
		m, _ := q.Read()
		q.Release(m)
	}
}
