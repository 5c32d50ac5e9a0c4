package cclab

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// far lists the lengths of the senders' links.
var far = []units.Duration{units.Microsecond, 2 * units.Microsecond, 4 * units.Microsecond,
	8 * units.Microsecond}

// rtts: flows whose round trips differ share a link.
var rtts = &experiment.Experiment{
	ID: "cc/rtt",
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, a := range algorithms {
			cells = append(cells, experiment.Cell{Name: a.name, Params: a.name})
		}
		return cells
	},
	Run: runRTTs,
	Judge: func(r *experiment.Results) {
		near := func(names ...string) experiment.Keyed {
			return experiment.Each(names, func(a string) float64 {
				c := r.Cell(a)
				return c.Values("goodput 0").Mean() /
					c.Values(fmt.Sprintf("goodput %d", len(far)-1)).Mean()
			})
		}
		r.Claim("windows", near("swift", "dctcp", "idctcp"))
		r.Claim("rates", near("dcqcn", "dcqcn-nic"))
		r.Note("no-starvation", "ledbat-dc adds and subtracts the same amount whatever the "+
			"window, so that the initial difference of the windows, each a BDP of its path, stays")
		r.Claim("no-starvation", experiment.Each(
			[]string{"swift", "dctcp", "idctcp", "ledbat-dc", "dcqcn", "dcqcn-nic"},
			func(a string) float64 { return r.Cell(a).Values("least").Min() }))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var groups []string
		for _, a := range algorithms {
			groups = append(groups, a.name)
		}
		share := figure.Bars("share", "Goodput by the length of the sender's link",
			"goodput (Gb/s)", groups...)
		for i, d := range far {
			var g experiment.Measures
			for _, a := range algorithms {
				g.Add(r.Cell(a.name), func(p experiment.Pool) float64 {
					return p.Values(fmt.Sprintf("goodput %d", i)).Mean() * 1e-9
				})
			}
			g.Bars(share, fmt.Sprintf("%g µs", d.Microseconds()))
		}
		return []figure.Figure{share}
	},
}

func runRTTs(j *experiment.Job) error {
	spec, a, err := algorithmOf(j.Params.(string))
	if err != nil {
		return err
	}
	until := experiment.At(j.Scale, 100*units.Millisecond, 20*units.Millisecond)
	flows := make([]sim.Flow, len(far))
	for i := range flows {
		flows[i].Control = spec
	}
	r, err := sim.Bottleneck{
		Seed: j.Seed, Jitter: jitter, Rate: rate, Delay: units.Microsecond,
		DelayOf: func(i int) units.Duration {
			return far[i]
		}, PathMTU: 1024, ECN: a.ecn, CNPs: a.cnps,
		Chunk: 4 * units.MiB, Until: until, Interval: 100 * units.Microsecond,
	}.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	sum, least := 0.0, 0.0
	for i, f := range r.Traces {
		g := f.Goodput.Mean(units.Time(until/2), units.Time(until))
		j.Value(fmt.Sprintf("goodput %d", i), g)
		if sum += g; i == 0 || g < least {
			least = g
		}
	}
	j.Value("least", least*float64(len(far))/sum)
	return nil
}
