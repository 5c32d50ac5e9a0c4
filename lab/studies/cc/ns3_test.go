package cclab

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Results of another simulator for the same scenarios: the public ns-3 model of PrioPlus (github
// blueroaring/PrioPlus, snapshot e3d2a8905), n senders and a receiver on one switch, all links 100
// Gb/s and 3 µs, packets of 1054 B on the wire with 1000 B of payload, five draws of start times
// within 5 µs and of marks.

// spread is the minimum and the maximum of a result over the draws.
type spread struct{ low, high float64 }

// ns3Figures are the compared results: the mean of the bottleneck's queue from the first start to
// the last end (bytes on the wire), the mean completion time (µs), and Jain's index of what
// arrived while all flows ran.
type ns3Figures struct{ queue, fct, jain spread }

var ns3 = map[string]map[string]ns3Figures{
	"swift": {
		"conv2": {spread{145333, 145449}, spread{4523.054, 4525.695},
			spread{0.99843, 0.99844}},
		"par8": {spread{293019, 301276}, spread{3354.207, 3372.003},
			spread{0.99954, 0.99997}},
		"incast32": {spread{1062916, 1115231}, spread{1260.667, 1300.268},
			spread{0.98078, 0.99118}},
		"joinleave4": {spread{123598, 124016}, spread{4017.905, 4019.989},
			spread{0.99757, 0.99802}},
	},
	"swift without scaling": {
		"conv2":      {spread{50484, 50532}, spread{4512.935, 4515.703}, spread{0.99801, 0.99802}},
		"par8":       {spread{76771, 80570}, spread{3266.048, 3349.302}, spread{0.99337, 0.99917}},
		"incast32":   {spread{671631, 711445}, spread{1218.005, 1266.98}, spread{0.93512, 0.97227}},
		"joinleave4": {spread{31012, 34206}, spread{4009.819, 4012.999}, spread{0.87982, 0.91304}},
	},
	"ledbat": {
		"conv2": {spread{81645, 81691}, spread{4513.907, 4516.548}, spread{0.94019, 0.94044}},
		"par8":  {spread{223503, 224675}, spread{3370.529, 3377.399}, spread{0.9999, 0.99996}},
		"incast32": {spread{1749773, 1765846}, spread{1343.239, 1346.984},
			spread{0.99755, 0.99781}},
		"joinleave4": {spread{86344, 86372}, spread{4011.597, 4014.818}, spread{0.81458, 0.81541}},
	},
	"hpcc": {
		"conv2": {spread{691, 735}, spread{4508.204, 4510.748}, spread{0.99864, 0.99999}},
		"par8":  {spread{16172, 16928}, spread{3472.614, 3545.276}, spread{0.97231, 0.99068}},
		"incast32": {spread{619105, 631625}, spread{1382.238, 1404.114},
			spread{0.97757, 0.98514}},
		"joinleave4": {spread{1405, 1421}, spread{4008.616, 4010.365}, spread{0.74111, 0.77855}},
	},
}

// Our packets have 1024 B of payload in 1106 on the link. Windows and steps have the same bytes on
// the wire as there, and sized flows the same number of bytes on the wire.
const (
	payload = 1024 // bytes
	packet  = payload + sim.Overhead
	bdp     = 152225.0 / packet // packets, of the other simulator's BDP

	packetThere = 1054.0 // bytes, of them 1000 of payload

	// With a switch's telemetry our packets are 1134 B; its BDP there is a little larger.
	bdpHPCC = 152375.0 / (packet + wire.XCHLen + wire.InnerLen + 20)
)

var ns3Algorithms = []struct{ name, spec string }{
	// Target scaling is 15 µs times 4·0.4625·(1/sqrt(window/BDP)-1), at most 60 µs: the range of
	// Swift's formula between a tenth of a BDP and a BDP.
	{"swift", fmt.Sprintf(
		"swift:base_target=rtt+15us,per_hop=0s,fs_range=60us,fs_min=%g,fs_max=%g,ai=%g,"+
			"init_cwnd=%g,max_cwnd=100000,gate_by_delay=true",
		0.1*bdp, bdp, 0.0012*bdp, bdp)},
	{"swift without scaling",
		fmt.Sprintf(
			"swift:base_target=rtt+5us,per_hop=0s,fs_range=0s,ai=%g,init_cwnd=%g,"+
				"max_cwnd=100000,gate_by_delay=true", 0.0012*bdp, bdp)},
	// Its filter of 4 keeps 3.
	{"ledbat", fmt.Sprintf(
		"ledbat-dc:target=6us,gain=%g,current_filter=3,min_cwnd=1,init_cwnd=%g,max_cwnd=100000",
		packetThere/packet, bdp)},
	{"hpcc", fmt.Sprintf("hpcc:eta=0.95,max_stage=5,max_window=%g,ai=%g", bdpHPCC, 0.0005*bdpHPCC)},
}

func millis(ms float64) units.Duration { return units.Duration(ms * float64(units.Millisecond)) }

var ns3Scenarios = []struct {
	name  string
	flows []sim.Flow
}{
	{"conv2", []sim.Flow{{Stop: millis(5)}, {Start: millis(1), Stop: millis(5)}}},
	{"par8", sized(8, 5_000_000)},
	{"incast32", sized(32, 500_000)},
	{"joinleave4", []sim.Flow{
		{Stop: millis(4)}, {Start: millis(1), Stop: millis(5)}, {Start: millis(2), Stop: millis(6)},
		{Start: millis(3), Stop: millis(7)},
	}},
}

// sized returns the size of a flow with as many bytes on a link as one of the other simulator.
func sized(n int, bytes float64) []sim.Flow {
	flows := make([]sim.Flow, n)
	for i := range flows {
		flows[i].Bytes = units.Bytes(math.Round(bytes/1000*packetThere/packet)) * payload
	}
	return flows
}

// missed are results known to be outside the tolerance, and the reason.
var missed = map[string]string{
	// There the first flow, alone, grows its window without limit, and keeps the larger share when
	// the second one joins. Without our rule against that, the queue is 84.6 KB and Jain's index
	// 0.93.
	"ledbat/conv2/queue": "our windows do not grow while they are not used",
}

// TestAgainstNS3: through our fabric, transport and algorithms the same scenarios give the same
// queue, completion times and fairness, within the spread of the other simulator's draws and 10 %.
func TestAgainstNS3(t *testing.T) {
	race.OneGoroutine(t)
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "algorithm\tscenario\tqueue mean (B)\tns-3\tFCT mean (µs)\tns-3\tJain\tns-3\t")
	for _, a := range ns3Algorithms {
		for _, s := range ns3Scenarios {
			if race.Short() && s.name != "conv2" { // one is enough for the race detector
				continue
			}
			theirs := ns3[a.name][s.name]
			ours := ns3Run(t, a.spec, s.flows)
			verdict := ""
			for _, f := range []struct {
				name  string
				ours  float64
				their spread
			}{{"queue", ours.queue, theirs.queue}, {"fct", ours.fct, theirs.fct},
				{"jain", ours.jain, theirs.jain}} {
				key := a.name + "/" + s.name + "/" + f.name
				within := f.ours >= 0.9*f.their.low && f.ours <= 1.1*f.their.high
				why, known := missed[key]
				assert.Equal(t, !known, within, "%s: %g, ns-3 %v; known: %s", key, f.ours, f.their,
					why)
				if known {
					verdict += f.name + " missed: " + why + " "
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%.0f\t%s\t%.0f\t%s\t%.4f\t%s\t%s\n", a.name, s.name,
				ours.queue, theirs.queue, ours.fct, theirs.fct, ours.jain, theirs.jain, verdict)
		}
	}
	require.NoError(t, w.Flush())
	t.Logf("means of %d draws of ours, minimum and maximum of 5 of ns-3; tolerance: that and 10 "+
		"%%\n%s",
		draws, table.String())
}

func (s spread) String() string { return fmt.Sprintf("%.5g..%.5g", s.low, s.high) }

const draws = 3

type ourFigures struct{ queue, fct, jain float64 } // means over draws

// ns3Run returns the means over draws.
func ns3Run(t *testing.T, spec string, scenario []sim.Flow) ourFigures {
	control, err := cc.Parse(spec)
	require.NoError(t, err)
	var mean ourFigures
	for seed := range uint64(draws) {
		flows := append([]sim.Flow(nil), scenario...)
		for i := range flows {
			flows[i].Control = control
		}
		r, err := sim.Bottleneck{
			Seed: seed, Jitter: 5 * units.Microsecond, PathMTU: payload, Rate: 100 * units.Gbps,
			Delay: 3 * units.Microsecond, Until: 20 * units.Millisecond, Chunk: 16 * units.MiB,
			ECN: fabric.ECN{Kmin: 400 * units.KiB, Kmax: 1600 * units.KiB, Pmax: 0.2,
				AtDequeue: true},
		}.Run(t.Context(), flows)
		require.NoError(t, err)
		f := figuresOf(t, r)
		mean.queue += f.queue / draws
		mean.fct += f.fct / draws
		mean.jain += f.jain / draws
	}
	return mean
}

func figuresOf(t *testing.T, r *sim.Result) (f ourFigures) {
	first, last, joined, left := labtest.Intervals(t, r.Traces)
	for _, flow := range r.Traces {
		f.fct += flow.FCT().Microseconds() / float64(len(r.Traces))
	}
	f.queue = r.Queues[0].Length.Mean(units.Time(first), units.Time(last))
	f.jain = r.Jain(joined, left)
	return f
}

// TestWhereNS3IsWrong: two of the other simulator's algorithms that we also have are wrong, as
// their sources show. Ours must not behave like them.
func TestWhereNS3IsWrong(t *testing.T) {
	race.OneGoroutine(t)
	// Its DCTCP, and D2TCP like it, divides integers: unless all of a window was marked, none of it
	// counts. So alpha only decays, by 1/256 a round trip, whatever is marked: from 0.01 to less
	// than 0.0001 in 25 ms. Our alpha is the marked share, and a cut is half of it.
	t.Run("dctcp", func(t *testing.T) {
		r := wrongThere(t,
			fmt.Sprintf("dctcp:g=0.00390625,alpha=0.01,ai=%g,init_cwnd=%g,max_cwnd=100000",
				0.01*bdp, bdp), 30,
			fabric.ECN{Kmin: 100 * units.KiB, Kmax: 400 * units.KiB, Pmax: 0.2, AtDequeue: true})
		alpha, cuts := 0.0, 0.0
		for _, f := range r.Traces {
			for i, at := range f.Window.Times {
				if i == 0 || at < units.Time(25*units.Millisecond) {
					continue
				}
				if left := f.Window.Values[i] / f.Window.Values[i-1]; left < 1 {
					alpha += 2 * (1 - left)
					cuts++
				}
			}
		}
		require.NotZero(t, cuts)
		alpha /= cuts
		marked := float64(r.Queues[0].Stats.Marked) / float64(r.Queues[0].Stats.Frames)
		t.Logf("alpha of %.0f cuts after 25 ms: %.4f; marked: %.4f", cuts, alpha, marked)
		assert.InEpsilon(t, marked, alpha, 0.5)
	})
	// Its TIMELY cuts most when the delay is little above T_high: two flows leave two thirds of the
	// link unused (35 to 37 % in conv2). Ours cuts in proportion to the excess.
	t.Run("timely", func(t *testing.T) {
		r := wrongThere(t,
			"timely:t_low=24us,t_high=30us,alpha=0.875,beta=0.8,delta=0.005line,min_rate=0.01line",
			5,
			fabric.ECN{Kmin: 400 * units.KiB, Kmax: 1600 * units.KiB, Pmax: 0.2, AtDequeue: true})
		util := r.Goodput().Mean(0, units.Time(millis(5))) / (100e9 * payload / packet)
		t.Logf("%.3f of the link, ns-3 0.348 to 0.369", util)
		assert.Greater(t, util, 0.6)
	})
}

// wrongThere runs conv2 without an end for a number of milliseconds.
func wrongThere(t *testing.T, spec string, ms float64, ecn fabric.ECN) *sim.Result {
	control, err := cc.Parse(spec)
	require.NoError(t, err)
	r, err := sim.Bottleneck{
		Seed: 1, PathMTU: payload, Rate: 100 * units.Gbps, Delay: 3 * units.Microsecond,
		Until: millis(ms), Chunk: 16 * units.MiB, ECN: ecn,
	}.Run(t.Context(), []sim.Flow{{Control: control}, {Start: millis(1), Control: control}})
	require.NoError(t, err)
	return r
}
