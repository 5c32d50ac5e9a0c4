package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPermutationIsADerangement in every round.
func TestPermutationIsADerangement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "hosts")
		s, err := Permutation{Hosts: n, Sizes: Hadoop, Period: 1, Rounds: 5,
			Seed: rapid.Uint64().Draw(t, "seed")}.Source()
		require.NoError(t, err)
		all := flows(s, 1<<20)
		require.Len(t, all, 5*n)
		for round := range 5 {
			from, to := make(map[int]bool), make(map[int]bool)
			for _, f := range all[round*n : (round+1)*n] {
				require.NotEqual(t, f.Src, f.Dst)
				from[f.Src], to[f.Dst] = true, true
			}
			require.Len(t, from, n)
			require.Len(t, to, n)
		}
	})
}

// TestPermutationIsFair: 4 hosts have 9 derangements.
func TestPermutationIsFair(t *testing.T) {
	const rounds = 18_000
	all := flows(begin(t, Permutation{Hosts: 4, Sizes: Hadoop, Period: 1, Rounds: rounds, Seed: 3}),
		1<<20)
	seen := make(map[[4]int]int)
	for i := 0; i < len(all); i += 4 {
		var to [4]int
		for _, f := range all[i : i+4] {
			to[f.Src] = f.Dst
		}
		seen[to]++
	}
	assert.Len(t, seen, 9)
	for to, n := range seen {
		assert.InEpsilon(t, rounds/9, n, 0.1, "%v", to)
	}
}
