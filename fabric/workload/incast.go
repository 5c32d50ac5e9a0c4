package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// RandomReceiver as Incast.Receiver draws a new receiver for every round.
const RandomReceiver = -1

// Incast is traffic of many hosts to one at the same time, periodically.
type Incast struct {
	Hosts    int // at least 2
	Senders  int // number of senders, drawn at random for every round; 0 for all but the receiver
	Receiver int // RandomReceiver, or a host
	Sizes    *Sizes
	Start    units.Time
	Period   units.Duration // of rounds; 0 for a single round
	Rounds   int            // number of rounds; 0 for no limit
	Until    units.Time     // all flows start before it; 0 for no limit
	Class    int
	Seed     uint64
}

// IncastPeriod returns the Period at which an incast offers a load of rate, which is the rate of
// the receiver's link or, for a load of the whole network, of all links.
func IncastPeriod(senders int, sizes *Sizes, load float64, rate units.BitRate) units.Duration {
	seconds := float64(senders) * sizes.Mean() * 8 / (load * float64(rate))
	return saturated(seconds * float64(units.Second))
}

// Source returns the flows. The Group of a flow is its round.
func (in Incast) Source() (Source, error) {
	if err := in.check(); err != nil {
		return nil, fmt.Errorf("workload: incast: %w", err)
	}
	if in.Senders == 0 {
		in.Senders = in.Hosts - 1
	}
	rng := newRand(in.Seed)
	hosts := hostNumbers(in.Hosts)
	draw := func(pairs []pair) []pair { return in.draw(rng, hosts, pairs) }
	return newBatches(newPeriodic(in.Start, in.Until, in.Period, in.Rounds), draw, in.Sizes, rng,
		in.Class), nil
}

func (in Incast) check() error {
	if in.Receiver < RandomReceiver || in.Receiver >= in.Hosts {
		return fmt.Errorf("receiver %d out of range [0, %d)", in.Receiver, in.Hosts)
	}
	if in.Senders < 0 || in.Senders >= in.Hosts {
		return fmt.Errorf("%d senders out of range [0, %d)", in.Senders, in.Hosts)
	}
	if err := Peers(nil).check(in.Hosts); err != nil {
		return err
	}
	return checkSizes(in.Sizes)
}

// draw draws the senders of a round. It picks one host more than there are senders, as the receiver
// may be among them.
func (in Incast) draw(rng *rand.Rand, hosts []int, pairs []pair) []pair {
	pick(rng, hosts, in.Senders+1)
	receiver := in.Receiver
	if receiver == RandomReceiver {
		receiver = hosts[0]
	}
	for _, src := range hosts[:in.Senders+1] {
		if src != receiver {
			pairs = append(pairs, pair{src, receiver})
		}
	}
	return pairs[:min(len(pairs), in.Senders)]
}
