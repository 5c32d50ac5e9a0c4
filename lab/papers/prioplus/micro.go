package prioplus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Experiments are the experiments of this package.
var Experiments = slices.Concat([]*experiment.Experiment{
	fig2, fig3a, fig3b, fig3c, fig3d, table1, table2, appC, fig6, fig7, sec432, sec5, fig4, sec421,
	fig8a, fig8b, fig9, fig10a, fig10b, fig10c, fig10d,
	mixedQueue, weighted, perClassECN, plainPeer,
}, largeExperiments)

// The micro-benchmark (section 6.1): senders and a receiver on one switch, 100 Gb/s, 3 µs a link.
// Packets of the published configuration are 1054 B on the wire, with 1000 B of payload and no
// preamble or gap; ours 1106 B with 1024 B. BDP is the same, in bytes on the wire.
const (
	payload = 1024
	packet  = payload + sim.Overhead
	bdp     = 152225.0 / packet // packets
	rate    = 100 * units.Gbps
)

func micro(seed uint64, until units.Duration) sim.Bottleneck {
	return sim.Bottleneck{
		Seed: seed, Jitter: units.Microsecond, Rate: rate, Delay: 3 * units.Microsecond,
		PathMTU: payload,
		Chunk:   16 * units.MiB, Until: until,
	}
}

// swift returns Swift with the artifact's settings and a target this far above the base RTT. With
// scaling, the target grows by the ratio of the square roots of a BDP and of the window, at most
// fourfold, at a tenth of a BDP: the paper's formula between those bounds.
func swift(above units.Duration, scaled bool, more string) (cc.Spec, error) {
	scaling := units.Duration(0)
	if scaled {
		scaling = 4 * above
	}
	text := fmt.Sprintf(
		"swift:base_target=rtt+%gus,per_hop=0s,fs_range=%gus,fs_min=%g,fs_max=%g,ai=%g,"+
			"beta=0.8,max_mdf=0.5,max_cwnd=100000",
		above.Microseconds(), scaling.Microseconds(), 0.1*bdp, bdp, 0.0012*bdp)
	return cc.Parse(text + more)
}

// start makes a flow begin with a window of a number of packets.
func start(window float64) string { return fmt.Sprintf(",init_cwnd=%g", window) }

// group returns the flows of one class: goodput over a span, summed.
func group(flows []*sim.Trace, from, to units.Duration) float64 {
	sum := 0.0
	for _, f := range flows {
		sum += f.Goodput.Mean(units.Time(from), units.Time(to))
	}
	return sum
}

// keep records the goodput of classes of flows.
func keep(j *experiment.Job, name string, flows []*sim.Trace) {
	j.Curve(name, sim.Goodput(flows), 0)
}

// keepQueue records the mean queue toward the receiver in each interval.
func keepQueue(j *experiment.Job, name string, r *sim.Result, interval units.Duration) {
	j.Means(name, r.Queues[0].Length, interval, r.End)
}
