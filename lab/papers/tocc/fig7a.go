package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// dcqcnCell is a set of parameters, the marking of switches, the minimum interval of a flow's CNPs,
// and the round trip.
type dcqcnCell struct {
	Set   dcqcnSet
	Marks marks
	CNPs  units.Duration
	RTT   units.Duration
}

func (c dcqcnCell) name() string {
	name := fmt.Sprintf("set %d, %v, CNPs %v", c.Set, c.Marks, c.CNPs)
	if c.RTT != longRTT {
		name += fmt.Sprintf(", RTT %v", c.RTT)
	}
	return name
}

// near is the same with the round trip of the leaf-spine networks, and often with a CNP as often as
// HPCC's simulator sends them.
func (c dcqcnCell) near() dcqcnCell  { c.RTT = baseRTT; return c }
func (c dcqcnCell) often() dcqcnCell { c.CNPs = nicCNPs; return c }

func dcqcnCells(cells ...dcqcnCell) (out []experiment.Cell) {
	for _, c := range cells {
		out = append(out, experiment.Cell{Name: c.name(), Params: c})
	}
	return out
}

// Values that the paper does not give: claims are about DCQCN's own interval of CNPs (section 3.1
// of its paper).
var (
	firstSet  = dcqcnCell{1, dataMarks, cc.CNPInterval, longRTT}
	secondSet = dcqcnCell{2, dataMarks, cc.CNPInterval, longRTT}
	// with 22/85 KB as thresholds of data
	earlyMarks = dcqcnCell{1, misread, cc.CNPInterval, baseRTT}
)

// fig7a: eight flows of DCQCN begin at line rate on one link.
var fig7a = &experiment.Experiment{
	ID: "tocc/fig7a",
	Cells: func(experiment.Scale) []experiment.Cell {
		return dcqcnCells(firstSet, firstSet.often(), firstSet.near(), earlyMarks)
	},
	Run: runDCQCN,
	Judge: func(r *experiment.Results) {
		first, often := r.Cell(firstSet.name()), r.Cell(firstSet.often().name())
		r.Claim("rate-spread", first.Values("spread").Mean())
		spread, early := first.Values("spread"), r.Cell(earlyMarks.name()).Values("spread")
		r.Note("rate-spread", "%.2f to %.2f by seed; with CNPs each 4 µs, as in HPCC's simulator, "+
			"%.2f; with the round trip of 5.3 µs %.2f, and there with 22/85 KB as thresholds of "+
			"data %.2f to %.2f", spread.Min(), spread.Max(), often.Values("spread").Mean(),
			r.Cell(firstSet.near().name()).Values("spread").Mean(), early.Min(), early.Max())
		r.Claim("buffer", units.Bytes(first.Values("bufmax").Max()))
		r.Note("buffer", "PFC bounds it: each of eight ports may take an eighth of the free part "+
			"of 32 MB. With CNPs each 4 µs %.1f MB", often.Values("bufmax").Max()/1e6)
		r.Claim("throughput-dips", first.Values("dip").Mean())
	},
	Figures: dcqcnFigures,
}

// runDCQCN simulates a cell of figures 7a and 7b.
func runDCQCN(j *experiment.Job) error {
	return shared(j, j.Params.(dcqcnCell).simulate)
}

func (cell dcqcnCell) simulate(j *experiment.Job) error {
	until := experiment.At(j.Scale, 60*units.Millisecond, 20*units.Millisecond)
	config := eightToOne(j, until)
	config.Delay = linkDelay(config.Rate, cell.RTT)
	config.CNPs = cell.CNPs
	config.Switch = losslessSwitch(config, cell.Marks)
	control, err := cc.Parse(cell.Set.text())
	if err != nil {
		return err
	}
	r, err := config.Run(j.Context(), sim.Many(pairs, sim.Flow{Control: control}))
	if err != nil {
		return err
	}
	ms := units.Millisecond
	end := min(until, 40*ms)
	j.Value("spread", spread(rates(config, r.Traces, bin, 5*ms, end)))
	util := utilisation(config, r.Traces, bin, ms, end)
	j.Value("dip", 1-util.Percentile(5))
	j.Value("util", util.Mean())
	j.Value("bufmax", float64(r.Totals.Fullest))
	var each []experiment.Values
	for _, f := range r.Traces {
		each = append(each, binned(f.Goodput, ms, 0, until).Scaled(pairs/config.Capacity()))
	}
	j.Value("converges", within(0.25, ms, each...).Seconds())
	stored := binned(r.Stored, 10*units.Microsecond, 5*ms, end)
	j.Value("varies", spread(stored)/float64(r.Totals.Fullest))
	j.Value("stored", stored.Percentile(5), stored.Percentile(50), stored.Percentile(95))
	j.Value("pauses", float64(r.Totals.PauseFrames))
	takeFlows(j, r.Traces, 2*bin, until)
	j.Means("buffer", r.Stored, bin, until)
	return nil
}

// losslessSwitch is a switch of the reactive schemes: PFC, and 32 MB at 100 Gb/s, of which frames
// from a port may take an eighth of what is free (HPCC's simulator).
func losslessSwitch(c sim.Bottleneck, m marks) *fabric.SwitchConfig {
	s := fabric.HPCCSwitch(units.Bytes(atRate(32e6, c.Rate)), 1./8, m.ecn(25*units.Gbps), c.Delay,
		0)
	of := s.Queues
	s.Queues = func(r units.BitRate) fabric.Queues {
		qs := of(r)
		qs[0].Headroom = max(qs[0].Headroom, fabric.Headroom(r, c.Delay, c.Delay, packet-20, 480))
		return qs
	}
	return &s
}

// differ returns the distance of two runs: the largest |log ratio| of spread, fullest buffer and
// mean use of the link.
func differ(a, b experiment.Pool, more float64) float64 {
	ratio := func(name string, more float64) float64 {
		return math.Abs(math.Log((a.Values(name).Mean() + more) / (b.Values(name).Mean() + more)))
	}
	return max(ratio("spread", more), ratio("bufmax", 0), ratio("util", 0))
}

func dcqcnFigures(r *experiment.Results) []figure.Figure {
	return flowFigures(r.Cells(), "DCQCN")
}

// flowFigures draws the goodput of each flow in each of some cells, and the buffers of all.
func flowFigures(cells []experiment.Pool, what string) (out []figure.Figure) {
	buffer := figure.Lines("buffer", "Buffer in use, eight flows of "+what+" through one link",
		"time (ms)", "buffer (MB)")
	for i, c := range cells {
		first := c.Seeds()[0]
		goodput := figure.Lines(fmt.Sprintf("goodput-%d", i+1),
			"Goodput of eight flows, "+what+", "+c.Name, "time (ms)", "goodput (Gb/s)")
		for k := range pairs {
			first.Series(fmt.Sprintf("flow %d", k+1)).Scaled(1e3, 1e-9).Draw(goodput,
				fmt.Sprintf("flow %d", k+1))
		}
		first.Series("buffer").Scaled(1e3, 1e-6).Draw(buffer, c.Name)
		out = append(out, goodput)
	}
	return append(out, buffer)
}
