package tocc

import (
	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
)

// fig10b: the same without a limit on load.
var fig10b = &experiment.Experiment{
	ID:    "tocc/fig10b",
	Seeds: testbedSeeds,
	Cells: func(s experiment.Scale) []experiment.Cell { return testbedCells(s, testbed{Pattern: allToAll}) },
	Run:   runTestbed,
	Judge: func(r *experiment.Results) {
		dcqcn, tocc := testbedOf(r, testbedDCQCN, allToAll), testbedOf(r, testbedToCC, allToAll)
		util := func(p testbedPools) float64 { return p.mean("goodput") / testbedCap }
		r.Claim("util", claims.Value{}.With("tocc", claims.Number(util(tocc))).With("dcqcn", claims.Number(util(dcqcn))))
		if r.Scale == experiment.Full {
			r.Claim("tocc-util", util(tocc))
			r.Claim("pfc-cause", dcqcn.all("pauses").Sum()/(tocc.all("pauses").Sum()+1))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{testbedLatency(r, "All to all at 100 % load", allToAll)}
	},
}
