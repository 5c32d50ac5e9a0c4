package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// AllToAll is every host sending to every other one at the same moment; with Targets, all to many.
type AllToAll struct {
	Hosts   int   // at least 2
	Targets int   // how many peers a host sends to, drawn once at random; 0 for all of them
	Peers   Peers // who may send to whom; nil for everyone
	Sizes   *Sizes
	Start   units.Time
	Period  units.Duration // from round to round; 0 for a single round
	Rounds  int            // how many; 0 for no end
	Until   units.Time     // all flows are before it; 0 for no end
	Class   int
	Seed    uint64
}

// Source begins the traffic. The round is the flows' Group.
func (a AllToAll) Source() (Source, error) {
	err := a.Peers.check(a.Hosts)
	if err == nil {
		err = checkSizes(a.Sizes)
	}
	rng := newRand(a.Seed)
	var pairs []pair
	if err == nil {
		pairs, err = a.pairs(rng)
	}
	if err != nil {
		return nil, fmt.Errorf("workload: all to all: %w", err)
	}
	draw := func([]pair) []pair { return pairs }
	return newBatches(newPeriodic(a.Start, a.Until, a.Period, a.Rounds), draw, a.Sizes, rng,
		a.Class), nil
}

// pairs lists for every host its next neighbour, then for every host the one after that, and so on.
func (a AllToAll) pairs(rng *rand.Rand) ([]pair, error) {
	targets := make([][]int, a.Hosts)
	most := 0
	for src := range targets {
		for i := 1; i < a.Hosts; i++ {
			if dst := (src + i) % a.Hosts; a.Peers.has(src, dst) {
				targets[src] = append(targets[src], dst)
			}
		}
		if n := len(targets[src]); a.Targets < 0 || a.Targets > n {
			return nil, fmt.Errorf("%d targets of host %d, which has %d peers", a.Targets, src, n)
		}
		if a.Targets > 0 {
			pick(rng, targets[src], a.Targets)
			targets[src] = targets[src][:a.Targets]
		}
		most = max(most, len(targets[src]))
	}
	var pairs []pair
	for i := range most {
		for src, to := range targets {
			if i < len(to) {
				pairs = append(pairs, pair{src, to[i]})
			}
		}
	}
	return pairs, nil
}
