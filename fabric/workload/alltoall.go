package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// AllToAll is traffic of all hosts to all others at the same time, or to a subset with Targets.
type AllToAll struct {
	Hosts   int   // at least 2
	Targets int   // number of peers that a host sends to, drawn once at random; 0 for all
	Peers   Peers // permitted pairs; nil for all
	Sizes   *Sizes
	Start   units.Time
	Period  units.Duration // of rounds; 0 for a single round
	Rounds  int            // number of rounds; 0 for no limit
	Until   units.Time     // all flows start before it; 0 for no limit
	Class   int
	Seed    uint64
}

// Source returns the flows. The Group of a flow is its round.
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

// pairs returns the pairs in the order of distance: every host's first target, then every host's
// second, and so on.
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
			return nil, fmt.Errorf("%d targets of host %d out of range [0, %d]", a.Targets, src, n)
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
