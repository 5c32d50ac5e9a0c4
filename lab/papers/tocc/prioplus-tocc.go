package tocc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// channelRun is classes of flows that begin one after the other, the lowest priority first, each at
// a step. Their channels are on the delay of tokens, or of data as in PrioPlus.
type channelRun struct {
	Tokens     bool
	Priorities []int
	Flows      int // of each
}

func (c channelRun) name() string {
	return fmt.Sprintf("%s, %d priorities",
		map[bool]string{true: "tokens", false: "data"}[c.Tokens], len(c.Priorities))
}

const channelStep = 4 * units.Millisecond

// channelBase is the base RTT of PrioPlus's micro-benchmark.
const channelBase = 12180 * units.Nanosecond

// prioPlusToCC: channels of virtual priorities on the delay of tokens in the queue that is limited
// to their share.
var prioPlusToCC = &experiment.Experiment{
	ID: "beyond/prioplus-tocc",
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		runs := []channelRun{{true, []int{2, 5}, 10}, {false, []int{2, 5}, 10}}
		if s == experiment.Full {
			runs = append(runs, channelRun{true, []int{1, 2, 3, 4, 5, 6, 7, 8}, 30})
		}
		for _, c := range runs {
			out = append(out, experiment.Cell{Name: c.name(), Params: c})
		}
		return out
	},
	Run: func(j *experiment.Job) error { return j.Params.(channelRun).simulate(j) },
	Judge: func(r *experiment.Results) {
		two, data := r.Cell(channelRun{true, []int{2, 5}, 10}.name()),
			r.Cell(channelRun{false, []int{2, 5}, 10}.name())
		r.Claim("strict", r.Cell(two.Name).Values("share").Min())
		if r.Scale == experiment.Full {
			util := r.Cell(channelRun{true, []int{1, 2, 3, 4, 5, 6, 7, 8},
				30}.name()).Values("util")
			r.Note("strict", "eight priorities of 30 flows are as strict, but a stopped flow "+
				"probes with tokens, and each takes the place of one that releases a packet: the "+
				"link's use falls from %.2f with 30 stopped flows to %.2f with 210", util[0],
				util[6])
		}
		r.Claim("data-queue", two.Values("queue").Mean()/data.Values("queue").Mean())
		r.Claim("probe-free", two.Values("moved").Max())
	},
	Figures: func(r *experiment.Results) (out []figure.Figure) {
		for i, c := range r.Cells() {
			first, params := c.Seeds()[0], c.Params.(channelRun)
			p := figure.Lines(fmt.Sprintf("goodput-%d", i+1),
				"Classes that begin one after the other, channels on the delay of "+c.Name,
				"time (ms)", "goodput (Gb/s)")
			for _, priority := range params.Priorities {
				first.Series(fmt.Sprintf("priority %d", priority)).Scaled(1e3, 1e-9).Draw(p,
					fmt.Sprintf("priority %d", priority))
			}
			out = append(out, p)
		}
		return append(out, queueFigure(r, "queue", "Queue of data at the bottleneck", "queue"))
	},
}

func (c channelRun) simulate(j *experiment.Job) error {
	rate := experiment.At(j.Scale, 100*units.Gbps, 10*units.Gbps)
	until := units.Duration(len(c.Priorities)) * channelStep
	config := sim.Bottleneck{
		Seed: j.Seed, Jitter: units.Microsecond, Rate: rate, PathMTU: payload,
		Chunk: 16 * units.MiB, Until: until, Interval: 50 * units.Microsecond,
		Place: func(i int) (int, int) { return i, i }, Tokens: tokens,
	}
	config.Delay = linkDelay(rate, channelBase)
	path := cc.Path{LineRate: rate, BaseRTT: channelBase, Payload: payload}
	spec, err := tocc.Parse("unsch=0B,k=1pkt,cc=none")
	if err != nil {
		return err
	}
	if config.Switch, err = tokenSwitch(spec, path, tokenMarking{}, 0); err != nil {
		return err
	}
	open, err := cc.Parse("fixed:window=1GB")
	if err != nil {
		return err
	}
	var flows []sim.Flow
	for i, priority := range c.Priorities {
		control, err := channel(priority, experiment.At(j.Scale, "0.0012BDP", "0.15"))
		if err != nil {
			return err
		}
		f := sim.Flow{Start: units.Duration(i) * channelStep, Control: control}
		if c.Tokens {
			f.Control, f.Admission = open, spec.WithTokenCC(control)
		}
		flows = append(flows, sim.Many(c.Flows, f)...)
	}
	r, err := config.Run(j.Context(), flows)
	if err != nil {
		return err
	}
	all := utilisation(config, r.Traces, bin, 0, until)
	for i, priority := range c.Priorities {
		class := utilisation(config, r.Traces[i*c.Flows:(i+1)*c.Flows], bin, 0, until)
		s := j.Series(fmt.Sprintf("priority %d", priority))
		for k, v := range class {
			s.Add((units.Duration(k) * bin).Seconds(), v*config.Capacity())
		}
		if i == 0 {
			continue
		}
		// From a millisecond after its start until the next class begins.
		from, to := (units.Duration(i)*channelStep+units.Millisecond)/bin,
			units.Duration(i+1)*channelStep/bin
		j.Value("share", class[from:to].Mean()/all[from:to].Mean())
		j.Value("util", all[from:to].Mean())
	}
	from, to := units.Time(until-channelStep+units.Millisecond), units.Time(until)
	moved := 0.
	for _, f := range r.Traces[:len(r.Traces)-c.Flows] {
		moved += f.Goodput.Mean(from, to) / 8 * to.Sub(from).Seconds()
	}
	j.Value("moved", moved)
	j.Value("queue", r.Queues[0].Length.Percentile(99, from, to))
	j.Means("queue", r.Queues[0].Length, bin/2, until)
	j.Means("tokens", r.Queues[1].Length, bin/2, until)
	return nil
}

// channel returns PrioPlus around Swift, as in PrioPlus's micro-benchmark. Priorities are from 1.
func channel(priority int, ai string) (cc.Factory, error) {
	channels, err := prioplus.ParseChannels("n=8,high=0,low=1,direct=0")
	if err != nil {
		return nil, err
	}
	inner, err := cc.Parse("swift:ai=" + ai + ",beta=0.8,max_mdf=0.5,gate_by_delay=true")
	if err != nil {
		return nil, err
	}
	spec := prioplus.Spec{Inner: inner, Channels: channels, Priority: priority - 1}
	return spec, spec.Check()
}
