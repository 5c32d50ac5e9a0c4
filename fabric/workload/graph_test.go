package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// TestGraph checks that flows start when the last task that they wait for has ended.
func TestGraph(t *testing.T) {
	s, err := Graph{
		{Bytes: 10, Src: 0, Dst: 1, Delay: 5},
		{Delay: 100}, // computation
		{After: []int{0, 1}, Bytes: 20, Src: 1, Dst: 2, Delay: 7},
		{After: []int{2}, Delay: 50},
		{After: []int{3}, Bytes: 30, Src: 2, Dst: 0},
	}.Source()
	require.NoError(t, err)
	next := func(at units.Time, id int) Flow {
		peek, ok := s.Peek()
		require.True(t, ok)
		f, ok := s.Next()
		require.True(t, ok)
		assert.Equal(t, at, peek)
		assert.Equal(t, at, f.At)
		assert.EqualValues(t, id, f.ID)
		_, ok = s.Next()
		require.False(t, ok)
		require.True(t, s.Pending())
		return f
	}
	s.Done(next(5, 0), 60)
	s.Done(next(107, 2), 300) // the computation ended later than the flow
	s.Done(next(350, 4), 400)
	assert.False(t, s.Pending())
}

// TestGraphErrors checks that a Graph with a cycle, or with an invalid task, is refused.
func TestGraphErrors(t *testing.T) {
	for text, g := range map[string]Graph{
		"task 1 waits for itself": {{Delay: 1}, {After: []int{2}}, {After: []int{0, 1}},
			{After: []int{2}}},
		"out of range [0, 1)":       {{After: []int{1}}},
		"is negative":               {{Delay: -1}},
		"size 1152921504606846976":  {{Bytes: 1 << 60, Dst: 1}},
		"want two different hosts":  {{Bytes: 1, Src: 1, Dst: 1}},
		"task 0 waits for itself: ": {{After: []int{0}}},
	} {
		_, err := g.Source()
		assert.ErrorContains(t, err, text)
	}
}

// TestRandomGraph checks that all flows of a graph without cycles start, none before its time.
func TestRandomGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := make(Graph, rapid.IntRange(1, 30).Draw(t, "tasks"))
		flows := 0
		for i := range g {
			g[i] = Task{Dst: 1, Bytes: units.Bytes(rapid.IntRange(0, 1).Draw(t, "bytes")),
				Delay: units.Duration(rapid.IntRange(0, 9).Draw(t, "delay"))}
			flows += int(g[i].Bytes)
			for range rapid.IntRange(0, min(i, 3)).Draw(t, "deps") {
				g[i].After = append(g[i].After, rapid.IntRange(0, i-1).Draw(t, "after"))
			}
		}
		s, err := g.Source()
		require.NoError(t, err)
		ended := map[int]bool{}
		now := units.Time(0)
		for range flows {
			f, ok := s.Next()
			require.True(t, ok)
			require.False(t, f.At.Before(now))
			for _, before := range g[f.ID].After {
				require.True(t, ended[before] || g[before].Bytes == 0)
			}
			now, ended[int(f.ID)] = f.At, true
			s.Done(f, now)
		}
		require.False(t, s.Pending())
	})
}
