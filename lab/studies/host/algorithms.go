package hostlab

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// Experiments are the experiments of this package.
var Experiments = []*experiment.Experiment{preemption, fct, naps, cores, virtualPriority}

// The network of all experiments: senders and a receiver on one switch. The BDP is 9 packets.
const (
	rate    = 25 * units.Gbps
	delay   = 2 * units.Microsecond
	payload = 4096
)

// An algorithm is an algorithm to compare, with the marking of its switches. All other settings are
// the defaults.
type algorithm struct {
	Name string
	// Text is parsed by package cc; empty: Name.
	Text     string
	Priority int  // of PrioPlus's 8, around the algorithm; 0: none
	Tokens   bool // ToCC releases packets, and the algorithm has no effect
	ECN      fabric.ECN
}

var (
	// step is DCTCP's marking, a little more than a BDP.
	step = fabric.ECN{Kmin: 50_000, Kmax: 50_000, Pmax: 1}
	// ramp is DCQCN's marking: 100 and 400 KiB for each 100 Gb/s.
	ramp = fabric.ECN{Kmin: 25 * units.KiB, Kmax: 100 * units.KiB, Pmax: 0.2}
)

// fixed is the first: the others are compared with it.
var algorithms = []algorithm{
	{Name: "fixed"},
	{Name: "swift"},
	{Name: "ledbat-dc"},
	{Name: "timely"},
	{Name: "dcqcn", ECN: ramp},
	{Name: "dctcp", ECN: step},
	{Name: "swift prio 3", Text: "swift", Priority: 3},
	{Name: "tocc", Text: "fixed", Tokens: true},
}

// controlled are all but fixed.
var controlled = algorithms[1:]

// control returns the congestion control of a flow.
func (a algorithm) control(channels string) (cc.Factory, error) {
	text := a.Text
	if text == "" {
		text = a.Name
	}
	inner, err := cc.Parse(text)
	if err != nil || a.Priority == 0 {
		return inner, err
	}
	table, err := prioplus.ParseChannels(channels)
	if err != nil {
		return nil, err
	}
	spec := prioplus.Spec{Inner: inner, Channels: table, Priority: a.Priority}
	return spec, spec.Check()
}

// tokenQueue is the queue of TOKENs in ToCC's switches.
const tokenQueue = 5

// tokens returns ToCC's part of a flow, and its switches.
func tokens() (tocc.Spec, *fabric.SwitchConfig, error) {
	spec, err := tocc.Parse("")
	if err != nil {
		return spec, nil, err
	}
	path := cc.Path{LineRate: rate, BaseRTT: 12 * units.Microsecond, Payload: payload}
	share, err := spec.Share(path)
	if err != nil {
		return spec, nil, err
	}
	of := fabric.ToCCSwitch(sim.TokenFrame, units.Bytes(sim.TokenFrame*(1-share)/share+0.5))
	s := of.Config()
	return spec, &s, nil
}

// flow returns the flows of an algorithm, and the network settings that they need.
func (a algorithm) flow(config *sim.Bottleneck) (sim.Flow, error) {
	control, err := a.control("8")
	if err != nil {
		return sim.Flow{}, err
	}
	f := sim.Flow{Control: control}
	config.ECN = a.ECN
	if a.Tokens {
		spec, s, err := tokens()
		if err != nil {
			return f, err
		}
		f.Admission, config.Switch, config.Tokens = spec, s, tokenQueue
	}
	return f, nil
}

// network returns the network of the experiments, with the hosts of a world.
func network(seed uint64, w world, senders int, until units.Duration) sim.Bottleneck {
	return sim.Bottleneck{
		Seed: seed, Jitter: 50 * units.Microsecond, Rate: rate, Delay: delay, PathMTU: payload,
		Timeout: timeout,
		Until:   until, Interval: units.Millisecond, HostOf: w.configure(senders),
	}
}

// timeout is the code of 134 ms: longer than two hosts are away one after the other.
const timeout = 15

// against returns a map over the algorithms of a value's mean relative to that of fixed, with the
// seeds pooled.
func against(r *experiment.Results, value string, cell func(algorithm) string) claims.Value {
	v := claims.Value{}
	base := r.Cell(cell(algorithms[0])).Values(value).Mean()
	for _, a := range controlled {
		v = v.With(a.Name, claims.Number(r.Cell(cell(a)).Values(value).Mean()/base))
	}
	return v
}

// cellName names a cell after its algorithm and its world.
func cellName(a algorithm, w world) string { return fmt.Sprintf("%s, %s", a.Name, w.Name) }
