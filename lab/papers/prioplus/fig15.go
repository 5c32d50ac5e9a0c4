package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig15: tails of the runs of figures 12a and 12b.
var fig15 = &experiment.Experiment{
	ID:    "prioplus/fig15",
	Cells: swiftAt(load40),
	Run:   runCoflows,
	Judge: func(r *experiment.Results) {
		a, b := at(load40, virtualSwift), at(load40, physical)
		g := func(p experiment.Pool) float64 { return gain(p, tailCCT, a, b, allEight) }
		r.Claim("tail-close", g(r.Pool))
		r.Note("tail-close", "%s; %s; %s", ackFinding(r, tailCCT, load40), spread(r, g), smaller(r))
		if r.Scale == experiment.Full {
			r.Claim("split", split(r, tailCCT, a, b))
			r.Note("split", "%s", smaller(r))
		}
	},
	Figures: func(r *experiment.Results) (figures []figure.Figure) {
		for _, load := range experiment.At(r.Scale, []float64{load40, load70}, []float64{load40}) {
			figures = append(figures, speedupBars(fmt.Sprintf("tail-%.0f", 100*load),
				fmt.Sprintf("Speedup of the 99th percentile, load %.0f %%", 100*load), r, tailCCT,
				at(load, virtualSwift), at(load, physical), fair(load)))
		}
		return figures
	},
}
