package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig10a: the latency of small messages among others at 80 % load.
var fig10a = &experiment.Experiment{
	ID: "tocc/fig10a",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return testbedCells(s, testbed{Pattern: allToAll, Load: 0.8})
	},
	Run: runTestbed,
	Judge: func(r *experiment.Results) {
		dcqcn, tocc := testbedOf(r, testbedDCQCN, allToAll), testbedOf(r, testbedToCC, allToAll)
		r.Claim("throughput", tocc.mean("goodput")/dcqcn.mean("goodput")-1)
		r.Claim("latency", 1-tocc.all("latency").Mean()/dcqcn.all("latency").Mean())
		if r.Scale == experiment.Full {
			r.Claim("tail",
				dcqcn.all("latency").Percentile(99.9)/tocc.all("latency").Percentile(99.9))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{testbedLatency(r, "All to all at 80 % load", allToAll)}
	},
}
