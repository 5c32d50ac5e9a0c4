package tocc

import (
	"fmt"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// The workloads of figure 1, in the form of ExpressPass's simulator, which the paper follows;
// Memcached is in Homa's only.
const (
	memcached     = "memcached"
	webServer     = "webserver-xpass"
	cacheFollower = "cachefollower-xpass"
	webSearch     = "websearch"
)

// traffic is the flows that arrive. Load is relative to [network.capacity], in bytes of flows on
// the wire: packets of data, and an ACK each, which for the smallest flows is a fourth of it.
type traffic struct {
	Workload string
	Load     float64
	Flows    int // the approximate number, without those of incasts
	// Slots counts load in slots of a credit, which releases a full packet, however short the
	// packets of data are.
	Slots bool
	// OfHosts is load relative to the hosts' links: an oversubscribed core has more than it
	// carries. The run ends with the arrivals.
	OfHosts bool
	// IncastLow and IncastHigh bound what every other host sends to one, in MTUs, repeatedly with a
	// mean load of incastLoad; 0 for no incasts.
	IncastLow, IncastHigh int
	// Senders is the number of hosts in an incast, 0 for all others. Without a workload there are
	// only incasts, and Load is the load of the link to which they go.
	Senders int
	// Rounds is the number of incasts in the time of the flows, each to another host, drawn at
	// random; 0 for incasts to one host.
	Rounds int
	// Draw numbers other flows of the same kind.
	Draw int
}

// String returns its name.
func (t traffic) String() string {
	name := fmt.Sprintf("%s, %g", t.Workload, t.Load)
	if t.Workload == "" {
		name = fmt.Sprintf("%g", t.Load)
	}
	if t.Slots {
		name += " in credits"
	}
	if t.OfHosts {
		name += fmt.Sprintf(" of hosts, %d flows", t.Flows)
	}
	if t.Senders > 0 {
		name += fmt.Sprintf(", %d:1", t.Senders)
	}
	if t.IncastHigh > 0 {
		name += fmt.Sprintf(", incast %d-%d", t.IncastLow, t.IncastHigh)
	}
	if t.Draw > 0 {
		name += fmt.Sprintf(", draw %d", t.Draw+1)
	}
	if t.Rounds > 0 {
		name += fmt.Sprintf(", %d rounds", t.Rounds)
	}
	return name
}

// incastLoad is the load of the link of the incasts' receiver.
const incastLoad = 0.2

// The incasts of section VI, and the larger ones.
func (t traffic) mixed() traffic       { t.IncastLow, t.IncastHigh = 30, 40; return t }
func (t traffic) mixedLarger() traffic { t.IncastLow, t.IncastHigh = 90, 120; return t }

// flows returns one number at full scale, and another at small scale.
func flows(s experiment.Scale, name string, load float64, full, small int) traffic {
	return traffic{Workload: name, Load: load, Flows: experiment.At(s, full, small)}
}

// source returns the flows in a network, and how long they arrive.
func (t traffic) source(n network, seed uint64) (workload.Source, units.Duration, error) {
	seed += uint64(t.Draw) << 32
	if t.Workload == "" {
		rounds := t.Flows / t.Senders
		incast, period, err := t.incasts(n, t.Load, 0, units.Time(units.Forever), rounds, seed)
		return incast, units.Duration(rounds) * period, err
	}
	sizes, err := workload.ByName(t.Workload)
	if err != nil {
		return nil, 0, err
	}
	wire, capacity := meanOnWire(sizes), float64(n.capacity())
	if t.Slots {
		wire = meanPackets(sizes) * float64(tocc.TokenWire+credited)
	}
	if t.OfHosts {
		capacity = float64(n.Host.Rate)
	}
	arrivals := t.Load * capacity * float64(n.hosts()) / (8 * wire) // a second
	span := units.Duration(float64(t.Flows) / arrivals * float64(units.Second))
	poisson, err := workload.Poisson{
		Hosts: n.hosts(), Rate: units.BitRate(capacity * sizes.Mean() / wire),
		Load: t.Load, Sizes: sizes, Until: units.Time(span), Seed: seed,
	}.Source()
	if err != nil || t.IncastHigh == 0 {
		return poisson, span, err
	}
	if t.Rounds > 0 {
		period := span / units.Duration(t.Rounds)
		incast, err := t.incast(n, period/4, period, units.Time(span), 0, seed)
		return workload.Merge(poisson, incast), span, err
	}
	incast, _, err := t.incasts(n, incastLoad, span/4, units.Time(span), 0, seed)
	if err != nil {
		return nil, 0, err
	}
	return workload.Merge(poisson, incast), span, nil
}

// incasts returns the flows of incasts with a load, and the interval of incasts. The first incast
// is after a quarter of the interval, but no later than most.
func (t traffic) incasts(n network, load float64, most units.Duration, until units.Time, rounds int,
	seed uint64) (workload.Source, units.Duration, error) {
	senders := n.hosts() - 1
	if t.Senders > 0 {
		senders = t.Senders
	}
	bytes := t.incastBytes()
	period := workload.IncastPeriod(senders, bytes, load*bytes.Mean()/meanOnWire(bytes),
		n.Host.Rate)
	source, err := t.incast(n, min(period/4, most), period, until, rounds, seed)
	return source, period, err
}

// incast returns the flows of incasts with a period.
func (t traffic) incast(n network, start, period units.Duration, until units.Time, rounds int,
	seed uint64) (workload.Source, error) {
	receiver := incastReceiver
	if t.Rounds > 0 {
		receiver = workload.RandomReceiver
	}
	return workload.Incast{
		Hosts: n.hosts(), Senders: t.Senders, Receiver: receiver, Sizes: t.incastBytes(),
		Start: units.Time(start), Period: period, Until: until, Rounds: rounds,
		Class: incastClass, Seed: seed,
	}.Source()
}

// incastBytes are the sizes of an incast's flows.
func (t traffic) incastBytes() *workload.Sizes {
	return workload.Uniform(units.Bytes(t.IncastLow)*mtu, units.Bytes(t.IncastHigh)*mtu+1)
}

// incastReceiver is the receiver of incasts, unless it is drawn.
const incastReceiver = 0

// incastClass is the class of flows of incasts; others have 0.
const incastClass = 1
