package taurus

import (
	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/units"
)

// Figures 12 and 13: the split under congestion of the fabric and of the host, with hostCC and without.

// request is what the timed messages of figure 13 have.
const request = 8 * units.KiB

// congested are the series of both figures; claims are about the severe antagonist, which hostCC has an answer to.
var (
	congested   = under(request, []float64{0, mild, severe}, taurusCC, withoutCC)
	fabricCase  = series{taurusCC, 0, request}
	hostCase    = series{taurusCC, severe, request}
	hostWithout = series{withoutCC, severe, request}
)

func congestedCells(s experiment.Scale) []experiment.Cell { return contested(sizesAt(s), congested...) }

var fig12 = &experiment.Experiment{
	ID:    "taurus/fig12",
	Cells: congestedCells,
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		mean := func(s series, value string) float64 { return s.means(r, sizesAt(r.Scale), value).Mean() }
		r.Claim("both-high", claims.Value{}.With("fabric", claims.Number(mean(fabricCase, "util"))).With("host", claims.Number(mean(hostCase, "util"))))
		r.Claim("hostcc-matters", mean(hostCase, "goodput")/mean(hostWithout, "goodput"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{bars(r, "goodput", "Eight hosts send to one", "goodput (Gb/s)", "goodput", 1e-9, sizesAt(r.Scale), congested...)}
	},
}

var fig13 = &experiment.Experiment{
	ID:    "taurus/fig13",
	Cells: congestedCells,
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		mean := func(s series) float64 { return s.means(r, sizesAt(r.Scale), "latency").Mean() }
		r.Claim("host-not-worse", mean(hostCase)/mean(fabricCase))
		r.Claim("hostcc-matters", mean(hostWithout)/mean(hostCase))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{bars(r, "latency", "8 KiB beside eight hosts that send to one", "mean latency (µs)", "latency", 1e6, sizesAt(r.Scale), congested...)}
	},
}
