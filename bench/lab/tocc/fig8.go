package tocc

import (
	"fmt"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/units"
)

// Figure 8: flows of a web server and incasts in a network that blocks nothing. Several experiments look at the same
// runs. At full scale the flows are those of 1.3 ms, with one round of the incast in them.

// mix is the setting with incasts of 30 to 40 MTUs from every host.
func mix(s experiment.Scale) setting {
	n := networkAt(s, nb100)
	if s == experiment.Small {
		n = n.at(25 * units.Gbps)
	}
	return setting{n, flows(s, webServer, 0.8, 30_000, 1000).mixed()}
}

// mixLarger is that with incasts of 90 to 120.
func mixLarger(s experiment.Scale) setting {
	m := mix(s)
	m.Traffic = m.Traffic.mixedLarger()
	return m
}

// mixAt is mix with hosts of another rate.
func mixAt(s experiment.Scale, host units.BitRate) setting {
	m := mix(s)
	m.Network = m.Network.at(host)
	return m
}

var fig8ab = &experiment.Experiment{
	ID:    "tocc/fig8ab",
	Cells: func(s experiment.Scale) []experiment.Cell { return mix(s).cells(compared...) },
	Run:   serve,
	Judge: func(r *experiment.Results) {
		m := mix(r.Scale)
		of := func(x scheme, classes ...string) float64 { return mean(m.row(r, x).fct(classes...)) }
		ours := m.row(r, scheduled)
		r.Claim("best", claims.Value{}.
			With("mean", claims.Number(meanFCT()(ours)/m.least(r, meanFCT(), reactive...))).
			With("p99", claims.Number(p99FCT()(ours)/m.least(r, p99FCT(), reactive...))))
		r.Claim("with-unsch", of(unscheduled)/m.least(r, meanFCT(), reactive...))
		r.Claim("order-rcc", each([]scheme{hpcc, timely}, func(x scheme) float64 { return of(x) / of(dcqcn) }))
		r.Claim("large-hurt", each([]scheme{hpcc, timely}, func(x scheme) float64 {
			return of(x, "medium", "large") / of(dcqcn, "medium", "large") / (of(x, "tiny", "small") / of(dcqcn, "tiny", "small"))
		}))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := mix(r.Scale)
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, incast of 30-40 MTU a sender", compared, meanFCT),
			m.bars(r, "p99", "99th percentile by class, incast of 30-40 MTU a sender", compared, p99FCT),
			table(r, "schemes", "Flows of the web server, and incasts of 30-40 MTU a sender", compared, m),
		}
	},
}

var fig8cf = &experiment.Experiment{
	ID: "tocc/fig8cf",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(mixLarger(s).cells(compared...), mix(s).cells(dcqcn, timely)...)
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		m, ours := mixLarger(r.Scale), mixLarger(r.Scale).row(r, scheduled)
		r.Claim("nonincast", meanFCT()(ours)/m.least(r, meanFCT(), reactive...))
		r.Claim("incast-ok", meanFCT("incast")(ours)/m.least(r, meanFCT("incast"), reactive...))
		grows := func(x scheme) float64 { return mean(m.row(r, x).fct()) / mean(mix(r.Scale).row(r, x).fct()) }
		r.Claim("timely-degrades", grows(timely)/grows(dcqcn))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := mixLarger(r.Scale)
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, incast of 90-120 MTU a sender", compared, meanFCT),
			table(r, "schemes", "Flows of the web server, and incasts of 90-120 MTU a sender", compared, m),
		}
	},
}

// fig8deRates are those of the hosts' links.
var fig8deRates = []units.BitRate{10 * units.Gbps, 100 * units.Gbps}

var fig8de = &experiment.Experiment{
	ID: "tocc/fig8de",
	Cells: func(s experiment.Scale) (all []experiment.Cell) {
		for _, rate := range fig8deRates {
			all = append(all, mixAt(s, rate).cells(compared...)...)
		}
		return all
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		gain := func(rate units.BitRate) float64 {
			m := mixAt(r.Scale, rate)
			return mean(m.row(r, unscheduled).fct()) / mean(m.row(r, scheduled).fct())
		}
		r.Claim("more-with-speed", gain(100*units.Gbps)/gain(10*units.Gbps))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var figures []figure.Figure
		var all []setting
		for _, rate := range fig8deRates {
			m := mixAt(r.Scale, rate)
			all = append(all, m)
			figures = append(figures, m.bars(r, fmt.Sprintf("mean-%dg", rate/units.Gbps), fmt.Sprintf("Mean completion time by class, hosts of %v", rate), compared, meanFCT))
		}
		return append(figures, table(r, "schemes", "Flows of the web server, and incasts of 30-40 MTU a sender", compared, all...))
	},
}
