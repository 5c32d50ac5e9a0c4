package tocc

import (
	"math"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig10e: the spread of completion times of figure 10a's messages for bandwidth.
var fig10e = &experiment.Experiment{
	ID:    "tocc/fig10e",
	Seeds: testbedSeeds,
	Cells: fig10a.Cells,
	Run:   runTestbed,
	Judge: func(r *experiment.Results) {
		// Of each size, because sizes differ in their times; the mean of both.
		var ratios experiment.Values
		for _, bytes := range testbedSizes {
			dcqcn, tocc := testbedOf(r, testbedDCQCN, allToAll).of(bytes), testbedOf(r, testbedToCC,
				allToAll).of(bytes)
			ratios = append(ratios, dcqcn.variation()/tocc.variation())
		}
		r.Claim("narrow", ratios.Mean())
		r.Note("narrow", "%.2f for 8 KiB and %.2f for 1 MiB: the time of a message of 1 MiB is "+
			"mostly set by how many others its hosts send and receive meanwhile, which begin at "+
			"the same random times under both (a guess)", ratios[0], ratios[1])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var out []figure.Figure
		for _, bytes := range testbedSizes {
			cdf := figure.Lines("fct-"+sizeName(bytes),
				"Messages of "+bytes.String()+" at 80 % load", "completion time (µs)",
				"fraction of messages")
			cdf.X.Log = true
			for _, s := range testbedSchemes {
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
