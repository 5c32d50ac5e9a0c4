package taurus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig2cd: DOCA PCC when the receiver's memory is the bottleneck, of which it gets no signal.
var fig2cd = &experiment.Experiment{
	ID: "taurus/fig2cd",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return contested(fig2Sizes(s), fig2Series...)
	},
	Run: runContest,
	Judge: func(r *experiment.Results) {
		sizes, fabric, host := fig2Sizes(r.Scale), fig2Series[0], fig2Series[1]
		goodput, lost := fabric.means(r, sizes, "goodput"), host.means(r, sizes, "goodput")
		latency, slow := fabric.means(r, sizes, "latency"), host.means(r, sizes, "latency")
		r.Claim("throughput", bySize(sizes, func(i int) float64 { return 1 - lost[i]/goodput[i] }))
		r.Claim("latency", bySize(sizes, func(i int) float64 { return slow[i]/latency[i] - 1 }))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		sizes := fig2Sizes(r.Scale)
		return []figure.Figure{
			bars(r, "goodput", "DOCA PCC, eight hosts send to one", "goodput (Gb/s)", "goodput",
				1e-9, sizes, fig2Series...),
			bars(r, "latency", "DOCA PCC, eight hosts send to one", "mean latency (µs)", "latency",
				1e6, sizes, fig2Series...),
			table(r, sizes, fig2Series...),
		}
	},
}

var fig2Series = under(0, []float64{0, mild}, docaPCC)

// fig2Sizes are two at small scale.
func fig2Sizes(s experiment.Scale) []units.Bytes {
	return experiment.At(s, sizesAt(s), []units.Bytes{16 * kib, 256 * kib})
}
