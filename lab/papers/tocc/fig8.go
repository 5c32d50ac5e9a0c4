package tocc

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// Figure 8: flows of a web server and incasts in a non-blocking network. Several experiments share
// the runs. At full scale the flows are those of half a millisecond, with one round of the incast
// in them.

// mix is the setting with incasts of 30 to 40 MTUs from every host.
func mix(s experiment.Scale) setting {
	n := networkAt(s, nb100)
	if s == experiment.Small {
		n = n.at(25 * units.Gbps)
	}
	return setting{n, flows(s, webServer, 0.8, 12_000, 1000).mixed()}
}

// mixLarger is the setting with incasts of 90 to 120.
func mixLarger(s experiment.Scale) setting {
	m := mix(s)
	m.Traffic = m.Traffic.mixedLarger()
	return m
}

// mixAt returns mix with hosts of another rate.
func mixAt(s experiment.Scale, host units.BitRate) setting {
	m := mix(s)
	m.Network = m.Network.at(host)
	return m
}

var fig8ab = &experiment.Experiment{
	ID:    "tocc/fig8ab",
	Seeds: one,
	Cells: func(s experiment.Scale) []experiment.Cell { return mix(s).cells(withOften...) },
	Run:   serve,
	Judge: func(r *experiment.Results) {
		m := mix(r.Scale)
		of := func(x scheme, classes ...string) float64 { return mean(m.row(r, x).fct(classes...)) }
		ours := m.row(r, scheduled)
		r.Claim("best", experiment.With("mean", meanFCT()(ours)/m.least(r, meanFCT(), reactive...)).
			With("p99", p99FCT()(ours)/m.least(r, p99FCT(), reactive...)))
		noteBest(r, m)
		r.Claim("with-unsch", of(unscheduled)/m.least(r, meanFCT(), reactive...))
		r.Claim("order-rcc", each([]scheme{hpcc, timely}, func(x scheme) float64 {
			return of(x) / of(dcqcn)
		}))
		r.Claim("large-hurt", each([]scheme{hpcc, timely}, func(x scheme) float64 {
			return of(x, "medium", "large") / of(dcqcn, "medium",
				"large") / (of(x, "tiny", "small") / of(dcqcn, "tiny", "small"))
		}))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := mix(r.Scale)
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, incast of 30-40 MTU a sender",
				compared, meanFCT),
			m.bars(r, "p99", "99th percentile by class, incast of 30-40 MTU a sender", compared,
				p99FCT),
			table(r, "schemes", "Flows of the web server, and one round of incasts of 30-40 MTU "+
				"a sender", withOften, m),
		}
	},
}

// noteBest explains where tokens gain and where they lose, and compares with the other DCQCN.
func noteBest(r *experiment.Results, m setting) {
	to := func(of func(row) float64) float64 {
		return of(m.row(r, scheduled)) / of(m.row(r,
			dcqcn))
	}
	nics := []scheme{often, timely, hpcc}
	r.Note("best", "against DCQCN, the best of the others: flows below 100 KB take %.2f of its "+
		"time on average, those to the host of the incasts %.2f, the p99 below 100 KB is %.2f; "+
		"but flows from 100 KB on, which dominate the mean, take %.2f. With %.2g of their wire "+
		"used, links have %.0f %% less room where tokens and RTSs go too, and round-robin "+
		"sharing costs 1/(1-load) (a guess that fits). Against DCQCN with CNPs each 4 µs, as in "+
		"NICs and the paper's simulator, TIMELY and HPCC it is %.2f of the mean and %.2f of the "+
		"p99",
		to(meanFCT("tiny", "small")), to(func(x row) float64 {
			return mean(x.Values("victims"))
		}), to(p99FCT("tiny", "small")), to(meanFCT("medium", "large")),
		m.Traffic.Load, 100*tokenShare, meanFCT()(m.row(r, scheduled))/m.least(r, meanFCT(),
			nics...), p99FCT()(m.row(r, scheduled))/m.least(r, p99FCT(), nics...))
}

