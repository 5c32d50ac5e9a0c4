package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

var fig8aStairs = testbedStairs(func(p int) (cc.Factory, error) {
	return virtual(testbedTable, p, testbedWAI)
})

// fig8a: four adjacent priorities at 10 Gb/s, in the fabric.
var fig8a = &experiment.Experiment{
	ID: "prioplus/fig8a",
	Run: func(j *experiment.Job) error {
		return fig8aStairs.run(j, testbed(j.Seed, 28*units.Millisecond))
	},
	Judge: func(r *experiment.Results) {
		r.Claim("yield", fig8aStairs.of(r.Pool, "takeover", experiment.Seconds))
		r.Claim("order-after", fig8aStairs.of(r.Pool, "next", claims.Number))
		r.Claim("refill", fig8aStairs.of(r.Pool, "refill", experiment.Seconds))
		r.Claim("full-link", r.Values("util").Min())
		r.Note("wire-agrees", "not compared: make fig8-dpdk runs it over ports in real time, at "+
			"the rate and with the channels that the machine allows, and judges the order itself")
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{fig8aStairs.figure(r.Pool, "goodput",
			"PrioPlus, four adjacent priorities, 10 Gb/s")}
	},
}
