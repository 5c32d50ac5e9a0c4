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
		echo, cnp, less := echoes(s)
		return tokenCells(echo, cnp, less, echo.near(), cnp.near())
	},
	Run: runTokens,
	Judge: func(r *experiment.Results) {
		inData, asCNPs, limited := echoes(r.Scale)
		of := func(p tokenRun, what string) float64 { return r.Cell(p.Name).Values(what).Mean() }
		r.Claim("bursts", of(asCNPs, "excursions")-of(inData, "excursions"))
		r.Note("bursts", "the queue that CNPs cause stays, because tokens release exactly what "+
			"the link carries: its median is %.1f KB and its p99 %.1f, against %.1f and %.1f "+
			"without, and %.2f times in a ms it exceeds three times the median. With the round "+
			"trip of 5.3 µs, where token CC gets no marks, both medians are %.0f KB",
			of(asCNPs, "median queue")/1e3, of(asCNPs, "p99 queue")/1e3,
			of(inData, "median queue")/1e3, of(inData, "p99 queue")/1e3, of(asCNPs, "excursions"),
			of(asCNPs.near(), "median queue")/1e3)
		r.Claim("mean-queue", of(asCNPs, "mean queue")/of(inData, "mean queue"))
		r.Claim("lower-limiter", of(limited, "p99 queue")/of(asCNPs, "p99 queue"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{queueFigure(r, "queue",
			"Queue of data at the bottleneck, flows both ways", "queue")}
	},
}

// echoes returns the runs: marks in data, in CNPs, and in CNPs with a smaller share for tokens.
func echoes(s experiment.Scale) (echo, cnp, less tokenRun) {
	echo = withCC(s, 1, bothWays)
	echo.Name, echo.Spec, echo.Limiter = "in data", "cnp_interval=1us,"+echo.Spec, acksAside()
	echo.Until = experiment.At(s, 10*units.Millisecond, 5*units.Millisecond)
	cnp = echo
	cnp.Name, cnp.Spec = "CNPs", "echo=cnp,"+echo.Spec
	less = cnp
	less.Name, less.Limiter = "CNPs, limiter x0.98", 0.98*echo.Limiter
	return echo, cnp, less
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
