package taurus

import (
	"fmt"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/ccp"
)

var servedFlows = []int{1, 2, 4, 8, 16, 32}

// table2: the agents' cores, by number of flows.
var table2 = &experiment.Experiment{
	ID:    "taurus/table2",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		var all []*contender
		for _, flows := range servedFlows {
			c, _, err := newCCP(fmt.Sprintf("%d ccp", flows), flows, 10.8e6, ccp.PerAck, benched("idctcp"))
			if err != nil {
				return err
			}
			t, err := newTaurus(fmt.Sprintf("%d taurus", flows), flows, 10.8e6, nicoffload.DefaultAggregation, benched("idctcp"))
			if err != nil {
				return err
			}
			all = append(all, c, t)
		}
		return measure(j, experiment.At(j.Scale, 40, 4), all...)
	},
	Judge: func(r *experiment.Results) {
		var ratio, points claims.Value
		for _, flows := range servedFlows {
			c, t := cpu(r, fmt.Sprintf("%d ccp", flows)), cpu(r, fmt.Sprintf("%d taurus", flows))
			ratio = ratio.With(fmt.Sprint(flows), claims.Number(t/c))
			points = points.With(fmt.Sprint(flows), claims.Number(100*(c-t)))
		}
		r.Claim("order", ratio)
		r.Note("order", "%s", conditions(r))
		r.Claim("saturates", cpu(r, "32 taurus")/cpu(r, "8 taurus"))
		r.Claim("difference", points)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "cpu"}
		_ = t
		return []figure.Figure{t}
	},
}
