package tocc

import (
	"math"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// headline is the claim of the abstract: the best over the cells with incasts.
var headline = &experiment.Experiment{
	ID: "tocc/headline",
	Cells: func(s experiment.Scale) (all []experiment.Cell) {
		for _, m := range headlineSettings(s) {
			all = append(all, m.cells(headlineSchemes(s, m)...)...)
		}
		return all
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		buffer, fct := math.Inf(-1), math.Inf(-1) // of all
		for _, m := range headlineSettings(r.Scale) {
			ours := m.row(r, scheduled)
			for _, x := range headlineSchemes(r.Scale, m) {
				row := m.row(r, x)
				if x != credits {
					buffer = max(buffer, row.bufmax()/ours.bufmax())
				}
				fct = max(fct, 1-mean(ours.fct())/mean(row.fct()), 1-p99(ours.fct())/p99(row.fct()))
			}
		}
		r.Claim("buffer", buffer)
		r.Claim("fct", fct)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		title, t := "Flows of the web server, and one round of incasts", (*figure.Table)(nil)
		for _, m := range headlineSettings(r.Scale) {
			of := table(r, "schemes", title, headlineSchemes(r.Scale, m), m)
			if t == nil {
				t = of
			} else {
				t.Rows = append(t.Rows, of.Rows...)
			}
		}
		return []figure.Figure{t}
	},
}

// headlineSettings are the settings of figures 6d and 8.
func headlineSettings(s experiment.Scale) []setting {
	all := []setting{mix(s), mixLarger(s)}
	for _, rate := range fig8deRates {
		if m := mixAt(s, rate); m != all[0] {
			all = append(all, m)
		}
	}
	return all
}

// headlineSchemes returns the compared schemes of a setting, with those of figure 6d where incasts
// are the smaller ones and links fast.
func headlineSchemes(s experiment.Scale, m setting) []scheme {
	if m == mix(s) {
		return append(compared[:len(compared):len(compared)], homa, credits, aeolus)
	}
	return compared
}
