package tocc

import (
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/units"
)

// fig12: marks of tokens come back in packets of their own, for which nobody has set anything aside, or in data.
var fig12 = &experiment.Experiment{
	ID: "tocc/fig12",
	Cells: func(s experiment.Scale) []experiment.Cell {
		echo := withCC(s, 1, bothWays)
		echo.Name, echo.Until = "in data", experiment.At(s, 10*units.Millisecond, 5*units.Millisecond)
		cnp, less := echo, echo
		cnp.Name, cnp.Spec = "CNPs", "echo=cnp,"+cnp.Spec
		less.Name, less.Spec, less.Limiter = "CNPs, limiter x0.98", cnp.Spec, 0.98
		return tokenCells(echo, cnp, less)
	},
	Run: runTokens,
	Judge: func(r *experiment.Results) {
		echo, cnp, less := r.Cell("in data"), r.Cell("CNPs"), r.Cell("CNPs, limiter x0.98")
		r.Claim("bursts", cnp.Values("excursions").Mean()-echo.Values("excursions").Mean())
		r.Claim("mean-queue", cnp.Values("mean queue").Mean()/echo.Values("mean queue").Mean())
		r.Claim("lower-limiter", less.Values("p99 queue").Mean()/cnp.Values("p99 queue").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{queueFigure(r, "queue", "Queue of data at the bottleneck", "queue")}
	},
}

// queueFigure draws a queue of all cells.
func queueFigure(r *experiment.Results, name, title, series string) figure.Figure {
	p := figure.Lines(name, title, "time (ms)", "queue (KB)")
	for _, c := range r.Cells() {
		s := c.Seeds()[0].Series(series).Scaled(float64(units.Second/units.Millisecond), 1e-3)
		p.Add(c.Name, s.X, s.Y)
	}
	return p
}
