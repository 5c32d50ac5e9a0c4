package carclab

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig5bc: short requests and an increasing number of threads with long flows, under hostCC. The
// paper measures eRPC, which copies long messages out of their receive buffers; they are copied
// here as in figure 8b.
var fig5bc = &experiment.Experiment{
	ID:    "carc/fig5bc",
	Seeds: oneSeed,
	Cells: mixCells(mixLongs, hostCC, hostCC.alone()),
	Run:   runMix(mixTime, hostCC, hostCC.alone()),
	Judge: func(r *experiment.Results) {
		longs := mixLongs(r.Scale)
		most := longs[len(longs)-1]
		all, none := mixAt(r, hostCC, most), mixAt(r, hostCC, 0)
		r.Claim("short-down", 1-all.Values("rate")[0]/none.Values("rate")[0])
		r.Claim("long-down", 1-perCore(r, hostCC, most)/perCore(r, hostCC, 1))
		r.Claim("long-misses", all.Values("long miss")[0])
		r.Claim("short-misses", all.Values("miss")[0]-none.Values("miss")[0])
		one, oneNone := mixAt(r, hostCC.alone(), most), mixAt(r, hostCC.alone(), 0)
		why := fmt.Sprintf("hostCC marked %.3f of packets. A thread that waits for each line "+
			"alone, with memory whose latency is constant, takes %.1f Gb/s of a flow instead of "+
			"%.1f (the paper has about 11 at 8:8, by its FCT), and short requests are then %.2f "+
			"slower and miss %.2f more", all.Values("long marked")[0],
			perCore(r, hostCC.alone(), most), perCore(r, hostCC, most),
			1-one.Values("rate")[0]/oneNone.Values("rate")[0],
			one.Values("miss")[0]-oneNone.Values("miss")[0])
		r.Note("short-down", "%s", why)
		r.Note("short-misses", "%s", why)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return mixFigures(r, mixLongs(r.Scale), hostCC, hostCC.alone())
	},
}