var fig8cf = &experiment.Experiment{
	ID:    "tocc/fig8cf",
	Seeds: one,
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(mixLarger(s).cells(withOften...), mix(s).cells(dcqcn, timely)...)
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		m, ours := mixLarger(r.Scale), mixLarger(r.Scale).row(r, scheduled)
		r.Claim("nonincast", meanFCT()(ours)/m.least(r, meanFCT(), reactive...))
		r.Claim("incast-ok", meanFCT("incast")(ours)/m.least(r, meanFCT("incast"), reactive...))
		grows := func(x scheme) float64 {
			return mean(m.row(r, x).fct()) / mean(mix(r.Scale).row(r, x).fct())
		}
		r.Claim("timely-degrades", grows(timely)/grows(dcqcn))
		last := func(x scheme) float64 { return 1e6 * m.row(r, x).Values("incast").Max() }
		r.Note("incast-ok", "tokens are granted in turn, so that all flows of an incast end "+
			"together, at %.2f of the time of the last on average; under DCQCN and TIMELY they "+
			"end one after the other, at %.2f and %.2f. The last one ends after %.0f µs, under "+
			"DCQCN after %.0f, under TIMELY %.0f, under HPCC %.0f. Other flows to the same host, "+
			"whose turns are among theirs, take %.2f of their time under DCQCN",
			1e6*meanFCT("incast")(ours)/last(scheduled), 1e6*meanFCT("incast")(m.row(r, dcqcn))/
				last(dcqcn), 1e6*meanFCT("incast")(m.row(r, timely))/last(timely),
			last(scheduled), last(dcqcn), last(timely), last(hpcc),
			mean(ours.Values("victims"))/mean(m.row(r, dcqcn).Values("victims")))
		r.Note("timely-degrades", "both degrade, TIMELY to %.2f and DCQCN to %.2f of their times "+
			"with the smaller incast, in the queue of the incast and behind PFC, which pauses "+
			"ports for %.2g and %.2g of the time; DCQCN's times were shorter to "+
			"begin with",
			grows(timely), grows(dcqcn),
			m.row(r, timely).Values("paused").Mean(), m.row(r, dcqcn).Values("paused").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := mixLarger(r.Scale)
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, incast of 90-120 MTU a sender",
				compared, meanFCT),
			table(r, "schemes", "Flows of the web server, and one round of incasts of 90-120 MTU "+
				"a sender", withOften, m),
		}
	},
}

// withOften are the compared schemes, and DCQCN with CNPs as often as NICs send them.
var withOften = append(compared[:len(compared):len(compared)], often)

// fig8deRates are the rates of the hosts' links.
var fig8deRates = []units.BitRate{10 * units.Gbps, 100 * units.Gbps}

var fig8de = &experiment.Experiment{
	ID:    "tocc/fig8de",
	Seeds: one,
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
		victims := func(rate units.BitRate) float64 {
			m := mixAt(r.Scale, rate)
			return mean(m.row(r, unscheduled).Values("victims")) / mean(m.row(r,
				scheduled).Values("victims"))
		}
		tail := func(rate units.BitRate) float64 {
			m := mixAt(r.Scale, rate)
			return p99FCT("tiny", "small")(m.row(r, unscheduled)) / p99FCT("tiny",
				"small")(m.row(r, scheduled))
		}
		r.Note("more-with-speed", "ToCC's mean is %.2f of ToCC's w/o unsch at 100 Gb/s, %.2f at "+
			"10: only one host has incasts, and flows to the others depend on the round trip of "+
			"the RTS. For flows to that host it is %.2f at 100 Gb/s and %.2f at 10, of the p99 "+
			"of flows below 100 KB %.2f and %.2f",
			gain(100*units.Gbps), gain(10*units.Gbps), victims(100*units.Gbps),
			victims(10*units.Gbps), tail(100*units.Gbps), tail(10*units.Gbps))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var figures []figure.Figure
		var all []setting
		for _, rate := range fig8deRates {
			m := mixAt(r.Scale, rate)
			all = append(all, m)
			figures = append(figures, m.bars(r, fmt.Sprintf("mean-%dg", rate/units.Gbps),
				fmt.Sprintf("Mean completion time by class, hosts of %v", rate), compared, meanFCT))
		}
		return append(figures, table(r, "schemes", "Flows of the web server, and one round of "+
			"incasts of 30-40 MTU a sender", compared, all...))
	},
}
