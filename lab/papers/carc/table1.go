package carclab

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// table1Time covers at least six flows of each thread.
const table1Time = 40 * ms

var table1Variants = []variant{hostCC, carcMix}

// back returns the largest step down, in parts of the range.
func back(series []float64) (step float64) {
	for i, y := range series[1:] {
		step = max(step, series[i]-y)
	}
	return step / (slices.Max(series) - slices.Min(series))
}

func table1Longs(s experiment.Scale) []int {
	return experiment.At(s, []int{2, 4, 6, 8}, []int{1, 4})
}

// table1: completion times of the flows.
var table1 = &experiment.Experiment{
	ID:    "carc/table1",
	Seeds: oneSeed,
	Cells: mixCells(table1Longs, table1Variants...),
	Run:   runMix(table1Time, table1Variants...),
	Judge: func(r *experiment.Results) {
		var host, withCARC []float64
		faster, tails := claims.Value{}, claims.Value{}
		for _, n := range table1Longs(r.Scale) {
			h, c := mixAt(r, hostCC, n).Values("long fct"), mixAt(r, carcMix, n).Values("long fct")
			ratio := mixRatio(r.Scale, n)
			for _, p := range []float64{50, 99} {
				faster = faster.With(fmt.Sprintf("%s p%g", ratio, p),
					claims.Number(h.Percentile(p)/c.Percentile(p)))
			}
			tails = tails.With(ratio, claims.Number(c.Percentile(99)/c.Percentile(50)))
			host, withCARC = append(host, h.Percentile(50)), append(withCARC, c.Percentile(50))
		}
		r.Claim("speedup", faster)
		r.Note("speedup", "hostCC marked of the flows' packets:%s", marksByLong(r,
			table1Longs(r.Scale), hostCC))
		// One series for both: the one with the larger step down.
		grows := host
		if back(withCARC) > back(host) {
			grows = withCARC
		}
		r.Claim("grows", grows)
		r.Note("grows", "P50 in us: hostCC %.0f, CARC %.0f (paper: 3883 4765 5403 5983, 2786 3625 "+
			"4129 4341); the one with the larger step down is judged",
			experiment.Values(host).Scaled(1e6), experiment.Values(withCARC).Scaled(1e6))
		r.Claim("tail-close", tails)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "fct", Title: "7.9 MB flows beside threads of short requests",
			Header: []string{"run", "flows", "P50 (us)", "P99 (us)", "reads that miss (%)"}}
		for _, c := range r.Cells() {
			fct := c.Values("long fct").Scaled(1e6)
			t.Row(c.Name, len(fct), int(fct.Percentile(50)), int(fct.Percentile(99)),
				int(100*c.Values("long miss")[0]))
		}
		return []figure.Figure{t, statesTable(r)}
	},
}

// marksByLong lists the share of marked packets by the number of threads with flows.
func marksByLong(r *experiment.Results, longs []int, v variant) (text string) {
	for _, n := range longs {
		text += fmt.Sprintf(" %.3f at %s", mixAt(r, v, n).Values("long marked")[0],
			mixRatio(r.Scale, n))
	}
	return text
}
