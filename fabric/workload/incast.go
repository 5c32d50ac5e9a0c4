package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/units"
)

// RandomReceiver is the Receiver of an Incast that draws a new one for every round.
const RandomReceiver = -1

// Incast is many hosts that send to one at the same moment, again and again.
type Incast struct {
	Hosts    int // at least 2
	Senders  int // drawn at random for every round; 0 for all but the receiver
	Receiver int // RandomReceiver, or a host
	Sizes    *Sizes
	Start    units.Time
	Period   units.Duration // from round to round; 0 for a single round
	Rounds   int            // how many; 0 for no end
	Until    units.Time     // all flows are before it; 0 for no end
	Class    int
	Seed     uint64
}

// IncastPeriod answers the Period at which so many senders offer a load of rate: that of the
// receiver's link, or of all links where the load is one of the whole network.
func IncastPeriod(senders int, sizes *Sizes, load float64, rate units.BitRate) units.Duration {
	seconds := float64(senders) * sizes.Mean() * 8 / (load * float64(rate))
	return saturated(seconds * float64(units.Second))
}

// Source begins the traffic. The round is the flows' Group.
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
		return fmt.Errorf("receiver %d is none of %d hosts", in.Receiver, in.Hosts)
	}
	if in.Senders < 0 || in.Senders >= in.Hosts {
		return fmt.Errorf("%d senders of %d hosts, one of which receives", in.Senders, in.Hosts)
	}
	if err := Peers(nil).check(in.Hosts); err != nil {
		return err
	}
	return checkSizes(in.Sizes)
}

// draw has one host more than there are senders in front, so that the receiver may be among them.
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
