package tocc

import (
	"fmt"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
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
		return out
	},
	Run: runTokens,
	Judge: func(r *experiment.Results) {
		r.Claim("dip", 1e6*r.Cell("x0.5").Values("dip").Max())
		r.Claim("default-ok", 1e6*r.Cell("x1").Values("dip").Max())
		var util []float64
		for _, c := range r.Cells() {
			util = append(util, c.Values("util").Mean())
		}
		r.Claim("monotone", util)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			queueFigure(r, "tokens", "Queue of tokens at the bottleneck", "tokens"), queueFigure(r, "queue", "Queue of data at the bottleneck", "queue"),
		}
	},
}

var tokenMarks = []float64{0.25, 0.5, 1, 2}
