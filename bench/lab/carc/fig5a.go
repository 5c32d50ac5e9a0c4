package carclab

import (
	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
)

// fig5a: an echo server whose messages take ever more processing, under hostCC.
var fig5a = &experiment.Experiment{
	ID:    "carc/fig5a",
	Seeds: oneSeed,
	Cells: echoCells(hostFIFO, theoryFIFO),
	Run:   runEcho(hostFIFO, theoryFIFO),
	Judge: func(r *experiment.Results) {
		ticks := echoTicks(r.Scale)
		at := func(v variant, ticks int, what string) float64 {
			return r.Cell(echo{v.name, ticks}.String()).Values(what)[0]
		}
		first, last := ticks[0], ticks[len(ticks)-1]
		r.Claim("misses-up", at(hostFIFO, last, "miss")-at(hostFIFO, first, "miss"))
		r.Note("misses-up", "from %.2f to %.2f", at(hostFIFO, first, "miss"), at(hostFIFO, last, "miss"))
		r.Claim("throughput", 1-at(hostFIFO, last, "rate")/at(hostFIFO, first, "rate"))
		below := 0.
		for _, n := range ticks {
			below = max(below, 1-at(hostFIFO, n, "rate")/at(theoryFIFO, n, "rate"))
		}
		r.Claim("below-theory", below)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return append(echoFigures(r, hostFIFO, theoryFIFO), statesTable(r))
	},
}

// fig8a: the same with credits.
var fig8a = &experiment.Experiment{
	ID:    "carc/fig8a",
	Seeds: oneSeed,
	Cells: echoCells(fig8aVariants...),
	Run:   runEcho(fig8aVariants...),
	Judge: func(r *experiment.Results) {
		at := func(v variant, ticks int, what string) float64 {
			return r.Cell(echo{v.name, ticks}.String()).Values(what)[0]
		}
		fewer, gapHost, gapCARC := 0., 0., 0.
		faster := claims.Value{}
		for _, n := range echoTicks(r.Scale) {
			if miss := at(hostFIFO, n, "miss"); miss > 0.05 {
				fewer = max(fewer, (miss-at(carcEcho, n, "miss"))/miss)
			}
			faster = faster.With(ticksName(n), claims.Number(at(carcEcho, n, "rate")/at(hostFIFO, n, "rate")))
			gapHost += 1 - at(hostFIFO, n, "rate")/at(theoryFIFO, n, "rate")
			gapCARC += 1 - at(carcEcho, n, "rate")/at(theoryFIFO, n, "rate")
		}
		r.Claim("misses", fewer)
		r.Claim("throughput", faster)
		r.Claim("gap", gapCARC/gapHost)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return append(echoFigures(r, fig8aVariants...), statesTable(r))
	},
}

var (
	carcEcho      = carcOf("rr", 0)
	fig8aVariants = []variant{hostFIFO, carcEcho, hostLIFO, carcOf("rr", 1), theoryFIFO}
)
