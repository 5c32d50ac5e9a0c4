package tocc

import (
	"math"
	"slices"

	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
)

// headline is what the abstract says: the best over the cells with incasts.
var headline = &experiment.Experiment{
	ID: "tocc/headline",
	Cells: func(s experiment.Scale) (all []experiment.Cell) {
		for _, m := range headlineSettings(s) {
			all = append(all, m.cells(headlineSchemes(m)...)...)
		}
		return all
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		buffer, fct := math.Inf(-1), math.Inf(-1)
		for _, m := range headlineSettings(r.Scale) {
			ours := m.row(r, scheduled)
			for _, x := range headlineSchemes(m) {
				row := m.row(r, x)
				buffer = max(buffer, row.bufmax()/ours.bufmax())
				fct = max(fct, 1-mean(ours.fct())/mean(row.fct()), 1-p99(ours.fct())/p99(row.fct()))
			}
		}
		r.Claim("buffer", buffer)
		r.Claim("fct", fct)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var settings []setting
		settings = append(settings, headlineSettings(r.Scale)...)
		return []figure.Figure{table(r, "schemes", "Flows of the web server, and one round of incasts", compared, settings...)}
	},
}

// headlineSettings are those of figures 6d and 8.
func headlineSettings(s experiment.Scale) []setting {
	all := []setting{mix(s), mixLarger(s)}
	for _, rate := range fig8deRates {
		if m := mixAt(s, rate); m != all[0] {
			all = append(all, m)
		}
	}
	return all
}

// headlineSchemes are those that are compared in a setting: in that of figure 6d token schemes, too.
func headlineSchemes(m setting) []scheme {
	if m == mix(experiment.Full) || m == mix(experiment.Small) {
		return slices.Concat(compared, []scheme{homa, credits, aeolus})
	}
	return compared
}
