package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Permutation is traffic of every host to one other by a random permutation without fixed points,
// drawn for every round.
type Permutation struct {
	Hosts  int // at least 2
	Sizes  *Sizes
	Start  units.Time
	Period units.Duration // of rounds; 0 for a single round
	Rounds int            // number of rounds; 0 for no limit
	Until  units.Time     // all flows start before it; 0 for no limit
	Class  int
	Seed   uint64
}

// Source returns the flows. The Group of a flow is its round.
func (p Permutation) Source() (Source, error) {
	err := Peers(nil).check(p.Hosts)
	if err == nil {
		err = checkSizes(p.Sizes)
	}
	if err != nil {
		return nil, fmt.Errorf("workload: permutation: %w", err)
	}
	rng := newRand(p.Seed)
	to := hostNumbers(p.Hosts)
	draw := func(pairs []pair) []pair {
		derange(rng, to)
		for src, dst := range to {
			pairs = append(pairs, pair{src, dst})
		}
		return pairs
	}
	return newBatches(newPeriodic(p.Start, p.Until, p.Period, p.Rounds), draw, p.Sizes, rng,
		p.Class), nil
}

// derange shuffles the numbers from 0 on until none is in its place, so that all derangements are
// equally likely. It takes e attempts on average.
func derange(rng *rand.Rand, numbers []int) {
	for {
		pick(rng, numbers, len(numbers))
		if !anyInPlace(numbers) {
			return
		}
	}
}

func anyInPlace(numbers []int) bool {
	for i, n := range numbers {
		if i == n {
			return true
		}
	}
	return false
}
