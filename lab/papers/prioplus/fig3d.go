package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig3d: low Swift flows that begin at line rate behind high ones, and must detect when those end.
var fig3d = &experiment.Experiment{
	ID: "prioplus/fig3d",
	Run: func(j *experiment.Job) error {
		high, err := swift(25*units.Microsecond, false, start(bdp))
		if err != nil {
			return err
		}
		// The least window is 100 Mb/s of payload at the delay that the high flows hold.
		const delay = 37.2e-6 // s
		low, err := swift(5*units.Microsecond, false,
			start(bdp)+fmt.Sprintf(",min_cwnd=%g", 100e6*delay/8/payload))
		if err != nil {
			return err
		}
		us := units.Microsecond
		flows := []sim.Flow{
			{Bytes: 3_000_000, Control: high}, {Bytes: 3_000_000, Control: high},
			{Start: 125 * us, Bytes: 3_000_000, Control: low}, {Start: 125 * us, Bytes: 3_000_000,
				Control: low},
		}
		config := micro(j.Seed, 20*units.Millisecond)
		config.Interval = 10 * us
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		highs, lows := r.Traces[:2], r.Traces[2:]
		least := 1.0
		for at := 125 * us; at+20*us <= 300*us; at += 10 * us {
			least = min(least, group(highs, at, at+20*us)/config.Capacity())
		}
		j.Value("least", least)
		ended := max(highs[0].Finish, highs[1].Finish)
		gap := units.Duration(0)
		for _, f := range lows {
			gap = max(gap, largestGap(f.Sent, ended-200*us, ended))
		}
		j.Value("gap", gap.Seconds())
		j.Value("refill", binsOf(config.Interval, r.Traces).refill(ended,
			config.Capacity()).Seconds())
		keep(j, "target + 25 µs", highs)
		keep(j, "target + 5 µs", lows)
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("start-hurts", r.Values("least").Mean())
		r.Claim("slow-restart", experiment.Seconds(r.Values("refill").Min()))
		r.Note("probe-gap", "the high flows end after 0.6 ms, when the low windows are still at "+
			"two packets: 2 Gb/s, as in the published run. To reach 100 Mb/s takes longer flows")
		r.Claim("probe-gap", experiment.Seconds(r.Values("gap").Mean()))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{goodput(r.Pool, "Line-rate start and minimum rate", "target + 25 µs",
			"target + 5 µs")}
	},
}

// largestGap returns the longest time between two packets of which the later left within a span.
func largestGap(sent []units.Time, from, to units.Duration) units.Duration {
	gap := units.Duration(0)
	for i := 1; i < len(sent); i++ {
		if sent[i] > units.Time(from) && sent[i] <= units.Time(to) {
			gap = max(gap, sent[i].Sub(sent[i-1]))
		}
	}
	return gap
}
