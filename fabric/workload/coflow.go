package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Coflows is the shuffle of jobs with Poisson arrivals. Every mapper of a job sends a flow to every
// reducer at the same time. With one reducer, Fixed(1), a coflow is a request for a file that is
// stored on as many hosts as there are mappers.
type Coflows struct {
	Hosts    int           // at least 2
	Rate     units.BitRate // of a host's link
	Load     float64       // payload as a share of the Rate of all hosts
	Sizes    *Sizes        // of one flow, or of a coflow if Total
	Mappers  *Counts       // nil for FacebookMappers; limited to half of the hosts
	Reducers *Counts       // nil for FacebookReducers; likewise
	Start    units.Time    // start of the first interval between arrivals
	Until    units.Time    // all flows start before it; 0 for no limit
	Coflows  int           // number of coflows; 0 for no limit
	// Total makes Sizes those of whole coflows: a flow has a sample of its own, divided by the
	// number of flows. Numbers of mappers and reducers are drawn again until a flow has 1 KB to
	// 100 MB, as in the generator of PrioPlus's authors.
	Total bool
	Class int
	Seed  uint64
}

// The bytes of a flow, on average, if Sizes are those of coflows.
const (
	leastOfCoflow units.Bytes = 1_000
	mostOfCoflow  units.Bytes = 100_000_000
)

// Source returns the flows. The Group of a flow is its coflow.
func (c Coflows) Source() (Source, error) {
	if c.Mappers == nil {
		c.Mappers = FacebookMappers
	}
	if c.Reducers == nil {
		c.Reducers = FacebookReducers
	}
	rng := newRand(c.Seed)
	arrivals, err := c.arrivals(rng)
	if err != nil {
		return nil, fmt.Errorf("workload: coflows: %w", err)
	}
	hosts := hostNumbers(c.Hosts)
	draw := func(pairs []pair) []pair { return c.draw(rng, hosts, pairs) }
	b := newBatches(arrivals, draw, c.Sizes, rng, c.Class)
	b.divide = c.Total
	return b, nil
}

func (c Coflows) arrivals(rng *rand.Rand) (*arrivals, error) {
	if err := Peers(nil).check(c.Hosts); err != nil {
		return nil, err
	}
	if err := checkSizes(c.Sizes); err != nil {
		return nil, err
	}
	if c.Mappers.Quantile(0) < 1 || c.Reducers.Quantile(0) < 1 {
		return nil, errors.New("fewer than one mapper or reducer")
	}
	flows := 1.
	if !c.Total {
		flows = meanAtMost(c.Mappers, c.Hosts/2) * meanAtMost(c.Reducers, c.Hosts/2)
	} else if err := c.checkTotal(); err != nil {
		return nil, err
	}
	rate := float64(c.Hosts) * float64(c.Rate)
	return newArrivals(rng, flows*c.Sizes.Mean(), rate, c.Load, c.Start, c.Until, c.Coflows)
}

// meanAtMost returns the mean of min(count, limit): the sum of the probabilities of more than 0,
// more than 1 and so on.
func meanAtMost(d *Counts, limit int) float64 {
	var mean float64
	for n := range limit {
		mean += 1 - d.CDF(n)
	}
	return mean
}

// draw draws the mappers and reducers of a coflow, all on different hosts.
func (c Coflows) draw(rng *rand.Rand, hosts []int, pairs []pair) []pair {
	mappers, reducers := c.counts(rng)
	pick(rng, hosts, mappers+reducers)
	for _, src := range hosts[:mappers] {
		for _, dst := range hosts[mappers : mappers+reducers] {
			pairs = append(pairs, pair{src, dst})
		}
	}
	return pairs
}

// checkTotal returns an error if counts would not find numbers of mappers and reducers.
func (c Coflows) checkTotal() error {
	product := func(quantile float64) units.Bytes {
		return units.Bytes(min(c.Mappers.Quantile(quantile), c.Hosts/2) *
			min(c.Reducers.Quantile(quantile), c.Hosts/2))
	}
	least, most := product(0)*leastOfCoflow, product(1)*mostOfCoflow
	if c.Sizes.Quantile(1) <= least || c.Sizes.Quantile(0) >= most {
		return fmt.Errorf("coflows of %d to %d B, want some above %d B and below %d B",
			c.Sizes.Quantile(0), c.Sizes.Quantile(1), least, most)
	}
	return nil
}

// counts draws the numbers of mappers and reducers.
func (c Coflows) counts(rng *rand.Rand) (mappers, reducers int) {
	for {
		mappers = min(c.Mappers.Sample(rng), c.Hosts/2)
		reducers = min(c.Reducers.Sample(rng), c.Hosts/2)
		if !c.Total {
			return mappers, reducers
		}
		flow := c.Sizes.Sample(rng) / units.Bytes(mappers*reducers)
		if flow >= leastOfCoflow && flow <= mostOfCoflow {
			return mappers, reducers
		}
	}
}
