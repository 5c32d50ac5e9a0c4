package taurus

import (
	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/units"
)

// Figure 14: the split beside CCP and DOCA PCC.

var frameworks = []framework{ccpPerACK, docaPCC, taurusCC}

func inFabric(f framework) series { return series{Framework: f} }
func inHost(f framework) series   { return series{Framework: f, Left: severe} }

// all are the frameworks under one congestion.
func all(of func(framework) series) (s []series) {
	for _, f := range frameworks {
		s = append(s, of(f))
	}
	return s
}

func frameworkCells(of ...series) func(experiment.Scale) []experiment.Cell {
	return func(s experiment.Scale) []experiment.Cell { return contested(sizesAt(s), of...) }
}

// overSizes is the mean of means by size.
func overSizes(r *experiment.Results, s series, value string) float64 {
	return s.means(r, sizesAt(r.Scale), value).Mean()
}

var fig14a = &experiment.Experiment{
	ID:    "taurus/fig14a",
	Cells: frameworkCells(all(inFabric)...),
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		r.Claim("order", claims.Value{}.
			With("ccp", claims.Number(overSizes(r, inFabric(ccpPerACK), "goodput"))).
			With("doca", claims.Number(overSizes(r, inFabric(docaPCC), "goodput"))).
			With("taurus", claims.Number(overSizes(r, inFabric(taurusCC), "goodput"))))
		r.Claim("taurus-full", overSizes(r, inFabric(taurusCC), "util"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{bars(r, "goodput", "Eight hosts send to one, congested fabric", "goodput (Gb/s)", "goodput", 1e-9, sizesAt(r.Scale), all(inFabric)...)}
	},
}

var fig14b = &experiment.Experiment{
	ID:    "taurus/fig14b",
	Cells: frameworkCells(append(all(inFabric), all(inHost)...)...),
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		sizes := sizesAt(r.Scale)
		gain := func(over framework, of func(framework) series) experiment.Values {
			ours, theirs := of(taurusCC).means(r, sizes, "goodput"), of(over).means(r, sizes, "goodput")
			for i := range ours {
				ours[i] = ours[i]/theirs[i] - 1
			}
			return ours
		}
		r.Claim("over-doca", gain(docaPCC, inHost).Mean())
		r.Claim("over-ccp", max(gain(ccpPerACK, inFabric).Max(), gain(ccpPerACK, inHost).Max()))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{bars(r, "goodput", "Eight hosts send to one, congested host", "goodput (Gb/s)", "goodput", 1e-9, sizesAt(r.Scale), all(inHost)...)}
	},
}

var fig14cd = &experiment.Experiment{
	ID:    "taurus/fig14cd",
	Cells: frameworkCells(append(all(inFabric), all(inHost)...)...),
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		var sizes []units.Bytes
		for _, bytes := range sizesAt(r.Scale) {
			if bytes <= 64*kib {
				sizes = append(sizes, bytes)
			}
		}
		latency := inFabric(taurusCC).means(r, sizes, "latency")
		r.Claim("fabric-range", bySize(sizes, func(i int) float64 { return 1e6 * latency[i] }))
		r.Claim("ccp-slow", overSizes(r, inFabric(ccpPerACK), "latency")/overSizes(r, inFabric(taurusCC), "latency"))
		r.Claim("host-gain", 1-overSizes(r, inHost(taurusCC), "latency")/overSizes(r, inHost(docaPCC), "latency"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			bars(r, "latency-fabric", "Beside eight hosts that send to one, congested fabric", "mean latency (µs)", "latency", 1e6, sizesAt(r.Scale), all(inFabric)...),
			bars(r, "latency-host", "Beside eight hosts that send to one, congested host", "mean latency (µs)", "latency", 1e6, sizesAt(r.Scale), all(inHost)...),
		}
	},
}
