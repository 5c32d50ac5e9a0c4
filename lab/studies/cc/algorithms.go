package cclab

import (
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Experiments are the experiments of this package.
var Experiments = []*experiment.Experiment{convergence, incast, rtts, fctWebSearch, fctHadoop}

// algorithm is an algorithm to compare, with the marking of its switches and the interval of its
// receivers' CNPs (0 means DCQCN's 50 µs). All other settings are the defaults. Switches support
// Bolt where it controls flows. HPCC is compared with another simulator's (ns3_test.go). Without
// deadlines D2TCP is DCTCP.
type algorithm struct {
	name string
	ecn  fabric.ECN
	cnps units.Duration
}

var (
	// step is DCTCP's marking: K = 100 KB, about a BDP of these networks.
	step = fabric.ECN{Kmin: 100_000, Kmax: 100_000, Pmax: 1}
	// ramp is DCQCN's linear marking, with the thresholds of PrioPlus's experiments at 100 Gb/s.
	ramp = fabric.ECN{Kmin: 100 * units.KiB, Kmax: 400 * units.KiB, Pmax: 0.2}
)

var algorithms = []algorithm{
	{name: "swift"}, {name: "dctcp", ecn: step}, {name: "idctcp", ecn: step}, {name: "ledbat-dc"},
	{name: "timely"},
	{name: "dcqcn", ecn: ramp}, {name: "dcqcn-nic", ecn: ramp, cnps: nicCNPs}, {name: "bolt"},
	{name: "fixed"},
}

// nicCNPs is the interval of CNPs on NVIDIA's NICs (min_time_between_cnps).
const nicCNPs = 4 * units.Microsecond

func algorithmOf(name string) (cc.Spec, algorithm, error) {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	spec, err := cc.Parse(name)
	return spec, algorithms[max(i, 0)], err
}

// windowed are the algorithms with a window and one fixed point.
var windowed = []string{"swift", "dctcp", "idctcp", "ledbat-dc"}

const rate = 100 * units.Gbps

// jitter is the range of start times. Without it flows of one round trip would run in lockstep.
const jitter = 5 * units.Microsecond

// The targets with which the queues are compared.
const (
	swiftBase = 26e-6 // s beyond the base RTT: 25 µs, and 1 µs of one hop
	ledbat    = 6e-6  // s
)
