package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig10b: the same without a limit on load.
var fig10b = &experiment.Experiment{
	ID: "tocc/fig10b",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return testbedCells(s, testbed{Pattern: allToAll})
	},
	Run: runTestbed,
	Judge: func(r *experiment.Results) {
		dcqcn, tocc := testbedOf(r, testbedDCQCN, allToAll), testbedOf(r, testbedToCC, allToAll)
		util := func(p testbedPools) float64 { return p.mean("goodput") / testbedCap }
		r.Note("util", "queue pairs of a host take turns packet by packet, so that each receiver "+
			"is sent little more than its link carries: under DCQCN no switch ever holds more "+
			"than %.1f MB of 16, and %.0f PAUSEs are sent. The paper's NICs lose a third there. "+
			"Of the links to hosts, data has %.1f %% under DCQCN and %.1f %% under ToCC, whose "+
			"tokens take %.1f %% (their limit is %.1f), ACKs and RTSs %.1f %% in place of %.1f, "+
			"and %.1f %% are idle in place of %.1f: the limit of tokens is what data needs if "+
			"each packet of a token is full and each token releases data, and %.3f TOKENs arrive "+
			"for each that data needs",
			dcqcn.all("buffer").Max()/1e6, dcqcn.pauses(), 100*dcqcn.mean("data"),
			100*tocc.mean("data"), 100*tocc.mean("token queue"), 100*testbedShare(),
			100*tocc.mean("ack queue"), 100*dcqcn.mean("ack queue"), 100*tocc.mean("idle"),
			100*dcqcn.mean("idle"), tocc.mean("tokens"))
		r.Claim("util", experiment.With("tocc", util(tocc)).With("dcqcn", util(dcqcn)))
		if r.Scale == experiment.Full {
			r.Claim("tocc-util", util(tocc))
			r.Note("pfc-cause", "no PAUSE is sent: see util. Where messages of 1 MiB begin at "+
				"random, as in figure 10a, DCQCN has PAUSEs and ToCC has none")
			r.Claim("pfc-cause", dcqcn.all("pauses").Sum()/(tocc.all("pauses").Sum()+1))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{testbedLatency(r, "All to all at 100 % load", allToAll)}
	},
}
