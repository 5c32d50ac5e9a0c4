package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig3a: two D2TCP flows, one of them urgent.
var fig3a = &experiment.Experiment{
	ID: "prioplus/fig3a",
	Run: func(j *experiment.Job) error {
		size := experiment.At(j.Scale, units.Bytes(200_000_000), 10_000_000)
		config := micro(j.Seed, units.Second)
		config.ECN = fabric.ECN{Kmin: 100 * units.KiB, Kmax: 400 * units.KiB, Pmax: 0.2}
		config.Interval = experiment.At(j.Scale, 200*units.Microsecond, 20*units.Microsecond)
		const base = 12180 * units.Nanosecond
		ideal := base + rate.Duration(size)
		flows := make([]sim.Flow, 2)
		for i := range flows {
			// from the start of the flow; the algorithm starts before
			deadline := units.Duration(i+1) * ideal
			spec, err := cc.Parse(
				fmt.Sprintf("d2tcp:deadline=%gus,g=0.00390625,ai=%g,init_cwnd=%g,max_cwnd=100000",
					(sim.Warm + deadline).Microseconds(), 0.01*bdp, bdp))
			if err != nil {
				return err
			}
			flows[i] = sim.Flow{Bytes: size, Control: spec}
		}
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		urgent, end := r.Traces[:1], r.Traces[0].Finish
		from := experiment.At(j.Scale, units.Millisecond, r.Traces[0].FCT()/10)
		j.Value("share", group(urgent, from, end)/group(r.Traces, from, end))
		j.Value("util", group(r.Traces, from, end)/config.Capacity())
		j.Value("late", r.Traces[0].FCT().Seconds()/ideal.Seconds())
		keep(j, "deadline 1 x ideal", r.Traces[:1])
		keep(j, "deadline 2 x ideal", r.Traces[1:])
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("not-strict", r.Values("share").Mean())
		if r.Scale == experiment.Small {
			r.Note("not-strict", "alpha begins at 1 and has g = 1/256: 10 MB end after three "+
				"cuts of the flow with the far deadline, the last one still by alpha^d = 0.5, "+
				"and near 1 deadlines hardly matter. With an initial alpha of 0.1 the same 10 MB "+
				"give 0.537 (seed 1)")
		}
		r.Claim("full-link", r.Values("util").Min())
		r.Claim("late", r.Values("late").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{goodput(r.Pool, "D2TCP", "deadline 1 x ideal", "deadline 2 x ideal")}
	},
}

// goodput draws the record of keep, of the first seed.
func goodput(r experiment.Pool, title string, classes ...string) figure.Figure {
	p := figure.Lines("goodput", title, "time (ms)", "goodput (Gb/s)")
	for _, c := range classes {
		r.Seeds()[0].Series(c).Scaled(1e3, 1e-9).Draw(p, c)
	}
	return p
}
