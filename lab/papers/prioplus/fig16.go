package prioplus

import (
	"slices"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig16: the cost of ACKs that queue with the data, and HPCC, which has no priorities.
var fig16 = &experiment.Experiment{
	ID: "prioplus/fig16",
	Cells: func(experiment.Scale) []experiment.Cell {
		var cells []schedulingCell
		for _, n := range fig16Counts {
			cells = append(cells, setting{}.cell(virtualSwift, n),
				setting{}.cell(virtualSameACK, n))
		}
		return schedulingCells(append(cells, setting{}.cell(telemetry, noPriorities))...)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		r.Claim("ack-queue",
			worst(ratios(r, "all", mean, virtualSameACK, virtualSwift, fig16Counts...)))
		r.Claim("hpcc-mean",
			slices.Min(ratios(r, "all", mean, telemetry, virtualSwift, fig16Counts...)))
		of := func(class string) claims.Value {
			return claims.Number(slices.Max(ratios(r, class, mean, telemetry, virtualSwift,
				fig16Counts...)))
		}
		if r.Scale == experiment.Small {
			r.Note("ack-queue", fewFlows)
			return
		}
		r.Claim("hpcc-tail",
			slices.Min(ratios(r, "all", p99, telemetry, virtualSwift, fig16Counts...)))
		r.Claim("hpcc-small", experiment.With("small", of("small")).With("large", of("large")))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		classes := []string{"all", "small", "middle", "large"}
		bars := figure.Bars("mean", "Mean completion time, 8 priorities, 2 ms of arrivals",
			"of PrioPlus's", classes...)
		for _, s := range []scheme{virtualSwift, virtualSameACK, telemetry} {
			var heights []float64
			for _, class := range classes {
				heights = append(heights, ratios(r, class, mean, s, virtualSwift, 8)[0])
			}
			bars.Heights(string(s), heights...)
		}
		return []figure.Figure{bars}
	},
}

var fig16Counts = []int{8, 12}
