package prioplus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// sec421: the cost of probes, and how they avoid each other.
var sec421 = &experiment.Experiment{
	ID: "prioplus/sec4.2.1",
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{{Name: "rates"}, {Name: "restarts"}}
	},
	Run: func(j *experiment.Job) error {
		high, err := virtual("n=8", 8, wai)
		if err != nil {
			return err
		}
		if j.Name == "rates" {
			return probeRates(j, high)
		}
		return restarts(j, high)
	},
	Judge: func(r *experiment.Results) {
		const probe, every = 64, 12 * units.Microsecond
		r.Claim("rate", claims.Rate(units.BitRate(8*probe/every.Seconds())))
		r.Note("rate", "the paper has 64 B; ours are 74 B with the check sequence, 49 Mb/s")
		rates := experiment.Keyed{}
		for _, p := range probed {
			rates = rates.With(fmt.Sprintf("p%d", p), r.Cell("rates").Values(class(p)).Mean())
		}
		r.Claim("less-when-deeper", rates)
		together := 0.0
		for _, seed := range r.Cell("restarts").Seeds() {
			resumed := seed.Values("resumed")
			together = max(together, float64(mostWithin(resumed, 1e-6))/float64(len(resumed)))
		}
		r.Claim("desync", together)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{figure.CDF("restarts",
			"When flows of priority 2 send again after one of priority 8 stopped", "time (µs)").
			Samples("first probe that finds room",
				r.Cell("restarts").Seeds()[0].Values("resumed").Scaled(1e6))}
	},
}

var probed = []int{2, 4, 6}

// probeRates counts the echoes that stopped flows get while one of priority 8 has the link.
func probeRates(j *experiment.Job, high cc.Factory) error {
	const from, to = units.Millisecond, 5 * units.Millisecond
	flows := []sim.Flow{{Control: high}}
	counts := make([]int, len(probed))
	for i, p := range probed {
		low, err := virtual("n=8", p, wai)
		if err != nil {
			return err
		}
		flows = append(flows, sim.Flow{Start: 200 * units.Microsecond, Control: low,
			OnEvent: func(ev *cc.Event, _ cc.Algorithm, at units.Duration) {
				if ev.Probe && ev.Kind == cc.RTT && at >= from && at < to {
					counts[i]++
				}
			}})
	}
	if _, err := noisyMicro(j.Seed, to).Run(j.Context(), flows); err != nil {
		return err
	}
	for i, p := range probed {
		j.Value(class(p), float64(counts[i])/((to-from).Seconds()*1e3))
	}
	return nil
}

// restarts records when each of many stopped flows sends again after the one above them stopped.
func restarts(j *experiment.Job, high cc.Factory) error {
	low, err := virtual("n=8", 2, wai)
	if err != nil {
		return err
	}
	n, stop := experiment.At(j.Scale, 100, 30), experiment.At(j.Scale, 5*units.Millisecond,
		2*units.Millisecond)
	flows := append(sim.Many(n, sim.Flow{Start: 200 * units.Microsecond, Control: low}),
		sim.Flow{Stop: stop, Control: high})
	resumed := make([]units.Duration, n)
	for i := range n {
		flows[i].OnEvent = func(_ *cc.Event, a cc.Algorithm, at units.Duration) {
			if at > stop && resumed[i] == 0 && a.(cc.Observable).Snapshot().Channel.State !=
				cc.Stopped {
				resumed[i] = at - stop
			}
		}
	}
	if _, err := noisyMicro(j.Seed, stop+units.Millisecond).Run(j.Context(), flows); err != nil {
		return err
	}
	for _, at := range resumed {
		if at > 0 {
			j.Value("resumed", at.Seconds())
		}
	}
	return nil
}

// mostWithin returns the largest number of values in a window of a width.
func mostWithin(values experiment.Values, width float64) (most int) {
	sorted := slices.Sorted(slices.Values(values))
	for i, from := 0, 0; i < len(sorted); i++ {
		for sorted[i]-sorted[from] > width {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
