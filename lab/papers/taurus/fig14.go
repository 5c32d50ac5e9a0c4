package taurus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// Figure 14: the split beside CCP and DOCA PCC.

var (
	frameworks = []framework{ccpPerACK, docaPCC, coDesign}
	inFabric   = under(0, []float64{0}, frameworks...)
	inHost     = under(0, []float64{severe}, frameworks...)
	mildly     = under(0, []float64{mild}, docaPCC, coDesign)
	reasons    = []series{{earlyMarks, 0, 0}, {smallSteps, 0, 0}, {smallSteps, severe, 0}}
)

func fabricOf(f framework) series { return series{Framework: f} }
func hostOf(f framework) series   { return series{Framework: f, Left: severe} }

func frameworkCells(of ...series) func(experiment.Scale) []experiment.Cell {
	return func(s experiment.Scale) []experiment.Cell { return contested(sizesAt(s), of...) }
}

// overSizes returns the mean of means by size.
func overSizes(r *experiment.Results, s series, value string) float64 {
	return s.means(r, sizesAt(r.Scale), value).Mean()
}

var fig14a = &experiment.Experiment{
	ID:    "taurus/fig14a",
	Cells: frameworkCells(inFabric...),
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		r.Claim("order", experiment.With("ccp", overSizes(r, fabricOf(ccpPerACK), "goodput")).
			With("doca", overSizes(r, fabricOf(docaPCC), "goodput")).
			With("taurus", overSizes(r, fabricOf(coDesign), "goodput")))
		r.Claim("taurus-full", overSizes(r, fabricOf(coDesign), "util"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			bars(r, "goodput", "Eight hosts send to one, congested fabric", "goodput (Gb/s)",
				"goodput", 1e-9, sizesAt(r.Scale), inFabric...),
			table(r, sizesAt(r.Scale), inFabric...),
		}
	},
}

var fig14b = &experiment.Experiment{
	ID:    "taurus/fig14b",
	Cells: frameworkCells(slices.Concat(inFabric, inHost, mildly)...),
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		sizes := sizesAt(r.Scale)
		gain := func(over framework, left float64) experiment.Values {
			ours, theirs := series{coDesign, left, 0}.means(r, sizes, "goodput"), series{over, left,
				0}.means(r, sizes, "goodput")
			for i := range ours {
				ours[i] = ours[i]/theirs[i] - 1
			}
			return ours
		}
		r.Claim("over-doca", gain(docaPCC, severe).Mean())
		r.Claim("over-ccp", max(gain(ccpPerACK, 0).Max(), gain(ccpPerACK, severe).Max()))
		r.Note("over-doca", "where an antagonist leaves %g %%. From one that leaves %g %% "+
			"hostCC, whose target is 84 %% of the link, takes back little: %.3f",
			100*severe, 100*mild, gain(docaPCC, mild).Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			bars(r, "goodput", "Eight hosts send to one, congested host", "goodput (Gb/s)",
				"goodput", 1e-9, sizesAt(r.Scale), inHost...),
			table(r, sizesAt(r.Scale), slices.Concat(inHost, mildly)...),
		}
	},
}

var fig14cd = &experiment.Experiment{
	ID:    "taurus/fig14cd",
	Cells: frameworkCells(slices.Concat(inFabric, inHost, mildly, reasons)...),
	Run:   runContest,
	Judge: func(r *experiment.Results) {
		var upTo64 []units.Bytes
		for _, bytes := range sizesAt(r.Scale) {
			if bytes <= 64*kib {
				upTo64 = append(upTo64, bytes)
			}
		}
		micros := func(f framework) experiment.Values {
			return fabricOf(f).means(r, upTo64, "latency").Scaled(1e6)
		}
		latency := micros(coDesign)
		r.Claim("fabric-range", bySize(upTo64, func(i int) float64 { return latency[i] }))
		ratio := func(of framework, to series) float64 {
			return overSizes(r, series{of, to.Left, 0}, "latency") / overSizes(r, to, "latency")
		}
		r.Claim("ccp-slow", ratio(ccpPerACK, fabricOf(coDesign)))
		r.Claim("host-gain", 1-ratio(coDesign, hostOf(docaPCC)))

		r.Note("fabric-range", "iDCTCP keeps the queue below K, here %.0f KB: %.0f KB on average "+
			"at 64 KiB. Marking at a fifth of that gives %s µs, at %.3f of the throughput; 64 "+
			"KiB also wait for a ninth of the link",
			float64(dctcpK)/1e3*float64(link(r.Scale).Rate)/1e11,
			fabricOf(coDesign).means(r, []units.Bytes{64 * kib}, "queue")[0]/1e3,
			list(micros(earlyMarks)),
			overSizes(r, fabricOf(earlyMarks), "goodput")/overSizes(r, fabricOf(coDesign),
				"goodput"))
		r.Note("ccp-slow", "up to 64 KiB CCP takes %s µs and TAURUS %s; the time of larger "+
			"messages is set by their share of the link. CCP waits in its receiver, where "+
			"packets take 80 ns; the model does not have what a kernel adds",
			list(micros(ccpPerACK)), list(latency))
		r.Note("host-gain", "DOCA PCC's latency is its own queue, also without an antagonist "+
			"(%.0f KB on average): nine flows increase their rates by 5 %% of the line each, "+
			"every round trip. With steps a ninth as large (%.0f KB) TAURUS's gain is "+
			"%.2f", overSizes(r, fabricOf(docaPCC),
			"queue")/1e3, overSizes(r, fabricOf(smallSteps), "queue")/1e3, 1-ratio(coDesign,
			hostOf(smallSteps)))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		sizes := sizesAt(r.Scale)
		return []figure.Figure{
			bars(r, "latency-fabric", "Beside eight hosts that send to one, congested fabric",
				"mean latency (µs)", "latency", 1e6, sizes, append(inFabric, fabricOf(earlyMarks),
					fabricOf(smallSteps))...),
			bars(r, "latency-host", "Beside eight hosts that send to one, congested host",
				"mean latency (µs)", "latency", 1e6, sizes, append(inHost, hostOf(smallSteps))...),
			table(r, sizes, slices.Concat(inFabric, inHost, mildly, reasons)...),
		}
	},
}

// list concatenates numbers.
func list(v experiment.Values) (s string) {
	for i, x := range v {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%.1f", x)
	}
	return s
}
