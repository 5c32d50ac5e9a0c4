package cclab

import (
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Experiments are those of this package.
var Experiments = []*experiment.Experiment{convergence, incast, rtts, fctWebSearch, fctHadoop}

// algorithm is one that is compared, with the marking that its switches do and the interval of its
// receivers' CNPs (0 is DCQCN's 50 µs). Everything that is not said is the default. Where Bolt
// controls flows, switches run it. HPCC is compared with another simulator's (ns3_test.go). Without
// deadlines D2TCP is DCTCP.
type algorithm struct {
	name string
	ecn  fabric.ECN
	cnps units.Duration
}

var (
	// step is DCTCP's marking: K = 100 KB, about a BDP of our networks.
	step = fabric.ECN{Kmin: 100_000, Kmax: 100_000, Pmax: 1}
	// ramp is linear, as DCQCN wants it, with the thresholds of PrioPlus's experiments at 100 Gb/s.
	ramp = fabric.ECN{Kmin: 100 * units.KiB, Kmax: 400 * units.KiB, Pmax: 0.2}
)

var algorithms = []algorithm{
	{name: "swift"}, {name: "dctcp", ecn: step}, {name: "idctcp", ecn: step}, {name: "ledbat-dc"},
	{name: "timely"},
	{name: "dcqcn", ecn: ramp}, {name: "dcqcn-nic", ecn: ramp, cnps: nicCNPs}, {name: "bolt"},
	{name: "fixed"},
}

// nicCNPs is what is between CNPs of NVIDIA's NICs (min_time_between_cnps).
const nicCNPs = 4 * units.Microsecond

func algorithmOf(name string) (cc.Spec, algorithm, error) {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	spec, err := cc.Parse(name)
	return spec, algorithms[max(i, 0)], err
}

// windowed are the algorithms with a window and one fixed point.
var windowed = []string{"swift", "dctcp", "idctcp", "ledbat-dc"}

const rate = 100 * units.Gbps

// jitter is by how much starts differ, or flows of one round trip would march in step.
const jitter = 5 * units.Microsecond

// The targets that the queues are held against.
const (
	swiftBase = 26e-6 // s beyond the base RTT: 25 µs, and 1 µs of one hop
	ledbat    = 6e-6  // s
)
