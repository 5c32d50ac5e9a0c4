package prioplus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig9: four flows with a W_AI five times too large, priority 6: D_target 37 µs and D_limit 39.4
// µs.
var fig9 = &experiment.Experiment{
	ID: "prioplus/fig9",
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{{Name: "swift"}, {Name: "prioplus"}}
	},
	Run: func(j *experiment.Job) error {
		const (
			ai    = 0.75 // packets
			above = 24 * units.Microsecond
			limit = above + 2400*units.Nanosecond
		)
		control, err := plain(above, ai)
		if j.Name == "prioplus" {
			control, err = virtual(testbedTable, 6, ai)
		}
		if err != nil {
			return err
		}
		config := testbed(j.Seed, experiment.At(j.Scale, 20*units.Millisecond,
			10*units.Millisecond))
		base := units.Duration(0)
		samples, beyond := 0, 0
		estimates := make([]float64, 4)
		flows := sim.Many(4, sim.Flow{Control: control})
		for i := range flows {
			delays := j.Series("delay") // of the first flow
			flows[i].OnEvent = func(ev *cc.Event, a cc.Algorithm, at units.Duration) {
				delay, ok := ev.FabricDelay()
				if !ok || ev.Probe || ev.Packets == 0 {
					return
				}
				if i == 0 {
					delays.Add(at.Seconds(), delay.Seconds())
				}
				if at > 2*units.Millisecond {
					samples++
					if delay > base+limit {
						beyond++
					}
				}
				estimates[i] = a.(cc.Observable).Snapshot().Channel.Flows
			}
		}
		base = config.BaseRTT()
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		j.Value("beyond", float64(beyond)/float64(samples))
		j.Value("flows", estimates...)
		j.Value("util", binsOf(config.Interval, r.Traces).mean(2*units.Millisecond,
			r.End)/config.Capacity())
		return nil
	},
	Judge: func(r *experiment.Results) {
		swift, prioplus := r.Cell("swift"), r.Cell("prioplus")
		r.Claim("tamed", prioplus.Values("beyond").Mean())
		if r.Scale == experiment.Small {
			r.Note("tamed", "the flows stop and estimate until 5 ms, and are below 1 %% after "+
				"that: runs of 20 ms show it, runs of 10 ms do not")
		}
		r.Claim("swift-overshoots",
			swift.Values("beyond").Mean()/(prioplus.Values("beyond").Mean()+0.001))
		r.Claim("estimate", prioplus.Values("flows").Percentile(50))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("delay", "Delay of one of four flows, W_AI 0.75 packets, D_target 37 "+
			"µs, D_limit 39.4 µs", "time (ms)", "delay (µs)")
		r.Curves(p, "delay", 1e3, 1e6)
		return []figure.Figure{p}
	},
}
