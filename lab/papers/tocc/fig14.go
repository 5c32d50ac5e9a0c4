package tocc

import (
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// edge is 8:1 incasts with a non-blocking core.
func edge(s experiment.Scale) setting {
	return setting{networkAt(s, nb100), traffic{Load: 0.8, Flows: 800, Senders: 8, IncastLow: 30,
		IncastHigh: 40}}
}

// fig14: NDP where the core is the bottleneck, and where it is not.
var fig14 = &experiment.Experiment{
	ID: "tocc/fig14",
	Cells: func(s experiment.Scale) (all []experiment.Cell) {
		all = append(fewFollowers(s).cells(ndp, unscheduled, scheduled),
			fewSearches(s).cells(ndp, unscheduled, scheduled)...)
		if s == experiment.Full {
			all = append(all, edge(s).cells(ndp, unscheduled)...)
		}
		return all
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		bad := func(m setting) claims.Value {
			return claims.Number(slowdowns(m.row(r, ndp)) / slowdowns(m.row(r, scheduled)))
		}
		r.Claim("ndp-bad",
			experiment.With("cf", bad(fewFollowers(r.Scale))).With("ws", bad(fewSearches(r.Scale))))
		r.Note("ndp-bad", "small flows complete before anything is trimmed. 99th percentiles of "+
			"slowdown are %s and %s times ToCC's without unscheduled packets",
			digitsText(tails(fewFollowers(r.Scale).row(r, ndp))/tails(fewFollowers(r.Scale).row(r,
				scheduled))),
			digitsText(tails(fewSearches(r.Scale).row(r, ndp))/tails(fewSearches(r.Scale).row(r,
				scheduled))))
		if r.Scale == experiment.Full {
			m := edge(r.Scale)
			r.Claim("edge-ok",
				mean(m.row(r, ndp).slowdown("incast"))/mean(m.row(r,
					unscheduled).slowdown("incast")))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		of := []scheme{ndp, unscheduled, scheduled}
		cf, ws := fewFollowers(r.Scale), fewSearches(r.Scale)
		out := []figure.Figure{
			slowdownBars(r, "cache-follower", "Cache Follower", of, cf), slowdownBars(r,
				"web-search", "Web Search", of, ws),
			tokenTable(r, "NDP under a core of 4:1 (8:1 at small scale)", of, cf, ws),
		}
		if r.Scale == experiment.Full {
			out = append(out,
				named("edge", tokenTable(r, "Incasts of 8 senders, non-blocking", of[:2],
					edge(r.Scale))))
		}
		return out
	},
}

// named renames a table.
func named(name string, t *figure.Table) *figure.Table {
	t.Name = name
	return t
}
