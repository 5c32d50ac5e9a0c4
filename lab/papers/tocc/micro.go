package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// microExperiments run flows through one link.
var microExperiments = []*experiment.Experiment{fig1, table1, sec5dLimiter, sec5dStale, fig3ab,
	fig3d, fig7a, fig7b, fig7c, fig7d, fig12, fig13a, prioPlusToCC, tokenCC, tokenPriority,
	toccOffload}

// The eight flows of figure 7 are between pairs of hosts ("all-to-all") and share the link between
// two switches.
const pairs = 8

// packet is the size of a full one on a link.
const packet = payload + sim.Overhead

// baseRTT of a full packet and its ACK in the leaf-spine networks (section VI).
const baseRTT = 5300 * units.Nanosecond

// longRTT is the base RTT of figures 7, 12 and 13. The paper gives 6.5 MB of unscheduled packets
// for figure 7c: eight BDPs of 812 KB, which are 65 µs at 100 Gb/s.
const longRTT = 65 * units.Microsecond

// eightToOne returns their network with baseRTT; small ones run at a fourth of the rate.
func eightToOne(j *experiment.Job, until units.Duration) sim.Bottleneck {
	c := sim.Bottleneck{
		Seed: j.Seed, Jitter: units.Microsecond, Rate: experiment.At(j.Scale, 100*units.Gbps,
			25*units.Gbps), PathMTU: payload,
		Chunk: 16 * units.MiB, Until: until, Interval: 50 * units.Microsecond,
		Place: func(flow int) (int, int) { return flow % pairs, flow % pairs },
	}
	c.Delay = linkDelay(c.Rate, baseRTT)
	return c
}

// linkDelay returns the delay of each of the six links of a round trip, which carry a full packet
// and its ACK.
func linkDelay(r units.BitRate, rtt units.Duration) units.Duration {
	const ack = 4 + sim.Overhead
	return (rtt - r.Duration(3*(packet+ack))) / 6
}

// atRate scales parameters of a link of 100 Gb/s.
func atRate(b float64, r units.BitRate) float64 { return b * float64(r) / 100e9 }

// marks are thresholds of ECN in KB at 100 Gb/s.
type marks struct{ Kmin, Kmax float64 }

// Thresholds of data are those of HPCC's simulator, to which the paper refers for DCQCN (footnote
// 1). The 22 and 85 KB of appendix B are most probably those of the queue of tokens: with tokens of
// 84 bytes for packets of 1538 they are the same thresholds in packets (400*84/1538 = 21.8,
// 1600*84/1538 = 87.4). misread has them as thresholds of data, with those of tokens in proportion.
var (
	dataMarks  = marks{400, 1600}
	tokenMarks = marks{22, 85}
	misread    = marks{22, 85}
)

func (m marks) String() string { return fmt.Sprintf("%g/%g KB", m.Kmin, m.Kmax) }

func (m marks) ecn(r units.BitRate) fabric.ECN {
	return fabric.ECN{Kmin: units.Bytes(atRate(1000*m.Kmin, r)),
		Kmax: units.Bytes(atRate(1000*m.Kmax, r)), Pmax: 0.2}
}

// dcqcnSet is one of the two sets of parameters (section VI-B, footnote 1).
type dcqcnSet int

// text returns DCQCN as in NICs, without a window, in the form that package cc parses.
func (s dcqcnSet) text() string { return []string{1: dcqcnSet1, 2: dcqcnSet2}[s] + ",window=1GB" }

// binned returns means of more frequent samples, in bins of a width, from one time to another.
func binned(s *fabric.Series, width, from, to units.Duration) (out experiment.Values) {
	for at := from; at+width <= to; at += width {
		out = append(out, s.Mean(units.Time(at), units.Time(at+width)))
	}
	return out
}

// spread is p95 - p5.
func spread(v experiment.Values) float64 { return v.Percentile(95) - v.Percentile(5) }

// bin is the interval of goodput, unless a claim says otherwise.
const bin = 100 * units.Microsecond

// rates returns the goodput of each flow in bins, relative to an equal share of the link.
func rates(c sim.Bottleneck, flows []*sim.Trace, width, from,
	to units.Duration) (out experiment.Values) {
	for _, f := range flows {
		out = append(out,
			binned(f.Goodput, width, from, to).Scaled(float64(len(flows))/c.Capacity())...)
	}
	return out
}

// utilisation returns the part of the link's payload that all flows had together, in bins.
func utilisation(c sim.Bottleneck, flows []*sim.Trace, width, from,
	to units.Duration) experiment.Values {
	total := make(experiment.Values, int((to-from)/width))
	for _, f := range flows {
		for i, v := range binned(f.Goodput, width, from, to) {
			total[i] += v / c.Capacity()
		}
	}
	return total
}

// microRuns are shared by several experiments.
var microRuns experiment.Memo[*experiment.Record]

// shared records what simulate records for the job's parameters, which one process simulates once.
func shared(j *experiment.Job, simulate func(*experiment.Job) error) error {
	record, err := microRuns.Of(j, j.Params, func() (*experiment.Record, error) {
		own := experiment.NewJob(j.Context(), j.Cell, j.Scale, j.Seed, j.Progress)
		return own.Record(), simulate(own)
	})
	if err != nil {
		return err
	}
	for name, values := range record.Values() {
		j.Value(name, values...)
	}
	for name, series := range record.Series() {
		*j.Series(name) = series
	}
	return nil
}

// takeFlows records the goodput of each flow for a figure.
func takeFlows(j *experiment.Job, flows []*sim.Trace, width, until units.Duration) {
	for i, f := range flows {
		s := j.Series(fmt.Sprintf("flow %d", i+1))
		for k, v := range binned(f.Goodput, width, 0, until) {
			s.Add((units.Duration(k) * width).Seconds(), v)
		}
	}
}

// within returns the first time after which all values stay near 1, in bins of a width.
func within(near float64, width units.Duration, flows ...experiment.Values) units.Duration {
	since := 0
	for _, values := range flows {
		for i, v := range values {
			if math.Abs(v-1) > near {
				since = max(since, i+1)
			}
		}
		if since == len(values) {
			return units.Forever
		}
	}
	return units.Duration(since) * width
}
