package tocc

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig13a: switches mark tokens too early.
var fig13a = &experiment.Experiment{
	ID: "tocc/fig13a",
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		for _, m := range tokenMarks {
			p := withCC(s, 1, oneWay)
			p.Name, p.Marks = fmt.Sprintf("x%g", m), m
			out = append(out, tokenCells(p)...)
		}
		// Token CC that gets marks as often as NICs' DCQCN, not each 50 µs.
		for _, m := range []float64{0.5, 1} {
			p := withCC(s, 1, oneWay)
			p.Name, p.Marks, p.Spec = fmt.Sprintf("x%g, CNPs %v", m, nicCNPs), m,
				fmt.Sprintf("cnp_interval=%v,", nicCNPs)+p.Spec
			out = append(out, tokenCells(p)...)
		}
		return out
	},
	Run: runTokens,
	Judge: func(r *experiment.Results) {
		r.Claim("dip", 1e6*r.Cell("x0.5").Values("dip").Max())
		r.Claim("default-ok", 1e6*r.Cell("x1").Values("dip").Max())
		often := func(m float64) float64 {
			return 1e6 * r.Cell(fmt.Sprintf("x%g, CNPs %v", m, nicCNPs)).Values("dip").Max()
		}
		r.Note("dip", "token CC gets marks each 50 µs at most, and a cut takes effect within "+
			"that time: the sum of eight flows' windows is never below a BDP. With marks each 4 "+
			"µs it is, after the start, for %.0f µs, but with the recommended threshold, too "+
			"(%.0f µs): DCQCN's period of 900 µs decides, not the threshold", often(0.5), often(1))
		var util []float64
		for _, m := range tokenMarks {
			util = append(util, r.Cell(fmt.Sprintf("x%g", m)).Values("util").Mean())
		}
		r.Claim("monotone", util)
		r.Note("monotone", "the link is as full with any threshold, to a part in 10⁵: a "+
			"difference below the slack is the effect of a single packet")
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			queueFigure(r, "tokens", "Queue of tokens at the bottleneck", "tokens"), queueFigure(r,
				"queue", "Queue of data at the bottleneck", "queue"),
		}
	},
}

var tokenMarks = []float64{0.25, 0.5, 1, 2}
