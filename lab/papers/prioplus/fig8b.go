package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

var fig8bStairs = testbedStairs(func(p int) (cc.Factory, error) {
	return plain(units.Duration(4*p)*units.Microsecond, testbedWAI)
})

// fig8b: the same with Swift and PrioPlus's targets, beside PrioPlus.
var fig8b = &experiment.Experiment{
	ID: "prioplus/fig8b",
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{{Name: "swift"}, {Name: "prioplus"}}
	},
	Run: func(j *experiment.Job) error {
		s := fig8bStairs
		if j.Name == "prioplus" {
			s = fig8aStairs
		}
		return s.run(j, testbed(j.Seed, 28*units.Millisecond))
	},
	Judge: func(r *experiment.Results) {
		swift, prioplus := r.Cell("swift"), r.Cell("prioplus")
		r.Claim("slow-yield", experiment.Seconds(fig8bStairs.mean(swift, "yield")))
		r.Claim("slow-refill", experiment.Seconds(fig8bStairs.mean(swift, "refill")))
		r.Claim("worse-than-prioplus", fig8aStairs.mean(prioplus, "refill")/fig8bStairs.mean(swift,
			"refill"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{fig8bStairs.figure(r.Cell("swift"), "goodput",
			"Swift with PrioPlus's targets, 10 Gb/s")}
	},
}
