package prioplus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// judgeGain judges a gain over all priorities, with its spread.
func judgeGain(r *experiment.Results, claim string, of cctMetric, a, b coflowCell) {
	g := func(p experiment.Pool) float64 { return gain(p, of, a, b, allEight) }
	r.Claim(claim, g(r.Pool))
	r.Note(claim, "%s; %s", spread(r, g), smaller(r))
}

// fig12a: coflows at 40 %.
var fig12a = &experiment.Experiment{
	ID: "prioplus/fig12a",
	Cells: coflowCells(at(load40, baseline), at(load40, virtualSwift), at(load40, physical),
		fair(load40), at(load40, virtualLEDBAT), at(load40, physicalLEDBAT)),
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		a, b := at(load40, virtualSwift), at(load40, physical)
		g := func(p experiment.Pool) float64 { return gain(p, meanCCT, a, b, allEight) }
		r.Claim("overall", g(r.Pool))
		r.Note("overall", "%s; %s; %s", ackFinding(r, meanCCT, load40), spread(r, g), smaller(r))
		judgeGain(r, "ledbat", meanCCT, at(load40, virtualLEDBAT), at(load40, physicalLEDBAT))
		if r.Scale == experiment.Full {
			r.Claim("split", split(r, meanCCT, a, b))
			r.Note("split", "%s", smaller(r))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup", "Mean speedup of coflows, load 40 %", r,
			meanCCT, at(load40, virtualSwift), at(load40, physical), fair(load40),
			at(load40, virtualLEDBAT), at(load40, physicalLEDBAT)),
			gainBars("acks", r, load40),
		}
	},
}

// swiftAt returns the cells that figures 12b and 15 compare: at small scale only those of one load.
func swiftAt(small float64) func(experiment.Scale) []experiment.Cell {
	return func(s experiment.Scale) []experiment.Cell {
		loads := []float64{load40, load70}
		if s == experiment.Small {
			loads = []float64{small}
		}
		var cells []coflowCell
		for _, l := range loads {
			cells = append(cells, at(l, baseline), at(l, virtualSwift), at(l, physical), fair(l))
		}
		return coflowCells(cells...)(s)
	}
}

// fig12b: coflows at 70 %.
var fig12b = &experiment.Experiment{
	ID:    "prioplus/fig12b",
	Cells: swiftAt(load70),
	Run:   runCoflows,
	Judge: func(r *experiment.Results) {
		over := func(p experiment.Pool, load float64) float64 {
			return gain(p, meanCCT, at(load, virtualSwift), at(load, physical), allEight)
		}
		g := func(p experiment.Pool) float64 { return over(p, load70) }
		r.Claim("overall", g(r.Pool))
		r.Note("overall", "%s; %s; %s", ackFinding(r, meanCCT, load70), spread(r, g), smaller(r))
		if r.Scale == experiment.Full {
			grows := func(p experiment.Pool) float64 { return over(p, load70) - over(p, load40) }
			r.Claim("grows", grows(r.Pool))
			r.Note("grows", "%s; %s", spread(r, grows), smaller(r))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup", "Mean speedup of coflows, load 70 %", r,
			meanCCT, at(load70, virtualSwift), at(load70, physical), fair(load70)),
			gainBars("acks", r, load70),
		}
	},
}
