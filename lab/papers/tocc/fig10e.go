package tocc

import (
	"math"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig10e: the spread of completion times of figure 10a's messages for bandwidth.
var fig10e = &experiment.Experiment{
	ID: "tocc/fig10e",
	Cells: func(s experiment.Scale) []experiment.Cell {
		cells := fig10a.Cells(s)
		for _, c := range cells[:len(cells):len(cells)] {
			if t := c.Params.(testbed); t.Scheme == testbedDCQCN {
				t.Scheme = testbedClamped
				cells = append(cells, experiment.Cell{Name: t.name(), Params: t})
			}
		}
		return cells
	},
	Run: runTestbed,
	Judge: func(r *experiment.Results) {
		// Of each size, because sizes differ in their times; the mean of both.
		ratios := func(dcqcn testbedScheme) (v experiment.Values) {
			for _, bytes := range testbedSizes {
				v = append(v, testbedOf(r, dcqcn, allToAll).of(bytes).variation()/
					testbedOf(r, testbedToCC, allToAll).of(bytes).variation())
			}
			return v
		}
		clamped, nic := ratios(testbedClamped), ratios(testbedDCQCN)
		r.Claim("narrow", clamped.Mean())
		r.Note("narrow", "%.2f for 8 KiB and %.2f for 1 MiB, with DCQCN as published, each of "+
			"whose cuts lowers the target rate. Where only the first of a run does, as in NICs "+
			"unless clamp_tgt_rate is set, %.2f: %.2f and %.2f", clamped[0], clamped[1], nic.Mean(),
			nic[0], nic[1])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var out []figure.Figure
		for _, bytes := range testbedSizes {
			cdf := figure.Lines("fct-"+sizeName(bytes),
				"Messages of "+bytes.String()+" at 80 % load", "completion time (µs)",
				"fraction of messages")
			cdf.X.Log = true
			for _, s := range append(testbedSchemes[:2:2], testbedClamped) {
				first := testbedOf(r, s, allToAll).of(bytes).first().Seeds()[0]
				first.Series("fct").Scaled(1e6, 1).Draw(cdf, string(s))
			}
			out = append(out, cdf)
		}
		return out
	},
}

// variation returns the coefficient of variation of completion times.
func (p testbedPools) variation() float64 {
	n, sum, squares := p.all("messages").Sum(), p.all("time").Sum(), p.all("squares").Sum()
	mean := sum / n
	return math.Sqrt(squares/n-mean*mean) / mean
}
