package carclab

import (
	"slices"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig8b: short requests and long flows with credits.
var fig8b = &experiment.Experiment{
	ID:    "carc/fig8b",
	Seeds: oneSeed,
	Cells: mixCells(someLong(mixLongs), mixVariants...),
	Run:   runMix(mixTime, mixVariants...),
	Judge: func(r *experiment.Results) {
		longs := someLong(mixLongs)(r.Scale)
		faster, fewer := 0., 0.
		for _, n := range longs {
			faster = max(faster, perCore(r, carcMix, n)/perCore(r, hostCC, n))
			fewer += (mixAt(r, hostCC, n).Values("long miss")[0] - mixAt(r, carcMix,
				n).Values("long miss")[0]) / float64(len(longs))
		}
		most := longs[len(longs)-1]
		r.Claim("throughput", faster)
		r.Note("throughput", "at %s: CARC with eRPC's FIFO rings %.2f, hostCC with LIFO buffers "+
			"%.2f", mixRatio(r.Scale, most),
			perCore(r, carcMix.inFIFO(), most)/perCore(r, hostCC, most), perCore(r, hostLIFO,
				most)/perCore(r, hostCC, most))
		r.Note("misses", "hostCC marked of the flows' packets:%s", marksByLong(r, longs, hostCC))
		r.Claim("misses", fewer)
		r.Claim("not-zero", mixAt(r, carcMix, most).Values("long miss")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return mixFigures(r, someLong(mixLongs)(r.Scale), mixVariants...)
	},
}

// someLong omits the server without long flows.
func someLong(longs func(experiment.Scale) []int) func(experiment.Scale) []int {
	return func(s experiment.Scale) []int {
		return slices.DeleteFunc(longs(s), func(n int) bool { return n == 0 })
	}
}
