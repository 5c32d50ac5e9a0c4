package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// Poisson is open-loop traffic: every host sends flows to peers drawn at random, at intervals that
// are exponential with mean (mean size)/(Load*Rate), the first after such an interval too. This is
// how HPCC's traffic generator has it.
type Poisson struct {
	Hosts int           // at least 2
	Rate  units.BitRate // of a host's link
	// share of Rate that is payload; for ExpressPass's definition see ExpressPassLoad
	Load  float64
	Sizes *Sizes
	Peers Peers      // who sends to whom; nil for everyone
	Start units.Time // when the intervals begin
	Until units.Time // all flows are before it; 0 for no end
	Flows int        // how many; 0 for no end
	Class int        // of every flow
	Seed  uint64
}

// ExpressPassLoad turns a load as ExpressPass's simulator and its successors define it, of wire
// bytes and of what the core carries, into one of host links and payload: a full packet of 1538
// bytes on the wire has 1460 of payload, and a core oversubscribed 4:1 carries a fourth of what
// the hosts do.
func ExpressPassLoad(load, oversubscription float64) float64 {
	return load * 1460 / 1538 / oversubscription
}

type poisson struct {
	Poisson
	clock *arrivals
	rng   *rand.Rand
	id    uint64
}

// Source begins the traffic.
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

// Next implements Source. Independent Poisson processes of equal rate are one that is so many
// times as fast and belongs to each of them with equal probability.
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
