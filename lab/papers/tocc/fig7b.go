package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
)

// fig7b: DCQCN with the second set of parameters.
var fig7b = &experiment.Experiment{
	ID: "tocc/fig7b",
	Cells: func(experiment.Scale) []experiment.Cell {
		return dcqcnCells(firstSet, secondSet, secondSet.often(), firstSet.near(), secondSet.near())
	},
	Run: runDCQCN,
	Judge: func(r *experiment.Results) {
		first, second := r.Cell(firstSet.name()), r.Cell(secondSet.name())
		r.Claim("converges", experiment.Seconds(second.Values("converges").Max()))
		r.Claim("buffer-varies", second.Values("varies").Mean())
		r.Claim("differs", differ(first, second, 0))
		r.Note("differs", "both sets fill the buffer until PFC stops them, and spread alike; "+
			"they differ in how long it lasts: rates stay near their share after %v against %v, "+
			"and for a twentieth of the time the link is used less than %.2f against %.2f",
			experiment.Seconds(first.Values("converges").Max()),
			experiment.Seconds(second.Values("converges").Max()),
			1-first.Values("dip").Mean(), 1-second.Values("dip").Mean())
	},
	Figures: dcqcnFigures,
}
