package tocc

import (
	"fmt"
	"math"
	"strings"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// Figure 9: Poisson arrivals alone, under an oversubscribed core.

func fig9aSetting(s experiment.Scale) setting {
	return setting{networkAt(s, os100), flows(s, memcached, 0.8, 50_000, 5000)}
}

var fig9a = &experiment.Experiment{
	ID:    "tocc/fig9a",
	Cells: func(s experiment.Scale) []experiment.Cell { return fig9aSetting(s).cells(compared...) },
	Run:   serve,
	Judge: func(r *experiment.Results) {
		m := fig9aSetting(r.Scale)
		least, most := math.Inf(1), 0.0
		for _, x := range []scheme{dcqcn, timely, unscheduled} {
			least, most = min(least, mean(m.row(r, x).fct())), max(most, mean(m.row(r, x).fct()))
		}
		r.Claim("all-close", most/least)
		r.Claim("hpcc-slightly-worse", mean(m.row(r, hpcc).fct())/mean(m.row(r, dcqcn).fct()))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := fig9aSetting(r.Scale)
		return []figure.Figure{
			m.bars(r, "mean", "Mean completion time by class, Memcached", compared, meanFCT),
			m.bars(r, "p99", "99th percentile by class, Memcached", compared, p99FCT),
			table(r, "schemes", "Memcached, load 0.8", compared, m),
		}
	},
}

// fig9bcSettings are Cache Follower and Web Search. The small network has one uplink of eight
// hosts.
func fig9bcSettings(s experiment.Scale) []setting {
	n := networkAt(s, os100)
	if s == experiment.Small {
		n.Name, n.Spines = n.Name+" 8:1", 1
	}
	return []setting{{n, flows(s, cacheFollower, 0.8, 1500, 300)},
		{n, flows(s, webSearch, 0.8, 800, 300)}}
}

var fig9bc = &experiment.Experiment{
	ID: "tocc/fig9bc",
	Cells: func(s experiment.Scale) (all []experiment.Cell) {
		for _, m := range fig9bcSettings(s) {
			all = append(all, m.cells(withSeldom...)...)
		}
		return all
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		small, tail, hpccBuffer, ourBuffer := 0.0, math.Inf(1), 0.0, 0.0
		for _, m := range fig9bcSettings(r.Scale) {
			ours, below := m.row(r, scheduled), meanFCT("tiny", "small", "medium")
			hpccBuffer = max(hpccBuffer, m.row(r, hpcc).bufmax()/m.least(r, row.bufmax, dcqcn,
				timely))
			small = max(small, below(ours)/m.least(r, below, dcqcn, timely))
			tail = min(tail, p99(m.row(r, hpcc).fct("large"))/p99(ours.fct("large")))
			ourBuffer = max(ourBuffer, ours.bufmax()/m.row(r, dcqcn).bufmax())
		}
		var notes []string
		for _, m := range fig9bcSettings(r.Scale) {
			to := func(classes ...string) float64 {
				return meanFCT(classes...)(m.row(r, scheduled)) / m.least(r, meanFCT(classes...),
					dcqcn, timely)
			}
			below := meanFCT("tiny", "small", "medium")
			tiny := func(x scheme) float64 { return 1e6 * meanFCT("tiny")(m.row(r, x)) }
			notes = append(notes,
				fmt.Sprintf("%s %.2f (below 10 KB %.2f, to 100 KB %.2f, to 1 MB %.2f; where CNPs "+
					"of a flow are 50 µs apart %.2f). Flows below 10 KB take %.1f µs, with "+
					"unscheduled packets %.1f, under DCQCN %.1f, under TIMELY %.1f",
					m.Traffic.Workload, to("tiny", "small", "medium"), to("tiny"), to("small"),
					to("medium"), below(m.row(r, scheduled))/m.least(r, below, seldom, timely),
					tiny(scheduled), tiny(unscheduled), tiny(dcqcn), tiny(timely)))
		}
		r.Note("small-flows", "by workload, of the better of DCQCN and TIMELY: %s",
			strings.Join(notes, "; "))
		r.Claim("hpcc-buffer", hpccBuffer)
		r.Claim("small-flows", small)
		r.Claim("hpcc-tail", tail)
		r.Claim("tocc-buffer", ourBuffer)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		m := fig9bcSettings(r.Scale)
		return []figure.Figure{
			m[0].bars(r, "mean-cache-follower", "Mean completion time by class, Cache Follower",
				compared, meanFCT),
			m[0].bars(r, "p99-cache-follower", "99th percentile by class, Cache Follower", compared,
				p99FCT),
			m[1].bars(r, "mean-web-search", "Mean completion time by class, Web Search", compared,
				meanFCT),
			m[1].bars(r, "p99-web-search", "99th percentile by class, Web Search", compared,
				p99FCT),
			table(r, "schemes", "Load 0.8 of what the core carries", withSeldom, m...),
		}
	},
}
