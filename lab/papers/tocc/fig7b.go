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
		ends := second.Values("converges")
		r.Note("converges", "%v to %v by seed; the spread of rates is %.2f to %.2f. With the "+
			"round trip of 5.3 µs %v",
			experiment.Seconds(ends.Min()), experiment.Seconds(ends.Max()),
			second.Values("spread").Min(), second.Values("spread").Max(), experiment.Seconds(
				r.Cell(secondSet.near().name()).Values("converges").Max()))
		r.Claim("buffer-varies", second.Values("varies").Mean())
		r.Claim("differs", differ(first, second, 0))
		r.Note("differs", "rates spread by %.2f and %.2f, and for a twentieth of the time the "+
			"link is used less than %.2f against %.2f. With the round trip of 5.3 µs %.2f",
			first.Values("spread").Mean(), second.Values("spread").Mean(),
			1-first.Values("dip").Mean(), 1-second.Values("dip").Mean(),
			differ(r.Cell(firstSet.near().name()), r.Cell(secondSet.near().name()), 0))
	},
	Figures: dcqcnFigures,
}
