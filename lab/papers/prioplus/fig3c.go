package prioplus

import (
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// pacing is what happens to a waiting packet when the rate changes: our transport re-times it; the
// published simulator fixes its time when the packet before leaves.
type pacing struct{ KeepGaps bool }

const ours, published = "re-timed", "gaps kept"

// fig3c: many low Swift flows without target scaling, and a high one. The claims are judged with
// the published pacing, on which the figure depends; ours is beside it.
var fig3c = &experiment.Experiment{
	ID: "prioplus/fig3c",
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{{Name: ours, Params: pacing{}},
			{Name: published, Params: pacing{KeepGaps: true}}}
	},
	Run: func(j *experiment.Job) error {
		count := experiment.At(j.Scale, 300, 100)
		// One packet at the start: the published run begins with a queue of 300 packets, not of 300
		// BDP.
		low, err := swift(5*units.Microsecond, false, start(1))
		if err != nil {
			return err
		}
		high, err := swift(15*units.Microsecond, false, start(bdp))
		if err != nil {
			return err
		}
		flows := []sim.Flow{{Start: 2 * units.Millisecond, Bytes: 10_000_000, Control: high}}
		for range count {
			flows = append(flows, sim.Flow{Bytes: 300_000, Control: low})
		}
		config := micro(j.Seed, experiment.At(j.Scale, 10*units.Millisecond, 4*units.Millisecond))
		config.KeepGaps = j.Params.(pacing).KeepGaps
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		us := units.Microsecond
		j.Value("util", group(r.Traces[1:], 300*us, 2000*us)/config.Capacity())
		const target = 62_500 // bytes: 5 µs at 100 Gb/s
		from, to := units.Time(300*us), units.Time(2000*us)
		j.Value("p5", r.Queues[0].Length.Percentile(5, from, to)/target)
		j.Value("p95", r.Queues[0].Length.Percentile(95, from, to)/target)
		j.Value("high", group(r.Traces[:1], 2100*us, 3000*us)/group(r.Traces, 2100*us, 3000*us))
		keep(j, "high", r.Traces[:1])
		keep(j, "low", r.Traces[1:])
		j.Means("queue", r.Queues[0].Length, 10*us, config.Until)
		return nil
	},
	Judge: func(r *experiment.Results) {
		us, theirs := r.Cell(ours), r.Cell(published)
		swing := func(c experiment.Pool) float64 {
			return c.Values("p95").Mean() - c.Values("p5").Mean()
		}
		const cause = "judged with the published simulator's rule: the time of a waiting packet " +
			"is fixed when the packet before leaves, so that each cut takes effect a " +
			"packet's gap later. Our transport re-times the packet when the rate changes; " +
			"with that rule "
		if r.Scale == experiment.Full {
			r.Claim("under-utilised", theirs.Values("util").Mean())
			r.Note("under-utilised", cause+"alone, %.3f", us.Values("util").Mean())
		}
		r.Claim("fluctuation", claims.Number(swing(theirs)))
		r.Note("fluctuation", cause+"alone, %.2f", swing(us))
		if r.Scale == experiment.Small {
			r.Note("fluctuation", "of 100 flows the windows are above a packet, so that nothing "+
				"is paced: %.2f with either pacing", swing(us))
		}
		r.Claim("high-decelerates", theirs.Values("high").Mean())
		r.Note("high-decelerates", cause+"alone, %.3f", us.Values("high").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		queue := figure.Steps("queue", "Queue under many Swift flows without target scaling",
			"time (ms)", "queue (KB)")
		for _, c := range []string{ours, published} {
			r.Cell(c).Seeds()[0].Series("queue").Scaled(1e3, 1e-3).Draw(queue, c)
		}
		return []figure.Figure{goodput(r.Cell(published), "Swift without target scaling", "high",
			"low"), queue}
	},
}
