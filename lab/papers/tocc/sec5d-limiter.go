package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// limiterCell is a flow of scheduled packets through one link.
type limiterCell struct {
	K    units.Bytes
	Both bool
}

func (c limiterCell) name() string {
	return fmt.Sprintf("K=%d, %s", int64(c.K), map[bool]way{false: oneWay, true: bothWays}[c.Both])
}

// sec5dLimiter: the share of a link that tokens get, and the share that this leaves to data.
var sec5dLimiter = &experiment.Experiment{
	ID:    "tocc/sec5d-limiter",
	Seeds: func(experiment.Scale) int { return 1 }, // nothing is random
	Cells: func(experiment.Scale) (out []experiment.Cell) {
		for _, c := range []limiterCell{{1024, false}, {1024, true}, {2048, false}, {4096, false},
			{8192, false}} {
			out = append(out, experiment.Cell{Name: c.name(), Params: c})
		}
		return out
	},
	Run: func(j *experiment.Job) error {
		c := j.Params.(limiterCell)
		config := eightToOne(j, experiment.At(j.Scale, 5*units.Millisecond, units.Millisecond))
		config.Rate, config.Jitter, config.Place, config.Tokens = 100*units.Gbps, 0, nil, tokens
		// A BDP on the wire. The default window is as much payload; the difference, 4 packets,
		// would stay in the queue.
		window := pathOf(config).BDP() * payload / packet
		spec, err := tocc.Parse(fmt.Sprintf("unsch=0B,cc=none,k=%dB,window=%dB", int64(c.K),
			int64(window)))
		if err != nil {
			return err
		}
		config.Delay = (baseRTT - config.Rate.Duration(2*(packet+4+sim.Overhead))) / 4
		if config.Switch, err = tokenSwitch(spec, pathOf(config), tokenMarking{}, 0); err != nil {
			return err
		}
		open, err := cc.Parse("fixed:window=1GB")
		if err != nil {
			return err
		}
		flows := []sim.Flow{{Control: open, Admission: spec.Endpoint()}}
		if c.Both {
			flows = append(flows, sim.Flow{Back: true, Control: open, Admission: spec.Endpoint()})
		}
		r, err := config.Run(j.Context(), flows)
		if err != nil {
			return err
		}
		share, err := spec.Share(pathOf(config))
		if err != nil {
			return err
		}
		from, to := units.Time(200*units.Microsecond), units.Time(config.Until)
		j.Value("share", share)
		j.Value("goodput", r.Traces[0].Goodput.Mean(from, to)/config.Capacity())
		j.Value("queue", r.Queues[0].Length.Percentile(99, from, to)/float64(packet))
		j.Value("tokens", float64(granted(r, len(flows)))/float64(r.Traces[0].Acked))
		return nil
	},
	Judge: func(r *experiment.Results) {
		values := experiment.Keyed{}
		for _, f := range frames {
			values = values.With(f.name, math.Round(1e4*tocc.Limiter(f.token, f.data))/100)
		}
		r.Claim("values", values)
		one, both := r.Cell(limiterCell{1024, false}.name()), r.Cell(limiterCell{1024, true}.name())
		r.Claim("ceiling", one.Values("goodput").Mean()/(1-one.Values("share").Mean()))
		r.Claim("no-overrun", both.Values("queue").Mean())
		r.Claim("pps", r.Cell(limiterCell{8192, false}.name()).Values("tokens").Mean()/
			one.Values("tokens").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{
			Name: "limiter", Title: "One flow of scheduled packets through a link of 100 Gb/s",
			Header: []string{"run", "limiter (%)", "payload / what the link carries (%)",
				"p99 of the data queue (packets)", "tokens per MB"},
		}
		for _, c := range r.Cells() {
			t.Row(c.Name, math.Round(1e4*c.Values("share")[0])/100,
				math.Round(1e4*c.Values("goodput")[0])/100,
				math.Round(10*c.Values("queue")[0])/10, math.Round(1e6*c.Values("tokens")[0]))
		}
		return []figure.Figure{t}
	},
}

// frames of the paper, on the wire: Ethernet's (section II), and RoCE's in the testbed, where 86
// bytes are around the payload of each packet of 1 KB (section V-D), which is 1024 of them here.
var frames = []struct {
	name        string
	token, data units.Bytes
}{
	{"eth", 84, 1538}, {"k1", 94, 1024 + 86}, {"k2", 94, 2 * (1024 + 86)}, {"k4", 94,
		4 * (1024 + 86)}, {"k8", 94, 8 * (1024 + 86)},
}

// granted returns the number of TOKENs that left the first switch toward senders.
func granted(r *sim.Result, senders int) (frames uint64) {
	for _, p := range r.Simulation.Net.Switches()[0].Ports()[:senders] {
		frames += p.QueueStats(tokens).Frames
	}
	return frames
}
