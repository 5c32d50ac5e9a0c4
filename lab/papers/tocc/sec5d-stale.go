package tocc

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// sec5dStale: the first sender, which two receivers grant tokens, cannot send for 500 µs. Seven
// others use what is granted.
var sec5dStale = &experiment.Experiment{
	ID: "tocc/sec5d-stale",
	Cells: func(experiment.Scale) []experiment.Cell {
		return []experiment.Cell{
			{Name: "ageing", Params: twoPackets + ",unsch=0B,cc=none"},
			{Name: "hoarding", Params: twoPackets + ",unsch=0B,cc=none,age=0s,realtime=off"},
		}
	},
	Run: func(j *experiment.Job) error {
		spec, err := tocc.Parse(j.Params.(string))
		if err != nil {
			return err
		}
		const pause, resume = units.Millisecond, 1500 * units.Microsecond
		config := eightToOne(j, 50*units.Millisecond)
		config.Rate = 100 * units.Gbps
		config.Interval, config.Tokens = 10*units.Microsecond, tokens
		config.Delay = linkDelay(config.Rate, baseRTT)
		config.Prepare = func(s *sim.Simulation) {
			net, zero := s.Net, s.Zero()
			port := net.Host(0).NIC().Ports()[0].Peer()
			net.At(zero.Add(pause), func() { port.Storm(0, true) })
			net.At(zero.Add(resume), func() { port.Storm(0, false) })
		}
		if config.Switch, err = tokenSwitch(spec, pathOf(config), tokenMarking{}, 0); err != nil {
			return err
		}
		// Each of two receivers grants tokens to the first sender and to every other one of the
		// rest.
		flows, _, err := tokenFlows(spec, false)
		if err != nil {
			return err
		}
		flows = append(flows, flows[0])
		config.Place = func(i int) (int, int) {
			if i == pairs {
				return 0, 1
			}
			return i, i % 2
		}
		for i := range flows {
			flows[i].Bytes = experiment.At[units.Bytes](j.Scale, 10_000_000, 5_000_000)
		}
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		burst, bdp := units.Bytes(0), config.Rate.Bytes(baseRTT)
		for _, i := range []int{0, pairs} {
			for _, at := range r.Traces[i].Sent {
				if at.After(units.Time(resume)) && !at.After(units.Time(resume+baseRTT)) {
					burst += packet
				}
			}
		}
		done, all := units.Bytes(0), units.Bytes(0)
		for _, f := range r.Traces {
			done += min(f.Acked, f.Bytes)
			all += f.Bytes
		}
		j.Value("burst", float64(burst)/float64(bdp))
		j.Value("delivered", float64(done)/float64(all))
		j.Value("before", r.Queues[0].Length.Max(units.Time(500*units.Microsecond),
			units.Time(pause)))
		j.Value("peak", r.Queues[0].Length.Max(units.Time(resume),
			units.Time(resume+100*units.Microsecond)))
		j.Means("queue", r.Queues[0].Length, 2*units.Microsecond, 2*units.Millisecond)
		return nil
	},
	Judge: func(r *experiment.Results) {
		aged, hoarded := r.Cell("ageing"), r.Cell("hoarding")
		r.Claim("burst-bounded", aged.Values("burst").Max())
		r.Claim("recovers", aged.Values("delivered").Min())
		r.Claim("queue", hoarded.Values("peak").Mean()/max(aged.Values("peak").Mean(),
			float64(packet)))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{queueFigure(r, "queue",
			"Queue of data when a sender goes on after 500 µs", "queue")}
	},
}
