package taurus

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/sim/figure"
)

// aggregations are the settings that figures 8a and 8b compare.
var aggregations = []struct {
	name string
	nicoffload.Aggregation
}{{"off", nicoffload.Immediate}, {"on", nicoffload.DefaultAggregation}}

var aggregatedFlows = []int{1, 2, 4, 8, 16}

// eachAggregation returns every number of flows with aggregation and without, and its name.
func eachAggregation(do func(name string, flows int, a nicoffload.Aggregation) error) error {
	for _, flows := range aggregatedFlows {
		for _, a := range aggregations {
			if err := do(fmt.Sprintf("%d %s", flows, a.name), flows, a.Aggregation); err != nil {
				return err
			}
		}
	}
	return nil
}

// fig8a: how much of the agent's core aggregation saves.
var fig8a = &experiment.Experiment{
	ID:    "taurus/fig8a",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		var all []*contender
		if err := eachAggregation(func(name string, flows int, a nicoffload.Aggregation) error {
			c, err := newTaurus(name, flows, feedbackRate, a, benched("idctcp"))
			all = append(all, c)
			return err
		}); err != nil {
			return err
		}
		return measure(j, enoughAt(j.Scale), all...)
	},
	Judge: func(r *experiment.Results) {
		var gains experiment.Keyed
		most := 0.0
		for _, flows := range aggregatedFlows {
			off, on := cpu(r.Pool, fmt.Sprintf("%d off", flows)), cpu(r.Pool,
				fmt.Sprintf("%d on", flows))
			gains = gains.With(fmt.Sprint(flows), 1-on/off)
			most = max(most, on)
		}
		r.Claim("less-cpu", gains)
		r.Note("less-cpu", "%s", conditions(r.Pool))
		r.Claim("one-core", most)
		r.Note("one-core", "for the number of flows that takes most; reached %.3g M/s",
			perSecond(r.Pool, "16 on rate")/1e6)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Bars("cpu", fmt.Sprintf("Agent at %.3g M acknowledgements/s", feedbackRate/1e6),
			"busy share of its core (%)", texts(aggregatedFlows, "%d flows")...)
		for _, a := range aggregations {
			var heights []float64
			for _, flows := range aggregatedFlows {
				heights = append(heights, 100*cpu(r.Pool, fmt.Sprintf("%d %s", flows, a.name)))
			}
			p.Heights("aggregation "+a.name, heights...)
		}
		return []figure.Figure{p}
	},
}

// cpu is the share of its core that a contender's agent was busy.
func cpu(r experiment.Pool, name string) float64 { return r.Values(name + " busy").Percentile(50) }

// perSecond returns the rate of a contender's signals ("rate") or of its agent's messages
// ("messages").
func perSecond(r experiment.Pool, name string) float64 { return r.Values(name).Percentile(50) }

// conditions describes the state of the machine during the measurement.
func conditions(r experiment.Pool) string {
	return fmt.Sprintf("medians of slices of 0.5 ms, contenders in turns; load %.1f, both cores "+
		"undisturbed in %.0f of %.0f slices",
		r.Values("load")[0], r.Values("slices").Sum(), r.Values("all slices").Sum())
}

func texts(xs []int, format string) (all []string) {
	for _, x := range xs {
		all = append(all, fmt.Sprintf(format, x))
	}
	return all
}
