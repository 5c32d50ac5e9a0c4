package tocc

import (
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
	Cells: func(s experiment.Scale) []experiment.Cell { return mix(s).cells(withSeldom...) },
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
				"a sender", withSeldom, m),
		}
	},
}

// noteBest compares by size, and with the other DCQCN.
func noteBest(r *experiment.Results, m setting) {
	to := func(of func(row) float64) float64 {
		return of(m.row(r, scheduled)) / m.least(r, of, reactive...)
	}
	others := []scheme{seldom, timely, hpcc}
	r.Note("best", "of the best of the others, flows below 100 KB take %.2f of the time on "+
		"average, those from 100 KB on %.2f, those to the host of the incasts %.2f. Where CNPs of "+
		"a flow are 50 µs apart DCQCN takes %.2f of its time, and ToCC %.2f of the least mean and "+
		"%.2f of the least p99",
		to(meanFCT("tiny", "small")), to(meanFCT("medium", "large")), to(func(x row) float64 {
			return mean(x.Values("victims"))
		}), meanFCT()(m.row(r, seldom))/meanFCT()(m.row(r, dcqcn)),
		meanFCT()(m.row(r, scheduled))/m.least(r, meanFCT(), others...),
		p99FCT()(m.row(r, scheduled))/m.least(r, p99FCT(), others...))
}

var fig8cf = &experiment.Experiment{
	ID: "tocc/fig8cf",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(mixLarger(s).cells(withSeldom...), mix(s).cells(dcqcn, timely, seldom)...)
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		m, ours := mixLarger(r.Scale), mixLarger(r.Scale).row(r, scheduled)
		r.Claim("nonincast", meanFCT()(ours)/m.least(r, meanFCT(), reactive...))
		last := func(x row) float64 { return x.Values("incast").Max() }
		r.Claim("incast-ok", max(last(ours)/m.least(r, last, reactive...),
			p99FCT("incast")(ours)/m.least(r, p99FCT("incast"), reactive...)))
		grows := func(x scheme) float64 {
			return mean(m.row(r, x).fct()) / mean(mix(r.Scale).row(r, x).fct())
		}
		r.Claim("timely-degrades", grows(timely)/grows(dcqcn))
		r.Note("incast-ok", "tokens are granted in turn, so that all flows of an incast end "+
			"together, at %.2f of the time of the last on average; under DCQCN and TIMELY they "+
			"end one after the other, at %.2f and %.2f: the mean is %.2f of the least. Other "+
			"flows to the same host, whose turns are among theirs, take %.2f of their time under "+
			"DCQCN",
			meanFCT("incast")(ours)/last(ours), meanFCT("incast")(m.row(r, dcqcn))/
				last(m.row(r, dcqcn)), meanFCT("incast")(m.row(r, timely))/last(m.row(r, timely)),
			meanFCT("incast")(ours)/m.least(r, meanFCT("incast"), reactive...),
			mean(ours.Values("victims"))/mean(m.row(r, dcqcn).Values("victims")))
		r.Note("timely-degrades", "TIMELY's times grow to %.2f of those with the smaller incast, "+
			"DCQCN's to %.2f, with CNPs 50 µs apart to %.2f. PFC pauses ports for %.2g, %.2g and "+
			"%.2g of the time", grows(timely), grows(dcqcn), grows(seldom),
			m.row(r, timely).Values("paused").Mean(), m.row(r, dcqcn).Values("paused").Mean(),
			m.row(r, seldom).Values("paused").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := mixLarger(r.Scale)
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, incast of 90-120 MTU a sender",
				compared, meanFCT),
			table(r, "schemes", "Flows of the web server, and one round of incasts of 90-120 MTU "+
				"a sender", withSeldom, m),
		}
	},
}

// withSeldom are the compared schemes, and DCQCN with as few CNPs as in its paper.
var withSeldom = append(compared[:len(compared):len(compared)], seldom)
