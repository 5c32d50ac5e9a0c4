package carclab

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig8a: the echo server of figure 5a with credits.
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
		faster := experiment.Keyed{}
		for _, n := range echoTicks(r.Scale) {
			if miss := at(hostCC, n, "miss"); miss > 0.05 {
				fewer = max(fewer, (miss-at(carcEcho, n, "miss"))/miss)
			}
			faster = faster.With(ticksName(n), at(carcEcho, n, "rate")/at(hostCC, n, "rate"))
			gapHost += 1 - at(hostCC, n, "rate")/at(withoutAny, n, "rate")
			gapCARC += 1 - at(carcEcho, n, "rate")/at(withoutAny, n, "rate")
		}
		r.Claim("misses", fewer)
		r.Claim("throughput", faster)
		r.Claim("gap", gapCARC/gapHost)
		marked, module, fastest := 0., 0., 0.
		for _, n := range echoTicks(r.Scale) {
			marked = max(marked, at(hostCC, n, "marked"))
			module = max(module, at(host70, n, "marked"))
			fastest = max(fastest, at(host70, n, "rate")/at(hostCC, n, "rate"))
		}
		r.Note("throughput", "hostCC marked %.3f of packets at most: the slower threads are, the "+
			"less arrives, and lines that were evicted do not fill the I/O controller. With "+
			"I_T = 70 it marked up to %.2f, and is at most %.3f times as fast", marked, module,
			fastest)
		last := echoTicks(r.Scale)[len(echoTicks(r.Scale))-1]
		r.Note("misses", "CARC's receive buffers are LIFO, eRPC's rings FIFO: at %d ticks %.2f "+
			"of reads miss with CARC, %.2f with CARC in FIFO rings, %.2f with hostCC and LIFO",
			last, at(carcEcho, last, "miss"), at(carcEcho.inFIFO(), last, "miss"), at(hostLIFO,
				last, "miss"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return append(echoFigures(r, fig8aVariants...), statesTable(r))
	},
}

var (
	carcEcho      = carcOf("rr")
	fig8aVariants = []variant{hostCC, carcEcho, hostLIFO, carcEcho.inFIFO(), host70, withoutAny}
)
