package tocc

import (
	"github.com/goroce/goroce/bench/lab/experiment"
)

// fig7b: DCQCN with the second set of parameters.
var fig7b = &experiment.Experiment{
	ID: "tocc/fig7b",
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{
			dcqcnCell{1, lowMarks}.cell(), dcqcnCell{2, lowMarks}.cell(), dcqcnCell{2, highMarks}.cell(),
		}
	},
	Run: runDCQCN,
	Judge: func(r *experiment.Results) {
		first, second := r.Cell(dcqcnCell{1, lowMarks}.cell().Name), r.Cell(dcqcnCell{2, lowMarks}.cell().Name)
		r.Claim("converges", experiment.Seconds(second.Values("converges").Max()))
		r.Claim("buffer-varies", second.Values("varies").Mean())
		r.Claim("differs", differ(first, second, 0))
	},
	Figures: dcqcnFigures,
}
