package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Poisson is open-loop traffic: every host sends flows to random peers at exponential intervals
// with mean (mean size)/(Load*Rate), as HPCC's traffic generator does. The first flow also starts
// after such an interval.
type Poisson struct {
	Hosts int           // at least 2
	Rate  units.BitRate // of a host's link
	// Load is the payload as a share of Rate; see ExpressPassLoad for ExpressPass's definition.
	Load  float64
	Sizes *Sizes
	Peers Peers      // permitted pairs; nil for all
	Start units.Time // start of the first interval
	Until units.Time // all flows start before it; 0 for no limit
	Flows int        // number of flows; 0 for no limit
	Class int        // of every flow
	Seed  uint64
}

// ExpressPassLoad converts a load as defined by ExpressPass's simulator and its successors, of wire
// bytes and the core's capacity, to one of payload and host links. A full packet of 1538 bytes on
// the wire has 1460 bytes of payload, and a core oversubscribed 4:1 carries a fourth of the hosts'
// rate.
func ExpressPassLoad(load, oversubscription float64) float64 {
	return load * 1460 / 1538 / oversubscription
}

type poisson struct {
	Poisson
	clock *arrivals
	rng   *rand.Rand
	id    uint64
}

// Source returns the flows.
func (p Poisson) Source() (Source, error) {
	rng := newRand(p.Seed)
	err := p.Peers.check(p.Hosts)
	if err == nil {
		err = checkSizes(p.Sizes)
	}
	if err != nil {
		return nil, fmt.Errorf("workload: Poisson: %w", err)
	}
	rate := float64(p.Hosts) * float64(p.Rate)
	clock, err := newArrivals(rng, p.Sizes.Mean(), rate, p.Load, p.Start, p.Until, p.Flows)
	if err != nil {
		return nil, fmt.Errorf("workload: Poisson: %w", err)
	}
	return &poisson{Poisson: p, clock: clock, rng: rng}, nil
}

// Next implements Source. Hosts independent Poisson processes of equal rate are equivalent to one
// of Hosts times the rate, with each arrival at a random host.
func (p *poisson) Next() (Flow, bool) {
	at, ok := p.clock.next()
	if !ok {
		return Flow{}, false
	}
	src := p.rng.IntN(p.Hosts)
	f := Flow{ID: p.id, At: at, Src: src, Dst: p.Peers.draw(p.rng, p.Hosts, src),
		Bytes: p.Sizes.Sample(p.rng), Group: -1, Class: p.Class}
	p.id++
	return f, true
}
