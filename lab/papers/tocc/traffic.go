package tocc

import (
	"fmt"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
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
	// IncastLow and IncastHigh bound what every other host sends to one, in MTUs, repeatedly with a
	// mean load of incastLoad; 0 for no incasts.
	IncastLow, IncastHigh int
	// Senders is the number of hosts in an incast, 0 for all others. Without a workload there are
	// only incasts, and Load is that of the link to which they go.
	Senders int
}

// String returns its name.
func (t traffic) String() string {
	name := fmt.Sprintf("%s, %g", t.Workload, t.Load)
	if t.Workload == "" {
		name = fmt.Sprintf("%g", t.Load)
	}
	if t.Senders > 0 {
		name += fmt.Sprintf(", %d:1", t.Senders)
	}
	if t.IncastHigh > 0 {
		name += fmt.Sprintf(", incast %d-%d", t.IncastLow, t.IncastHigh)
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
	if t.Workload == "" {
		rounds := t.Flows / t.Senders
		incast, period, err := t.incasts(n, t.Load, 0, units.Time(units.Forever), rounds, seed)
		return incast, units.Duration(rounds) * period, err
	}
	sizes, err := workload.ByName(t.Workload)
	if err != nil {
		return nil, 0, err
	}
	wire := meanOnWire(sizes)
	arrivals := t.Load * float64(n.capacity()) * float64(n.hosts()) / (8 * wire) // a second
	span := units.Duration(float64(t.Flows) / arrivals * float64(units.Second))
	poisson, err := workload.Poisson{
		Hosts: n.hosts(), Rate: units.BitRate(float64(n.capacity()) * sizes.Mean() / wire),
		Load: t.Load, Sizes: sizes, Until: units.Time(span), Seed: seed,
	}.Source()
	if err != nil || t.IncastHigh == 0 {
		return poisson, span, err
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
	bytes := workload.Uniform(units.Bytes(t.IncastLow)*mtu, units.Bytes(t.IncastHigh)*mtu+1)
	period := workload.IncastPeriod(senders, bytes, load*bytes.Mean()/meanOnWire(bytes),
		n.Host.Rate)
	source, err := workload.Incast{
		Hosts: n.hosts(), Senders: t.Senders, Receiver: incastReceiver, Sizes: bytes,
		Start: units.Time(min(period/4, most)), Period: period, Until: until,
		Rounds: rounds, Class: incastClass, Seed: seed,
	}.Source()
	return source, period, err
}

// incastReceiver is the receiver of incasts.
const incastReceiver = 0

// incastClass is the class of flows of incasts; others have 0.
const incastClass = 1
