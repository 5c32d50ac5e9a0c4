package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig10aStairs are eight priorities of 30 flows; at small scale fewer, on slower links.
func fig10aStairs(s experiment.Scale) *stairs {
	return &stairs{
		priorities: experiment.At(s, []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 3, 5, 7}),
		flows:      experiment.At(s, 30, 10),
		step:       5 * units.Millisecond,
		settled:    2500 * units.Microsecond,
		// At 10 Gb/s 0.0012 BDP would be 0.02 packets: we use the testbed's 150 B there.
		control: func(p int) (cc.Factory, error) {
			return virtual("n=8", p, experiment.At(s, wai, 0.15))
		},
	}
}

// fig10a: eight virtual priorities of 30 flows each.
var fig10a = &experiment.Experiment{
	ID: "prioplus/fig10a",
	Run: func(j *experiment.Job) error {
		config := noisyMicro(j.Seed, experiment.At(j.Scale, 80*units.Millisecond,
			40*units.Millisecond))
		config.Rate = experiment.At[units.BitRate](j.Scale, rate, 10*units.Gbps)
		return fig10aStairs(j.Scale).run(j, config)
	},
	Judge: func(r *experiment.Results) {
		s := fig10aStairs(r.Scale)
		if r.Scale == experiment.Small {
			// Four priorities of ten flows at 10 Gb/s: far fewer packets than flows' windows need.
			const few = "at 10 Gb/s a BDP is 15 packets, one and a half for each of ten flows: " +
				"flows that were stopped while they increased estimate #flow as 60 to 165 where " +
				"10 is right, and have the link again only after the estimate was halved " +
				"repeatedly; at 100 Gb/s (full scale) this does not happen"
			for _, claim := range []string{"takeover", "refill", "util", "starve"} {
				r.Note(claim, few)
			}
		}
		r.Claim("takeover", s.of(r.Pool, "settled", claims.Number))
		r.Claim("speed", s.of(r.Pool, "takeover", experiment.Seconds))
		r.Claim("refill", s.of(r.Pool, "refill", experiment.Seconds))
		r.Claim("order", s.of(r.Pool, "next", claims.Number))
		r.Claim("util", r.Values("util").Min())
		r.Claim("starve", r.Values("below").Max())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		queue := figure.Steps("queue", "Queue", "time (ms)", "queue (KB)")
		r.Seeds()[0].Series("queue").Scaled(1e3, 1e-3).Draw(queue, "queue")
		return []figure.Figure{fig10aStairs(r.Scale).figure(r.Pool, "goodput",
			"Classes that begin and stop one after the other"), queue}
	},
}
