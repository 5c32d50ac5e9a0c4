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
		judged := tokenCells(
			withCC(s, 1, oneWay), withCC(s, 2, oneWay), withCC(s, 1, exactly), withoutCC(s,
				exactly), withCC(s, 1, bothWays), withoutCC(s, bothWays),
		)
		beside := tokenCells(
			withCC(s, 1, oneWay).near(), withCC(s, 2, oneWay).near(),
			withCC(s, 1, exactly).near(), withoutCC(s, exactly).near(),
			withCC(s, 1, oneWay).doubly(), withCC(s, 2, oneWay).doubly(),
			withCC(s, 1, exactly).doubly(), withCC(s, 1, oneWay).near().doubly(),
			withCC(s, 2, oneWay).near().doubly(), withCC(s, 1, exactly).near().doubly(),
		)
		return append(append(judged, beside...),
			dcqcnCells(firstSet, secondSet, firstSet.near(), secondSet.near())...)
	},
	Run: runEight,
	Judge: func(r *experiment.Results) {
		cell := func(set dcqcnSet, w way) experiment.Pool {
			return r.Cell(withCC(r.Scale, set, w).Name)
		}
		drains := func(p, without tokenRun) float64 {
			return r.Cell(p.Name).Values("later").Mean() /
				r.Cell(without.Name).Values("later").Mean()
		}
		set1, none := withCC(r.Scale, 1, exactly), withoutCC(r.Scale, exactly)
		r.Claim("drains", drains(set1, none))
		r.Note("drains", "with a limiter at the data's rate, since otherwise the queue drains "+
			"without token CC. With the round trip of 5.3 µs %.2f. With flows both ways %.2f",
			drains(set1.near(), none.near()),
			drains(withCC(r.Scale, 1, bothWays), withoutCC(r.Scale, bothWays)))
		r.Claim("full", cell(1, oneWay).Values("full").Mean())
		r.Note("full", "the longest time below 0.9 of the link, from half a millisecond on, is "+
			"%.0f µs of %v; in all %.3f of the link is used",
			1e6*cell(1, oneWay).Values("dip").Max(), withoutCC(r.Scale, oneWay).Until,
			cell(1, oneWay).Values("util").Mean())
		tokens := differ(cell(1, oneWay), cell(2, oneWay), 0.05)
		near := differ(r.Cell(withCC(r.Scale, 1, oneWay).near().Name),
			r.Cell(withCC(r.Scale, 2, oneWay).near().Name), 0.05)
		r.Claim("insensitive", tokens)
		r.Note("insensitive", "with the round trip of 5.3 µs %.3f", near)
		data := differ(r.Cell(firstSet.name()), r.Cell(secondSet.name()), 0.05)
		r.Claim("less-than-dcqcn", tokens/data)
		r.Note("less-than-dcqcn", "%.3f for tokens, %.3f for DCQCN; with the round trip of 5.3 µs "+
			"%.3f and %.3f", tokens, data, near, differ(r.Cell(firstSet.near().name()),
			r.Cell(secondSet.near().name()), 0.05))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var drawn []experiment.Pool
		for _, name := range []string{
			withCC(r.Scale, 1, oneWay).Name, withCC(r.Scale, 2, oneWay).Name,
			withCC(r.Scale, 1, exactly).Name, firstSet.name(), secondSet.name(),
		} {
			drawn = append(drawn, r.Cell(name))
		}
		return append(flowFigures(drawn, "tokens under DCQCN, and DCQCN"), thresholdBars(r))
	},
}

// thresholdBars compares the two readings of the paper's threshold, at both round trips.
func thresholdBars(r *experiment.Results) figure.Figure {
	long, short := fmt.Sprint("RTT ", longRTT), fmt.Sprint("RTT ", baseRTT)
	bars := figure.Bars("threshold", "22/85 KB as the threshold of tokens, and of data",
		"spread of eight flows' rates, of the share",
		"set 1, "+long, "set 2, "+long, "set 1, "+short, "set 2, "+short)
	for _, of := range []struct {
		name    string
		marking func(tokenRun) tokenRun
	}{{"of tokens", func(p tokenRun) tokenRun { return p }}, {"of data", tokenRun.doubly}} {
		var heights []float64
		for _, near := range []bool{false, true} {
			for _, set := range []dcqcnSet{1, 2} {
				p := withCC(r.Scale, set, oneWay)
				if near {
					p = p.near()
				}
				heights = append(heights, r.Cell(of.marking(p).Name).Values("spread").Mean())
			}
		}
		bars.Heights(of.name, heights...)
	}
	return bars
}

// withCC is tokens under DCQCN.
func withCC(s experiment.Scale, set dcqcnSet, w way) tokenRun {
	p := withoutCC(s, w)
	p.Name = fmt.Sprintf("set %d, %s", set, p.Name)
	p.Spec = twoPackets + "," + set.onTokens()
	return p
}
