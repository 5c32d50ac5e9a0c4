package tocc

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig7d, and figure 13b: DCQCN with either set of parameters controls tokens.
var fig7d = &experiment.Experiment{
	ID: "tocc/fig7d",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(tokenCells(
			withCC(s, 1, oneWay), withCC(s, 2, oneWay), withCC(s, 1, exactly), withoutCC(s,
				exactly), withCC(s, 1, bothWays), withoutCC(s, bothWays),
		), dcqcnCells(firstSet, secondSet)...)
	},
	Run: runEight,
	Judge: func(r *experiment.Results) {
		cell := func(set dcqcnSet, w way) experiment.Pool {
			return r.Cell(withCC(r.Scale, set, w).Name)
		}
		drains := func(w way) float64 {
			return cell(1, w).Values("later").Mean() / r.Cell(string(w)).Values("later").Mean()
		}
		r.Claim("drains", drains(exactly))
		r.Note("drains", "with a limiter at the data's rate, since otherwise the queue drains "+
			"without token CC. With flows both ways %.2f: then data and ACKs exceed the link, "+
			"tokens do not queue, and token CC gets no marks", drains(bothWays))
		r.Claim("full", cell(1, oneWay).Values("full").Mean())
		tokens := differ(cell(1, oneWay), cell(2, oneWay), 0.05)
		r.Claim("insensitive", tokens)
		data := differ(r.Cell(firstSet.name()), r.Cell(secondSet.name()), 0.05)
		r.Claim("less-than-dcqcn", tokens/data)
		r.Note("less-than-dcqcn", "%.3f for tokens, %.3f for DCQCN, whose sets fill the buffer "+
			"to where PFC stops them and spread rates alike (figure 7b): neither number is "+
			"informative. The effect of the sets on throughput is: DCQCN leaves 1 - p5 of it at "+
			"%.2f and %.2f, tokens at %.2f and %.2f",
			tokens, data, r.Cell(firstSet.name()).Values("dip").Mean(),
			r.Cell(secondSet.name()).Values("dip").Mean(),
			1-cell(1, oneWay).Values("full").Mean(), 1-cell(2, oneWay).Values("full").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return flowFigures(r, "tokens under DCQCN, and DCQCN")
	},
}

// withCC is tokens under DCQCN.
func withCC(s experiment.Scale, set dcqcnSet, w way) tokenRun {
	p := withoutCC(s, w)
	p.Name = fmt.Sprintf("set %d, %s", set, p.Name)
	p.Spec = twoPackets + "," + set.onTokens()
	return p
}
