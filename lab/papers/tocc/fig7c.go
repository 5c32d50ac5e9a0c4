package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig7c: the eight flows with tokens, without control of the tokens. One way is as in figure 7a;
// with flows both ways tokens leave nothing of the link after their share.
var fig7c = &experiment.Experiment{
	ID: "tocc/fig7c",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return append(tokenCells(withoutCC(s, oneWay), withoutCC(s, exactly),
			withoutCC(s, bothWays), withoutCC(s, oneWay).near(), withoutCC(s, exactly).near()),
			dcqcnCells(firstSet, firstSet.near())...)
	},
	Run: runEight,
	Judge: func(r *experiment.Results) {
		one, reactive := r.Cell(string(oneWay)), r.Cell(firstSet.name())
		r.Claim("flat", one.Values("spread").Mean())
		r.Claim("buffer-less", reactive.Values("bufmax").Mean()/one.Values("bufmax").Mean())
		r.Claim("absolute", one.Values("bufmax").Mean()/(pairs*one.Values("BDP").Mean()))
		standing := func(w way) float64 {
			c := r.Cell(string(w))
			return c.Values("later").Mean() / c.Values("peak").Mean()
		}
		r.Claim("standing", standing(exactly))
		r.Note("standing", "with a limiter at the data's rate: otherwise the bandwidth that "+
			"tokens of others would take drains the queue (%.2f). With flows both ways, for "+
			"whose ACKs no bandwidth is reserved, it is %.2f", standing(oneWay), standing(bothWays))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return flowFigures(r.Cells(), "tokens without CC, and DCQCN")
	},
}

// way is the direction of flows, and what tokens leave.
type way string

const (
	oneWay   way = "one way"
	exactly  way = "one way, limiter at the data's rate"
	bothWays way = "both ways"
)

// withoutCC is tokens with a constant window.
func withoutCC(s experiment.Scale, w way) tokenRun {
	return tokenRun{
		Name: string(w), Spec: twoPackets + ",cc=none", Both: w == bothWays, Exact: w == exactly,
		Until: experiment.At(s, 20*units.Millisecond, 5*units.Millisecond), RTT: longRTT,
	}
}

// runEight simulates eight flows of any kind.
func runEight(j *experiment.Job) error {
	if _, ok := j.Params.(dcqcnCell); ok {
		return runDCQCN(j)
	}
	return runTokens(j)
}
