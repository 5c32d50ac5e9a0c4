package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func pairsOf(flows []Flow) []pair {
	var pairs []pair
	for _, f := range flows {
		pairs = append(pairs, pair{f.Src, f.Dst})
	}
	return pairs
}

func TestAllToAllByHand(t *testing.T) {
	all := flows(begin(t, AllToAll{Hosts: 3, Sizes: Fixed[units.Bytes](8000), Start: 5}), 100)
	assert.Equal(t, []pair{{0, 1}, {1, 2}, {2, 0}, {0, 2}, {1, 0}, {2, 1}}, pairsOf(all))
	for _, f := range all {
		assert.Equal(t, units.Time(5), f.At)
		assert.Equal(t, 0, f.Group)
	}
	twice := flows(begin(t, AllToAll{Hosts: 3, Sizes: Hadoop, Period: 7, Rounds: 2}), 100)
	assert.Equal(t, pairsOf(all), pairsOf(twice[:6]))
	assert.Equal(t, pairsOf(all), pairsOf(twice[6:]))
	assert.Equal(t, units.Time(7), twice[6].At)
	assert.Equal(t, 1, twice[6].Group)

	racks := flows(begin(t, AllToAll{Hosts: 4, Sizes: Hadoop, Peers: OtherRacks(2)}), 100)
	assert.ElementsMatch(t, []pair{{0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {3, 0}, {3, 1}},
		pairsOf(racks))
}

// TestAllToMany: every host sends to so many different ones, the same in every round.
func TestAllToMany(t *testing.T) {
	all := flows(begin(t, AllToAll{Hosts: 32, Targets: 4, Peers: SameRack(16), Sizes: Hadoop,
		Period: 1, Rounds: 2, Seed: 9}), 1000)
	require.Len(t, all, 2*32*4)
	first := pairsOf(all[:128])
	assert.Equal(t, first, pairsOf(all[128:]))
	count := make(map[int]int)
	seen := make(map[pair]bool)
	for _, p := range first {
		count[p.src]++
		assert.False(t, seen[p])
		seen[p] = true
		assert.Equal(t, p.src/16, p.dst/16)
	}
	for h := range 32 {
		assert.Equal(t, 4, count[h])
	}
}

// TestAllToManyIsFair: every peer is as likely a target.
func TestAllToManyIsFair(t *testing.T) {
	var drawn [8]float64
	for seed := range uint64(3500) {
		all := flows(begin(t, AllToAll{Hosts: 8, Targets: 2, Sizes: Hadoop, Seed: seed}), 1000)
		for _, p := range pairsOf(all) {
			drawn[(p.dst-p.src+8)%8]++
		}
	}
	for away, n := range drawn[1:] {
		assert.InEpsilon(t, 3500*8*2/7, n, 0.05, "%d away", away+1)
	}
}
