package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
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
		us := units.Microsecond
		config := micro(j.Seed, 20*units.Millisecond)
		config.Interval = 10 * us
		// The least window is 100 Mb/s of payload over the base round trip.
		least := 100e6 * config.BaseRTT().Seconds() / 8 / payload
		spec, err := swift(5*us, false, start(bdp)+fmt.Sprintf(",min_cwnd=%g", least))
		if err != nil {
			return err
		}
		low := overBase{spec}
		// The paper's 3 MB of the high flows end before the low windows reach the floor.
		flows := []sim.Flow{
			{Bytes: fig3dHigh, Control: high}, {Bytes: fig3dHigh, Control: high},
			{Start: 125 * us, Bytes: 3_000_000, Control: low}, {Start: 125 * us, Bytes: 3_000_000,
				Control: low},
		}
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		highs, lows := r.Traces[:2], r.Traces[2:]
		lowest := 1.0
		for at := 125 * us; at+20*us <= 300*us; at += 10 * us {
			lowest = min(lowest, group(highs, at, at+20*us)/config.Capacity())
		}
		j.Value("least", lowest)
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
		r.Note("probe-gap", "the high flows have 12 MB each: with 3 MB they end after 0.6 ms, "+
			"when the low windows are still at two packets, and the gap is 23 µs, as in the "+
			"published run. Windows at the floor are paced over the base round trip, as there; "+
			"over the measured one it would be 53 µs")
		r.Claim("probe-gap", experiment.Seconds(r.Values("gap").Mean()))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{goodput(r.Pool, "Line-rate start and minimum rate", "target + 25 µs",
			"target + 5 µs")}
	},
}

const fig3dHigh = 12_000_000 // bytes

// overBase is the artifact's pacing of windows below a packet: over the base round trip, however
// long the measured one is.
type overBase struct{ cc.Factory }

// New implements cc.Factory.
func (o overBase) New(path cc.Path) (cc.Algorithm, error) {
	a, err := o.Factory.New(path)
	return &overBaseFlow{a, path}, err
}

type overBaseFlow struct {
	cc.Algorithm
	path cc.Path
}

// Start implements cc.Starter.
func (o *overBaseFlow) Start(now units.Time) cc.Decision {
	return o.Algorithm.(cc.Starter).Start(now)
}

// On implements cc.Algorithm.
func (o *overBaseFlow) On(ev *cc.Event, now units.Time) cc.Decision {
	d := o.Algorithm.On(ev, now)
	if d.Window < o.path.Payload {
		d.Rate = units.BitRate(8 * float64(d.Window) / o.path.BaseRTT.Seconds())
	}
	return d
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
