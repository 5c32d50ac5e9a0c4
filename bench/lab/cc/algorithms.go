package cclab

import (
	"slices"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// Experiments are those of this package.
var Experiments = []*experiment.Experiment{convergence, incast, rtts, fctWebSearch, fctHadoop}

// algorithm is one that is compared, with the marking that its switches do. Everything that is not said
// is the default. Where Bolt controls flows, switches run it. HPCC is compared with another simulator (ns3_test.go), and
// without deadlines D2TCP is DCTCP.
type algorithm struct {
	name string
	ecn  fabric.ECN
}

var (
	// step is DCTCP's marking: K = 100 KB, about a BDP of our networks.
	step = fabric.ECN{Kmin: 100_000, Kmax: 100_000, Pmax: 1}
	// ramp is linear, as DCQCN wants it, with the thresholds of PrioPlus's experiments at 100 Gb/s.
	ramp = fabric.ECN{Kmin: 100 * units.KiB, Kmax: 400 * units.KiB, Pmax: 0.2}
)

var algorithms = []algorithm{
	{"swift", fabric.ECN{}}, {"dctcp", step}, {"idctcp", step}, {"ledbat-dc", fabric.ECN{}}, {"timely", fabric.ECN{}},
	{"dcqcn", ramp}, {"dcqcn-nic", ramp}, {"bolt", fabric.ECN{}}, {"fixed", fabric.ECN{}},
}

func algorithmOf(name string) (cc.Spec, fabric.ECN, error) {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	spec, err := cc.Parse(name)
	return spec, algorithms[max(i, 0)].ecn, err
}

// nicAlpha is why dcqcn-nic, with the defaults of NICs, hardly yields to our CNPs.
const nicAlpha = "dcqcn-nic: alpha falls by 1/205 each µs without a CNP, and our CNPs are at least 50 µs apart, where NICs send one " +
	"each 4 µs: alpha is about 1/50, and a cut takes a hundredth"

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
