package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig13a: switches mark tokens too early.
var fig13a = &experiment.Experiment{
	ID: "tocc/fig13a",
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		for _, factor := range tokenFactors {
			out = append(out, tokenCells(markedAt(s, factor))...)
		}
		for _, factor := range tokenFactors {
			out = append(out, tokenCells(markedAt(s, factor).decidingOften())...)
		}
		return append(out, tokenCells(markedAt(s, 0.5).near(), markedAt(s, 1).near())...)
	},
	Run: runTokens,
	Judge: func(r *experiment.Results) {
		dip := func(p tokenRun) float64 { return 1e6 * r.Cell(p.Name).Values("dip").Max() }
		half, whole := markedAt(r.Scale, 0.5), markedAt(r.Scale, 1)
		r.Claim("dip", dip(half))
		r.Note("dip", "with the round trip of 5.3 µs %.0f µs, if token CC decides each "+
			"microsecond %.0f µs", dip(half.near()), dip(half.decidingOften()))
		r.Claim("default-ok", dip(whole))
		r.Note("default-ok", "the dip is DCQCN's first cut, whose period is 900 µs, not the "+
			"threshold's: at a quarter of the threshold it is %.0f µs, at twice it %.0f. With the "+
			"round trip of 5.3 µs %.0f µs, if token CC decides each microsecond %.0f µs",
			dip(markedAt(r.Scale, 0.25)), dip(markedAt(r.Scale, 2)), dip(whole.near()),
			dip(whole.decidingOften()))
		util := func(often bool) (all []float64) {
			for _, factor := range tokenFactors {
				p := markedAt(r.Scale, factor)
				if often {
					p = p.decidingOften()
				}
				// in hundredths: the rest is the effect of single packets
				all = append(all, math.Round(100*r.Cell(p.Name).Values("util").Mean())/100)
			}
			return all
		}
		r.Claim("monotone", util(true))
		r.Note("monotone", "token CC decides each microsecond; if it does each 50, the link is as "+
			"full with any threshold: %v", util(false))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{
			queueFigure(r, "tokens", "Queue of tokens at the bottleneck", "tokens"), queueFigure(r,
				"queue", "Queue of data at the bottleneck", "queue"),
		}
	},
}

// tokenFactors are thresholds of tokens, relative to the recommended ones.
var tokenFactors = []float64{0.25, 0.5, 1, 2}

// markedAt is the flows of figure 7 with other thresholds of tokens.
func markedAt(s experiment.Scale, factor float64) tokenRun {
	p := withCC(s, 1, oneWay)
	p.Name, p.Marking.Factor = fmt.Sprintf("x%g", factor), factor
	return p
}

// decidingOften is the same run with token CC that reacts to marks each microsecond, not each 50.
func (p tokenRun) decidingOften() tokenRun {
	p.Name, p.Spec = fmt.Sprintf("%s, decisions each %v", p.Name, units.Microsecond),
		"cnp_interval=1us,"+p.Spec
	return p
}
