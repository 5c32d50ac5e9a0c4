package prioplus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig3b: Swift flows of two targets, with target scaling.
var fig3b = &experiment.Experiment{
	ID: "prioplus/fig3b",
	Run: func(j *experiment.Job) error {
		var flows []sim.Flow
		for _, above := range []units.Duration{15, 15, 5, 5} {
			spec, err := swift(above*units.Microsecond, true, start(bdp))
			if err != nil {
				return err
			}
			flows = append(flows, sim.Flow{Bytes: 5_000_000, Control: spec})
		}
		r, err := micro(j.Seed, units.Second).Run(j.Context(), flows)
		if err != nil {
			return err
		}
		const from = 100 * units.Microsecond
		to := min(r.Traces[0].Finish, r.Traces[1].Finish)
		high := group(r.Traces[:2], from, to) / group(r.Traces, from, to)
		j.Value("high", high)
		j.Value("low", 1-high)
		keep(j, "target + 15 µs", r.Traces[:2])
		keep(j, "target + 5 µs", r.Traces[2:])
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("weighted-share", r.Values("high").Mean())
		r.Claim("low-not-starved", r.Values("low").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{goodput(r.Pool, "Swift with target scaling", "target + 15 µs",
			"target + 5 µs")}
	},
}
