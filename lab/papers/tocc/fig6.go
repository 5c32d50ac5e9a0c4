package tocc

import (
	"math"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// Figure 6: token schemes and ToCC, at 100 Gb/s.

// fig6 returns one of its parts, without the claims, with more cells.
func fig6(id, title string, at func(experiment.Scale) setting,
	more func(experiment.Scale) []experiment.Cell,
	judge func(r *experiment.Results, of func(scheme) row)) *experiment.Experiment {
	return &experiment.Experiment{
		ID: id,
		Cells: func(s experiment.Scale) []experiment.Cell {
			return append(at(s).cells(proactive...), more(s)...)
		},
		Run: serve,
		Judge: func(r *experiment.Results) {
			judge(r, func(x scheme) row { return at(r.Scale).row(r, x) })
		},
		Figures: func(r *experiment.Results) []figure.Figure {
			m := at(r.Scale)
			return []figure.Figure{
				slowdownBars(r, "slowdown", title, proactive, m), m.bars(r, "mean",
					"Mean completion time by class, "+title, proactive, meanFCT),
				bufferBars(r, "buffer", title, proactive, m), tokenTable(r, title, proactive, m),
			}
		},
	}
}

var fig6a = fig6("tocc/fig6a", "Memcached", func(s experiment.Scale) setting {
	return memcachedAt(s, os100)
},
	noMore, func(r *experiment.Results, of func(scheme) row) {
		r.Claim("unsch-helps", slowdowns(of(scheduled))/slowdowns(of(unscheduled)))
		r.Claim("beats-ep", slowdowns(of(credits))/slowdowns(of(unscheduled)))
		if r.Scale == experiment.Full {
			r.Claim("homa-good", slowdowns(of(homa))/slowdowns(of(unscheduled)))
		}
	})

var fig6b = fig6("tocc/fig6b", "Cache Follower", func(s experiment.Scale) setting {
	return followers(s, os100)
},
	func(s experiment.Scale) []experiment.Cell {
		cells := crowd(s, os100).cells(homa, unscheduled)
		if s == experiment.Full {
			for _, m := range followers(s, os100).draws()[1:] {
				cells = append(cells, m.cells(unscheduled, scheduled)...)
			}
		}
		return cells
	},
	func(r *experiment.Results, of func(scheme) row) {
		claimBuffer(r, of, crowd(r.Scale, os100))
		r.Claim("no-unsch-buffer", of(unscheduled).bufmax()/of(scheduled).bufmax())
		if r.Scale == experiment.Small {
			return
		}
		var ratios experiment.Values
		for _, m := range followers(r.Scale, os100).draws() {
			ratios = append(ratios,
				slowdowns(m.row(r, scheduled))/slowdowns(m.row(r, unscheduled)))
		}
		r.Claim("no-unsch-slowdown", ratios.Mean())
		r.Note("no-unsch-slowdown", "%.3f, %.3f and %.3f in three draws of flows. Those below 10 "+
			"KB, %s of all, take %s times as long without unscheduled packets", ratios[0],
			ratios[1], ratios[2],
			digitsText(float64(len(of(scheduled).fct("tiny")))/float64(len(of(scheduled).fct()))),
			digitsText(mean(of(scheduled).fct("tiny"))/mean(of(unscheduled).fct("tiny"))))
		r.Claim("homa-degrades", tails(of(homa))/tails(of(unscheduled)))
	})

// noMore is for parts of figure 6 with one setting.
func noMore(experiment.Scale) []experiment.Cell { return nil }

// claimBuffer compares the buffers of Homa and ToCC where hosts overload the core, and beside that
// with the core's load.
func claimBuffer(r *experiment.Results, core func(scheme) row, hosts setting) {
	held := func(x scheme) float64 { return hosts.row(r, x).bufmax() }
	r.Claim("buffer-vs-homa", held(homa)/held(unscheduled))
	r.Note("buffer-vs-homa", "with hosts' links loaded to 0.8, which overloads the core, and %d "+
		"flows: %s MB against %s. With 0.8 of what the core carries %s MB against %s",
		hosts.Traffic.Flows, digitsText(held(homa)/1e6), digitsText(held(unscheduled)/1e6),
		digitsText(core(homa).bufmax()/1e6), digitsText(core(unscheduled).bufmax()/1e6))
}

const fewHosts = "300 flows among 16 hosts, one seed: few senders of unscheduled packets " +
	"collide, and Homa seldom has the seven messages that it may grant at once"

var fig6c = fig6("tocc/fig6c", "Web Search", searches,
	func(s experiment.Scale) []experiment.Cell { return searchCrowd(s).cells(homa, unscheduled) },
	func(r *experiment.Results, of func(scheme) row) {
		claimBuffer(r, of, searchCrowd(r.Scale))
		if r.Scale == experiment.Small {
			return
		}
		least := math.Inf(1)
		for _, x := range []scheme{homa, credits, aeolus} {
			least = min(least, tails(of(x)))
		}
		r.Claim("tail", tails(of(scheduled))/least)
		r.Note("tail", "99th percentiles of slowdown: Homa %s, ExpressPass %s, EP+Aeolus %s, "+
			"ToCC %s, without unscheduled packets %s", digitsText(tails(of(homa))),
			digitsText(tails(of(credits))),
			digitsText(tails(of(aeolus))), digitsText(tails(of(unscheduled))),
			digitsText(tails(of(scheduled))))
	})

var fig6d = fig6("tocc/fig6d", "Web Server and incasts", mix, noMore,
	func(r *experiment.Results, of func(scheme) row) {
		r.Claim("low-buffer", of(unscheduled).bufmax()/of(scheduled).bufmax())
		least := func(quantity func(row) float64) float64 {
			return min(quantity(of(credits)),
				quantity(of(aeolus)))
		}
		ours := func(quantity func(row) float64) claims.Value {
			return claims.Number(quantity(of(scheduled)) / least(quantity))
		}
		r.Claim("fct-vs-ep", experiment.With("mean", ours(meanFCT())).With("p99", ours(p99FCT())))
		r.Note("fct-vs-ep", "mean completion times in µs: ToCC w/o unsch %s, ExpressPass %s, "+
			"EP+Aeolus %s. Aeolus sends in the first round trip, for which there is room most of "+
			"the time",
			digitsText(1e6*meanFCT()(of(scheduled))), digitsText(1e6*meanFCT()(of(credits))),
			digitsText(1e6*meanFCT()(of(aeolus))))
	})
