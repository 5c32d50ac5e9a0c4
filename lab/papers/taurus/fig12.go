package taurus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// Figures 12 and 13: the split under congestion of the fabric and of the host, with hostCC and
// without.

// request is the size of the timed messages of figure 13.
const request = 8 * units.KiB

// congested are the series of both figures; claims are about the severe antagonist, against which
// hostCC acts.
var (
	congested   = under(request, []float64{0, mild, severe}, coDesign, deaf)
	fabricCase  = series{coDesign, 0, request}
	hostCase    = series{coDesign, severe, request}
	hostWithout = series{deaf, severe, request}
	mildCase    = series{coDesign, mild, request}
	mildWithout = series{deaf, mild, request}
)

func congestedCells(s experiment.Scale) []experiment.Cell {
	return contested(sizesAt(s), congested...)
}

var fig12 = &experiment.Experiment{
	ID:    "taurus/fig12",
	Cells: congestedCells,
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		r.Claim("both-high", experiment.With("fabric", overSizes(r, fabricCase, "util")).
			With("host", overSizes(r, hostCase, "util")))
		r.Claim("hostcc-matters", overSizes(r, hostCase, "goodput")/overSizes(r, hostWithout,
			"goodput"))
		r.Note("hostcc-matters", "where an antagonist leaves %g %%. hostCC's target is 84 %% of "+
			"the link, so that it takes back little from one that leaves %g %%: %.3f",
			100*severe, 100*mild, overSizes(r, mildCase, "goodput")/overSizes(r, mildWithout,
				"goodput"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			bars(r, "goodput", "Eight hosts send to one", "goodput (Gb/s)", "goodput", 1e-9,
				sizesAt(r.Scale), congested...),
			table(r, sizesAt(r.Scale), congested...),
		}
	},
}

var fig13 = &experiment.Experiment{
	ID:    "taurus/fig13",
	Cells: congestedCells,
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		r.Claim("host-not-worse", overSizes(r, hostCase, "latency")/overSizes(r, fabricCase,
			"latency"))
		r.Claim("hostcc-matters", overSizes(r, hostWithout, "latency")/overSizes(r, hostCase,
			"latency"))
		r.Note("host-not-worse", "it is less: the marks of the receiver's NIC keep the queue of "+
			"the switch at %.0f KB on average; with a congested fabric alone it is %.0f. Where "+
			"an antagonist leaves %g %%: %.2f",
			overSizes(r, hostCase, "queue")/1e3, overSizes(r, fabricCase, "queue")/1e3, 100*mild,
			overSizes(r, mildCase, "latency")/overSizes(r, fabricCase, "latency"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{bars(r, "latency", "8 KiB beside eight hosts that send to one",
			"mean latency (µs)", "latency", 1e6, sizesAt(r.Scale), congested...)}
	},
}
