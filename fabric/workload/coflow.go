package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Coflows is the shuffle of jobs that arrive at random: every mapper of a job sends a flow to every
// one of its reducers, all at the same moment. One reducer, Fixed(1), makes it a request for a file
// that lies on as many hosts as there are mappers.
type Coflows struct {
	Hosts    int           // at least 2
	Rate     units.BitRate // of a host's link
	Load     float64       // share of all hosts' Rate that is payload
	Sizes    *Sizes        // of one flow
	Mappers  *Counts       // nil for FacebookMappers; at most half of the hosts are taken
	Reducers *Counts       // nil for FacebookReducers; likewise
	Start    units.Time    // when the intervals between arrivals begin
	Until    units.Time    // all flows are before it; 0 for no end
	Coflows  int           // how many; 0 for no end
	Class    int
	Seed     uint64
}

// Source begins the traffic. The coflow is the flows' Group.
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
	return newBatches(arrivals, draw, c.Sizes, rng, c.Class), nil
}

func (c Coflows) arrivals(rng *rand.Rand) (*arrivals, error) {
	if err := Peers(nil).check(c.Hosts); err != nil {
		return nil, err
	}
	if err := checkSizes(c.Sizes); err != nil {
		return nil, err
	}
	if c.Mappers.Quantile(0) < 1 || c.Reducers.Quantile(0) < 1 {
		return nil, errors.New("fewer than 1 mapper or reducer")
	}
	flows := meanAtMost(c.Mappers, c.Hosts/2) * meanAtMost(c.Reducers, c.Hosts/2)
	rate := float64(c.Hosts) * float64(c.Rate)
	return newArrivals(rng, flows*c.Sizes.Mean(), rate, c.Load, c.Start, c.Until, c.Coflows)
}

// meanAtMost answers the mean of what a distribution of counts answers when limit is taken for all
// that is above it: the sum of the probabilities of more than 0, more than 1 and so on.
func meanAtMost(d *Counts, limit int) float64 {
	var mean float64
	for n := range limit {
		mean += 1 - d.CDF(n)
	}
	return mean
}

// draw takes all mappers and reducers from different hosts.
func (c Coflows) draw(rng *rand.Rand, hosts []int, pairs []pair) []pair {
	mappers := min(c.Mappers.Sample(rng), c.Hosts/2)
	reducers := min(c.Reducers.Sample(rng), c.Hosts/2)
	pick(rng, hosts, mappers+reducers)
	for _, src := range hosts[:mappers] {
		for _, dst := range hosts[mappers : mappers+reducers] {
			pairs = append(pairs, pair{src, dst})
		}
	}
	return pairs
}
