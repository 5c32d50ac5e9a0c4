package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// list is a Source of given flows.
type list []Flow

func (l *list) Next() (Flow, bool) {
	if len(*l) == 0 {
		return Flow{}, false
	}
	f := (*l)[0]
	*l = (*l)[1:]
	return f, true
}

func TestMergeByHand(t *testing.T) {
	a := &list{{ID: 0, At: 1, Group: -1}, {ID: 1, At: 5, Group: 0}, {ID: 2, At: 5, Group: 1}}
	b := &list{{ID: 0, At: 0, Group: 0}, {ID: 1, At: 5, Group: 1}, {ID: 2, At: 9, Group: -1}}
	m := Merge(a, b)
	at, ok := m.Peek()
	assert.True(t, ok)
	assert.Equal(t, units.Time(0), at)
	assert.Equal(t, []Flow{
		{ID: 1, At: 0, Group: 1},
		{ID: 0, At: 1, Group: -1},
		{ID: 2, At: 5, Group: 0}, // of one moment, in the order of the sources
		{ID: 4, At: 5, Group: 2},
		{ID: 3, At: 5, Group: 3},
		{ID: 5, At: 9, Group: -1},
	}, flows(m, 10))
	_, ok = m.Peek()
	assert.False(t, ok)
	assert.False(t, m.Pending())
}

func TestMergeOfNothing(t *testing.T) {
	m := Merge()
	_, ok := m.Next()
	assert.False(t, ok)
	m.Done(Flow{}, 0)
	assert.False(t, m.Pending())
}

// TestMergeKeepsOrderAndAll also when merged sources are merged again.
func TestMergeKeepsOrderAndAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := 0
		draw := func(name string) Source {
			gaps := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 20).Draw(t, name)
			l := &list{}
			at := units.Time(0)
			for i, gap := range gaps {
				at += units.Time(gap)
				*l = append(*l, Flow{ID: uint64(i), At: at, Group: i})
			}
			total += len(gaps)
			return l
		}
		all := flows(Merge(draw("a"), Merge(draw("b"), draw("c")), draw("d")), 1<<20)
		require.Len(t, all, total)
		ids, groups := make(map[uint64]bool), make(map[int]bool)
		for i, f := range all {
			ids[f.ID], groups[f.Group] = true, true
			require.True(t, i == 0 || !f.At.Before(all[i-1].At))
		}
		require.Len(t, ids, total)
		require.Len(t, groups, total)
	})
}

// TestMergeOfReactives: two jobs and a background do not disturb each other's order, and every Done
// finds its way back, through two merges.
func TestMergeOfReactives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := func(first int, name string) Source {
			r, err := RingAllReduce{Hosts: []int{first, first + 1, first + 2}, Bytes: 3000,
				Rounds: 4,
				Gap:    units.Duration(rapid.IntRange(0, 10).Draw(t, name)), Class: first}.Source()
			require.NoError(t, err)
			return r
		}
		background, err := Poisson{Hosts: 6, Rate: 100 * units.Gbps, Load: 0.5,
			Sizes: Fixed[units.Bytes](3000), Flows: 100,
			Class: 9, Seed: rapid.Uint64().Draw(t, "seed")}.Source()
		require.NoError(t, err)
		m := Merge(Merge(background, job(0, "gap a")), job(3, "gap b"))
		done := drive(t, m, func(f Flow) units.Duration {
			return units.Duration(f.Bytes) * 80
		}, nil)
		count := make(map[int]int)
		for _, f := range done {
			count[f.Class]++
		}
		require.Equal(t, map[int]int{9: 100, 0: 48, 3: 48}, count)
	})
}
