package prioplus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig17: coflows without PFC.
var fig17 = &experiment.Experiment{
	ID: "prioplus/fig17",
	Cells: coflowCells(at(load70, baseline), at(load70, virtualSwift), lossy(virtualSwift),
		lossy(physical)),
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		same := func(p experiment.Pool) float64 {
			return 1 + gain(p, meanCCT, lossy(virtualSwift), at(load70, virtualSwift), allEight)
		}
		r.Claim("same-as-lossless", same(r.Pool))
		r.Note("same-as-lossless", "%s; %s", spread(r, same), smaller(r))
		drops := func(c coflowCell) float64 { return r.Cell(c.name()).Values("drops").Mean() }
		a, b := drops(lossy(virtualSwift)), drops(lossy(physical))
		r.Claim("few-drops", (a+1e-6)/(b+1e-6))
		r.Note("few-drops", "dropped of what was forwarded: %.2g with PrioPlus, %.2g with "+
			"physical priorities; %s", a, b, smaller(r))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup",
			"Mean speedup of coflows without PFC, load 70 %", r, meanCCT,
			at(load70, virtualSwift), lossy(virtualSwift), lossy(physical))}
	},
}

// lossy returns the cell of a scheme at 70 % without PFC.
func lossy(s scheme) coflowCell { return coflowCell{Scheme: s, Load: load70, Lossy: true} }
