package carclab

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig5a: an echo server whose messages take increasing processing, under hostCC.
var fig5a = &experiment.Experiment{
	ID:    "carc/fig5a",
	Seeds: oneSeed,
	Cells: echoCells(hostCC, withoutAny),
	Run:   runEcho(hostCC, withoutAny),
	Judge: func(r *experiment.Results) {
		ticks := echoTicks(r.Scale)
		at := func(v variant, ticks int, what string) float64 {
			return r.Cell(echo{v.name, ticks}.String()).Values(what)[0]
		}
		first, last := ticks[0], ticks[len(ticks)-1]
		r.Claim("misses-up", at(hostCC, last, "miss")-at(hostCC, first, "miss"))
		r.Note("misses-up", "from %.2f to %.2f", at(hostCC, first, "miss"),
			at(hostCC, last, "miss"))
		r.Claim("throughput", 1-at(hostCC, last, "rate")/at(hostCC, first, "rate"))
		below := 0.
		for _, n := range ticks {
			below = max(below, 1-at(hostCC, n, "rate")/at(withoutAny, n, "rate"))
		}
		r.Claim("below-theory", below)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return append(echoFigures(r, hostCC, withoutAny), statesTable(r))
	},
}
