package prioplus

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig13: delay without congestion, uniform between 0 and R, for channels that tolerate B of it.
// Every sample has one of its own: frames that keep their order in a queue of such delays would
// wait for the longest, so that nearly all samples had R.
var fig13 = &experiment.Experiment{
	ID: "prioplus/fig13",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return experiment.Sweep("B=%d", experiment.At(s, []int{10, 20, 30}, []int{10, 20})...)
	},
	Run: func(j *experiment.Job) error {
		b, step := j.Params.(int), experiment.At(j.Scale, 2, 4)
		gap, meanVirtual, meanReal := j.Series("gap"), j.Series("PrioPlus"), j.Series("Physical")
		for r := 0; r <= 40; r += step {
			virtual, err := runDelayed(j, virtualSwift, b, r)
			if err != nil {
				return err
			}
			real, err := runDelayed(j, physical, b, r)
			if err != nil {
				return err
			}
			var sum, took, tookReal float64
			for id := range uint64(len(virtual)) {
				sum += math.Abs(virtual[id]-real[id]) / real[id]
				took, tookReal = took+virtual[id]/float64(len(virtual)),
					tookReal+real[id]/float64(len(real))
			}
			x := float64(r) * 1e-6
			gap.Add(x, sum)
			meanVirtual.Add(x, took)
			meanReal.Add(x, tookReal)
			j.Progress(float64(r) / 40)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		above := claims.Value{}
		knees := map[int]float64{}
		for _, c := range r.Cells() {
			b := c.Params.(int)
			knees[b] = knee(gapOf(c))
			above = above.With(fmt.Sprint(b), claims.Number(knees[b]*1e6/float64(b)))
		}
		r.Claim("knee-above-b", above)
		r.Note("knee-above-b", "%s", withinLimits(r))
		widest := experiment.At(r.Scale, 30, 20)
		moves := math.Inf(1) // without a knee
		if !math.IsInf(knees[widest], 1) {
			moves = (knees[widest] - knees[10]) * 1e6
		}
		r.Claim("knee-moves", moves)
		r.Note("knee-moves", "%s", withinLimits(r))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("gap", "Gap to physical priorities, eight flows added up",
			"delay up to (µs)", "normalized gap")
		for _, c := range r.Cells() {
			g := gapOf(c).Scaled(1e6, 1)
			p.Add(c.Name+" µs", g.X, g.Y)
		}
		times := figure.Lines("fct", "Mean completion time, first seed", "delay up to (µs)",
			"time (ms)")
		for i, c := range r.Cells() {
			one := c.Seeds()[0]
			if i == 0 {
				one.Series("Physical").Scaled(1e6, 1e3).Draw(times, "Physical")
			}
			one.Series("PrioPlus").Scaled(1e6, 1e3).Draw(times, "PrioPlus, "+c.Name+" µs")
		}
		return []figure.Figure{p, times}
	},
}

// withinLimits explains why delays of single samples have no effect.
func withinLimits(r *experiment.Results) string {
	text := "D_limit of the lowest of the four priorities is 51 µs above the base at B = 10, and " +
		"further at a larger B, so that delays of up to 40 µs alone stop no flow. PrioPlus's " +
		"mean completion time for R of 0 and up to 40 µs:"
	for i, c := range r.Cells() {
		if i > 0 {
			text += ";"
		}
		var all experiment.Values
		for _, s := range c.Seeds() {
			all = append(all, s.Series("PrioPlus").Y...)
		}
		first := c.Seeds()[0].Series("PrioPlus").Y[0]
		text += fmt.Sprintf(" %.1f ms, %.1f to %.1f (%s)", 1e3*first, 1e3*all.Min(), 1e3*all.Max(),
			c.Name)
	}
	return text + ". With delays that keep frames in order, as before, the gap first shrinks, " +
		"because physical priorities' Swift takes the delay for a queue and slows down"
}

// gapOf returns the mean of the seeds.
func gapOf(c experiment.Pool) experiment.Series {
	var mean experiment.Series
	seeds := c.Seeds()
	for i, s := range seeds {
		g := s.Series("gap")
		for k := range g.X {
			if i == 0 {
				mean.Add(g.X[k], 0)
			}
			mean.Y[k] += g.Y[k] / float64(len(seeds))
		}
	}
	return mean
}

// knee returns the smallest delay at which the gap exceeds that without delay by a quarter and 0.1.
func knee(gap experiment.Series) float64 {
	for k, y := range gap.Y {
		if y > 1.25*gap.Y[0]+0.1 {
			return gap.X[k]
		}
	}
	return math.Inf(1)
}

// runDelayed runs priorities 3 to 6, two flows each, from the lowest on, with an additional delay
// of up to r µs in each sample. It returns their completion times in seconds.
func runDelayed(j *experiment.Job, s scheme, b, r int) (map[uint64]float64, error) {
	size := experiment.At(j.Scale, units.Bytes(8_000_000), 1_000_000)
	var flows list
	apart := experiment.At(j.Scale, 4*units.Millisecond, units.Millisecond)
	for i := range 8 { // each from a host of its own, so that they meet at the switch
		flows = append(flows, workload.Flow{
			ID: uint64(i), At: units.Time(units.Duration(i/2) * apart), Src: i, Dst: 8, Bytes: size,
			Class: 2 + i/2, Group: -1,
		})
	}
	// 13 µs there and back
	link := fabric.Link{Rate: 10 * units.Gbps, Delay: 2800 * units.Nanosecond}
	l := large{
		Scheme: s, Seed: j.Seed, Link: link, Ports: 9, Buffer: 1 << 32,
		Span: 3*apart + units.Microsecond,
		Priorities: priorities{N: 8,
			Start: fmt.Sprintf(",b=%dus,eps=%dus,w_high=0.5BDP,w_middle=0.5BDP,w_low=0.5BDP", b, b),
			AI:    "0.15"},
		Build: func(p fabric.Parts) *fabric.Network {
			net := fabric.New(p.Config)
			sw := net.AddSwitch("switch", p.Switch)
			for range 8 {
				net.Connect(net.AddHost(p.Host), sw, link)
			}
			net.Connect(net.AddHost(p.Host), sw, link)
			return net
		},
		Source: &flows, Priority: func(f workload.Flow) int { return f.Class },
		Around: func(c cc.Factory) cc.Factory {
			return whole{c, units.Duration(r) * units.Microsecond}
		},
	}
	out, err := l.run(j)
	if err != nil {
		return nil, err
	}
	times := map[uint64]float64{}
	for _, f := range out.Flows {
		times[f.ID] = f.FCT.Seconds()
	}
	return times, nil
}

// whole is congestion control that attributes all of the delay to the fabric: the delay in hosts
// counts. Samples are up to extra longer.
type whole struct {
	cc.Factory
	extra units.Duration
}

// New implements cc.Factory.
func (w whole) New(path cc.Path) (cc.Algorithm, error) {
	a, err := w.Factory.New(path)
	if n, ok := a.(*noisyFlow); ok {
		n.whole, n.extra = true, w.extra
	}
	return a, err
}
