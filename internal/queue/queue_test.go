package queue

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQueueIsABoundedFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "size")
		q := New[int](n)
		require.GreaterOrEqual(t, q.Cap(), n)
		var model []int
		for i := range rapid.IntRange(0, 100).Draw(t, "operations") {
			if rapid.Bool().Draw(t, "put") {
				require.Equal(t, len(model) < q.Cap(), q.Put(&i))
				if len(model) < q.Cap() {
					model = append(model, i)
				}
			} else {
				var v int
				require.Equal(t, len(model) > 0, q.Take(&v))
				if len(model) > 0 {
					require.Equal(t, model[0], v)
					model = model[1:]
				}
			}
			require.Equal(t, len(model), q.Len())
		}
	})
}

func TestFIFOKeepsOrderWhileItGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f FIFO[int]
		var model []int
		for i := range rapid.IntRange(0, 200).Draw(t, "operations") {
			if rapid.IntRange(0, 2).Draw(t, "add") > 0 {
				*f.Add() = i
				model = append(model, i)
			} else if len(model) > 0 {
				require.Equal(t, model[0], *f.Front())
				f.Remove()
				model = model[1:]
			}
			require.Equal(t, len(model), f.Len())
		}
	})
}

// Every value that was put is taken once, and those of one producer in its order.
func TestManyProducersAndConsumers(t *testing.T) {
	const producers, each = 4, 20_000
	type value struct{ from, number int }
	for _, consumers := range []int{1, 3} {
		q := New[value](64)
		taken := make([][]value, consumers)
		var all sync.WaitGroup
		for p := range producers {
			all.Go(func() {
				for i := range each {
					for !q.Put(&value{p, i}) {
						runtime.Gosched()
					}
				}
			})
		}
		var mu sync.Mutex
		left := producers * each
		for c := range consumers {
			all.Go(func() {
				var v value
				for {
					if q.Take(&v) {
						taken[c] = append(taken[c], v)
						mu.Lock()
						left--
						mu.Unlock()
						continue
					}
					mu.Lock()
					done := left == 0
					mu.Unlock()
					if done {
						return
					}
					runtime.Gosched()
				}
			})
		}
		all.Wait()
		seen := map[value]bool{}
		for _, values := range taken {
			last := map[int]int{}
			for _, v := range values {
				assert.False(t, seen[v])
				seen[v] = true
				assert.LessOrEqual(t, last[v.from], v.number)
				last[v.from] = v.number
			}
		}
		require.Len(t, seen, producers*each)
	}
}

func TestQueuesDoNotAllocate(t *testing.T) {
	q, v := New[[12]uint64](16), [12]uint64{}
	var f FIFO[int]
	require.Zero(t, testing.AllocsPerRun(100, func() {
		q.Put(&v)
		q.Take(&v)
		*f.Add() = 1
		f.Remove()
	}))
}

func BenchmarkQueue(b *testing.B) {
	q, v := New[[12]uint64](512), [12]uint64{}
	for b.Loop() {
		q.Put(&v)
		q.Take(&v)
	}
}
