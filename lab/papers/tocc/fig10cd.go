package tocc

import (
	"slices"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig10cd: all to many, within a rack (c) and across (d).
var fig10cd = &experiment.Experiment{
	ID: "tocc/fig10cd",
	Cells: func(s experiment.Scale) []experiment.Cell {
		cells := testbedCells(s, testbed{Pattern: intraRack}, testbed{Pattern: interRack})
		// to compare ToCC with itself
		for _, c := range testbedCells(s, testbed{Pattern: allToAll}) {
			if c.Params.(testbed).Scheme == testbedToCC {
				cells = append(cells, c)
			}
		}
		return cells
	},
	Run: runTestbed,
	Judge: func(r *experiment.Results) {
		each := func(of func(dcqcn, tocc testbedPools) float64) experiment.Keyed {
			at := func(p pattern) float64 {
				return of(testbedOf(r, testbedDCQCN, p), testbedOf(r, testbedToCC, p))
			}
			return experiment.With("intra", at(intraRack)).With("inter", at(interRack))
		}
		r.Claim("util-order", each(func(dcqcn, tocc testbedPools) float64 {
			return tocc.mean("goodput") / dcqcn.mean("goodput")
		}))
		inter := testbedOf(r, testbedToCC, interRack)
		r.Note("util-order", "across racks 16 hosts of 25 Gb/s share 200 Gb/s, which DCQCN keeps "+
			"full with PFC, by %.0f PAUSEs. ToCC reserves %.1f %% for tokens, of which %.2f "+
			"arrive for each that data needs, because receivers repeat those that wait long",
			testbedOf(r, testbedDCQCN, interRack).pauses(), 100*testbedShare(),
			inter.mean("tokens"))
		many := slices.Concat(testbedOf(r, testbedToCC, intraRack).all("latency"),
			testbedOf(r, testbedToCC, interRack).all("latency"))
		r.Claim("faster-than-all",
			many.Mean()/testbedOf(r, testbedToCC, allToAll).all("latency").Mean())
		if r.Scale == experiment.Full {
			r.Claim("tail", each(func(dcqcn, tocc testbedPools) float64 {
				return dcqcn.all("latency").Percentile(99.9) / tocc.all("latency").Percentile(99.9)
			}))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			testbedLatency(r, "To 4 hosts of one's own rack", intraRack),
			testbedLatency(r, "To 4 hosts of the other rack", interRack),
		}
	},
}
