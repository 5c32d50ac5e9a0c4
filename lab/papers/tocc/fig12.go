package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// fig12: marks of tokens return in packets of their own, for which no bandwidth is reserved, or in
// data. Tokens get what data and its ACKs leave, so that only CNPs exceed the link; each mark is
// echoed, a microsecond apart.
var fig12 = &experiment.Experiment{
	ID: "tocc/fig12",
	Cells: func(s experiment.Scale) []experiment.Cell {
		echo := withCC(s, 1, bothWays)
		echo.Name, echo.Spec, echo.Limiter = "in data", "cnp_interval=1us,"+echo.Spec, acksAside()
		echo.Until = experiment.At(s, 10*units.Millisecond, 5*units.Millisecond)
		cnp := echo
		cnp.Name, cnp.Spec = "CNPs", "echo=cnp,"+echo.Spec
		less := cnp
		less.Name, less.Limiter = "CNPs, limiter x0.98", 0.98*echo.Limiter
		return tokenCells(echo, cnp, less)
	},
	Run: runTokens,
	Judge: func(r *experiment.Results) {
		echo, cnp, less := r.Cell("in data"), r.Cell("CNPs"), r.Cell("CNPs, limiter x0.98")
		r.Claim("bursts", cnp.Values("excursions").Mean()-echo.Values("excursions").Mean())
		r.Note("bursts", "the queue that CNPs cause stays, because tokens release exactly what "+
			"the link carries: it rises to %.0f KB, against %.0f KB, and its median is as high; "+
			"nothing exceeds three times that", cnp.Values("p99 queue").Mean()/1e3,
			echo.Values("p99 queue").Mean()/1e3)
		r.Claim("mean-queue", cnp.Values("mean queue").Mean()/echo.Values("mean queue").Mean())
		r.Claim("lower-limiter", less.Values("p99 queue").Mean()/cnp.Values("p99 queue").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{queueFigure(r, "queue",
			"Queue of data at the bottleneck, flows both ways", "queue")}
	},
}

// acksAside is the part of their share that tokens get when bandwidth is reserved for ACKs of flows
// the other way: an ACK for each packet, which takes 98 bytes with the extensions of our endpoints.
func acksAside() float64 {
	const ack = 98
	whole := float64(tocc.TokenWire + tocc.Wire(2048, payload))
	return whole / (whole + 2*ack)
}

// queueFigure draws a queue of all cells.
func queueFigure(r *experiment.Results, name, title, series string) figure.Figure {
	p := figure.Lines(name, title, "time (ms)", "queue (KB)")
	r.Curves(p, series, 1e3, 1e-3)
	return p
}
