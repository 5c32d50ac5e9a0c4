package taurus

import (
	"fmt"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/ccp"
	"github.com/goroce/goroce/sim/figure"
)

var servedFlows = []int{1, 2, 4, 8, 16, 32}

// table2: the agents' cores, by number of flows.
var table2 = &experiment.Experiment{
	ID:    "taurus/table2",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		rate := experiment.At(j.Scale, feedbackRate, 4e6)
		var all []*contender
		for _, flows := range servedFlows {
			c, err := newCCP(fmt.Sprintf("%d ccp", flows), flows, rate, ccp.PerAck,
				benched("idctcp"))
			if err != nil {
				return err
			}
			t, err := newTaurus(fmt.Sprintf("%d taurus", flows), flows, rate,
				nicoffload.DefaultAggregation, benched("idctcp"))
			if err != nil {
				return err
			}
			all = append(all, c, t)
		}
		return measure(j, enoughAt(j.Scale), all...)
	},
	Judge: func(r *experiment.Results) {
		var ratio, points claims.Value
		for _, flows := range servedFlows {
			c, t := cpu(r.Pool, fmt.Sprintf("%d ccp", flows)), cpu(r.Pool,
				fmt.Sprintf("%d taurus", flows))
			ratio = ratio.With(fmt.Sprint(flows), claims.Number(t/c))
			points = points.With(fmt.Sprint(flows), claims.Number(100*(c-t)))
		}
		r.Claim("order", ratio)
		r.Note("order", "%s; %.3g M/s acknowledged under the split, under CCP, whose datapath "+
			"cannot do more, %.3g (1 flow) to %.3g (32)", conditions(r.Pool),
			perSecond(r.Pool, "1 taurus rate")/1e6, perSecond(r.Pool, "1 ccp rate")/1e6,
			perSecond(r.Pool, "32 ccp rate")/1e6)
		r.Claim("saturates", cpu(r.Pool, "32 taurus")/cpu(r.Pool, "8 taurus"))
		r.Note("saturates", "there is one message of each flow in 10 µs: %.2g M/s of 8 flows and "+
			"%.2g of 32, as long as there are more acknowledgements; the paper's share stays at "+
			"40 %% from 8 flows on",
			perSecond(r.Pool, "8 taurus messages")/1e6, perSecond(r.Pool, "32 taurus messages")/1e6)
		r.Claim("difference", points)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "cpu",
			Title: "Agents' busy share of a core (%), and what they heard of",
			Header: []string{"flows", "CCP", "TAURUS", "CCP (M acknowledgements/s)", "TAURUS",
				"CCP (M messages/s)", "TAURUS"}}
		for _, flows := range servedFlows {
			c, s := fmt.Sprintf("%d ccp", flows), fmt.Sprintf("%d taurus", flows)
			t.Row(flows, digits(100*cpu(r.Pool, c)), digits(100*cpu(r.Pool, s)),
				digits(perSecond(r.Pool, c+" rate")/1e6), digits(perSecond(r.Pool, s+" rate")/1e6),
				digits(perSecond(r.Pool, c+" messages")/1e6),
				digits(perSecond(r.Pool, s+" messages")/1e6))
		}
		return []figure.Figure{t}
	},
}

func digits(x float64) string { return fmt.Sprintf("%.3g", x) }
