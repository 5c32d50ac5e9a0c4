package prioplus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig18: coflows with HPCC, and with physical priorities without congestion control.
var fig18 = &experiment.Experiment{
	ID: "prioplus/fig18",
	Cells: coflowCells(at(load70, baseline), at(load70, virtualSwift), at(load70, telemetry),
		at(load70, physicalNoCC)),
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		over := func(s scheme, of cctMetric) func(experiment.Pool) float64 {
			return func(p experiment.Pool) float64 {
				return 1 + gain(p, of, at(load70, virtualSwift), at(load70, s), allEight)
			}
		}
		hpcc, tail := over(telemetry, meanCCT), over(telemetry, tailCCT)
		r.Claim("hpcc", experiment.With("mean", hpcc(r.Pool)).With("p99", tail(r.Pool)))
		r.Note("hpcc", "mean %s, p99 %s; %s", spread(r, hpcc), spread(r, tail), smaller(r))
		nocc := over(physicalNoCC, meanCCT)
		r.Claim("nocc", nocc(r.Pool))
		r.Note("nocc", "%s; %s", spread(r, nocc), smaller(r))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup", "Mean speedup of coflows, load 70 %", r,
			meanCCT, at(load70, virtualSwift), at(load70, telemetry), at(load70, physicalNoCC))}
	},
}
