package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Permutation is every host sending to one other and receiving from one other, drawn anew for
// every round: a random permutation that leaves no host in its place.
type Permutation struct {
	Hosts  int // at least 2
	Sizes  *Sizes
	Start  units.Time
	Period units.Duration // from round to round; 0 for a single round
	Rounds int            // how many; 0 for no end
	Until  units.Time     // all flows are before it; 0 for no end
	Class  int
	Seed   uint64
}

// Source begins the traffic. The round is the flows' Group.
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

// derange shuffles the numbers from 0 on until none is in its place. It takes e attempts in the
// mean, and every such permutation is equally likely.
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
