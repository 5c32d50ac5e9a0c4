package tocc

import (
	"fmt"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// The workloads of figure 1, in the form of ExpressPass's simulator, which the paper follows; Memcached
// is in Homa's only.
const (
	memcached     = "memcached"
	webServer     = "webserver-xpass"
	cacheFollower = "cachefollower-xpass"
	webSearch     = "websearch"
)

// traffic is what flows come. Load is of [network.capacity], in bytes that flows take on the wire: packets of data, and
// an ACK each, which for the smallest flows is a fourth of it.
type traffic struct {
	Workload string
	Load     float64
	Flows    int // about so many come; those of incasts not counted
	// IncastLow and IncastHigh bound what every other host sends to one, in MTUs, again and again with a mean load of
	// incastLoad; 0 for no incasts.
	IncastLow, IncastHigh int
}

// String names it.
func (t traffic) String() string {
	name := fmt.Sprintf("%s, %g", t.Workload, t.Load)
	if t.IncastHigh > 0 {
		name += fmt.Sprintf(", incast %d-%d", t.IncastLow, t.IncastHigh)
	}
	return name
}

// incastLoad is the load of the link of the host that incasts go to.
const incastLoad = 0.2

// The incasts of section VI, and the larger ones.
func (t traffic) mixed() traffic       { t.IncastLow, t.IncastHigh = 30, 40; return t }
func (t traffic) mixedLarger() traffic { t.IncastLow, t.IncastHigh = 90, 120; return t }

// flows is so many at full scale, and so many at small scale.
func flows(s experiment.Scale, name string, load float64, full, small int) traffic {
	return traffic{Workload: name, Load: load, Flows: experiment.At(s, full, small)}
}

// source answers the flows in a network, and how long they come.
func (t traffic) source(n network, seed uint64) (workload.Source, units.Duration, error) {
	sizes, err := workload.ByName(t.Workload)
	if err != nil {
		return nil, 0, err
	}
	wire := meanOnWire(sizes)
	arrivals := t.Load * float64(n.capacity()) * float64(n.hosts()) / (8 * wire) // a second
	span := units.Duration(float64(t.Flows) / arrivals * float64(units.Second))
	poisson, err := workload.Poisson{
		Hosts: n.hosts(), Rate: units.BitRate(float64(n.capacity()) * sizes.Mean() / wire), Load: t.Load, Sizes: sizes, Until: units.Time(span), Seed: seed,
	}.Source()
	if err != nil || t.IncastHigh == 0 {
		return poisson, span, err
	}
	bytes := workload.Uniform(units.Bytes(t.IncastLow)*mtu, units.Bytes(t.IncastHigh)*mtu+1)
	period := workload.IncastPeriod(n.hosts()-1, bytes, incastLoad*bytes.Mean()/meanOnWire(bytes), n.Host.Rate)
	incast, err := workload.Incast{
		Hosts: n.hosts(), Receiver: incastReceiver, Sizes: bytes, Start: units.Time(min(period, span) / 4), Period: period, Until: units.Time(span), Class: incastClass, Seed: seed,
	}.Source()
	if err != nil {
		return nil, 0, err
	}
	return workload.Merge(poisson, incast), span, nil
}

// incastReceiver is the host that incasts go to.
const incastReceiver = 0

// incastClass is the class of flows of incasts; others have 0.
const incastClass = 1
