package tocc

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// unequal is flows of Web Server between eight pairs of hosts through one link. The distance of
// every other pair is ten times that of the others.
type unequal struct {
	Spec  string // of package tocc
	Rate  units.BitRate
	Flows int
}

// farAway is the base RTT of the distant pairs.
const farAway = 10 * baseRTT

// fig3d: data released by tokens of unequal round trips collides, with token CC and without.
var fig3d = &experiment.Experiment{
	ID: "tocc/fig3d",
	Cells: func(s experiment.Scale) []experiment.Cell {
		u := unequal{Rate: experiment.At(s, 100*units.Gbps, 10*units.Gbps),
			Flows: experiment.At(s, 20_000, 500)}
		without, with := u, u
		without.Spec, with.Spec = twoPackets+",cc=none", twoPackets+","+dcqcnSet(1).onTokens()
		return []experiment.Cell{{Name: "without token CC", Params: without},
			{Name: "with token CC", Params: with}}
	},
	Run: func(j *experiment.Job) error { return j.Params.(unequal).simulate(j) },
	Judge: func(r *experiment.Results) {
		without, with := r.Cell("without token CC"), r.Cell("with token CC")
		r.Claim("small-flows",
			without.Values("small slowdown").Mean()/with.Values("small slowdown").Mean())
		r.Note("small-flows",
			"random delays of tokens in a leaf-spine network are left out")
		r.Claim("queue", without.Values("mean queue").Mean()/with.Values("mean queue").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		slowdown := figure.Bars("slowdown",
			"Slowdown of flows below 100 KB, round trips of 5.3 and 53 µs", "slowdown", "mean",
			"p99")
		queue := figure.Bars("queue", "Queue of data at the bottleneck", "queue (KB)", "mean",
			"p99")
		for _, c := range r.Cells() {
			v := c.Values("small slowdown")
			slowdown.Heights(c.Name, v.Mean(), v.Percentile(99))
			queue.Heights(c.Name, c.Values("mean queue").Mean()/1e3,
				c.Values("p99 queue").Mean()/1e3)
		}
		return []figure.Figure{slowdown, queue}
	},
}

func (u unequal) simulate(j *experiment.Job) error {
	spec, err := tocc.Parse(u.Spec)
	if err != nil {
		return err
	}
	switches, err := tokenSwitch(spec, cc.Path{LineRate: u.Rate, BaseRTT: baseRTT,
		Payload: payload}, 0, 0)
	if err != nil {
		return err
	}
	open, err := cc.Parse("fixed:window=1GB")
	if err != nil {
		return err
	}
	delay := (baseRTT - u.Rate.Duration(3*(packet+4+sim.Overhead))) / 6
	sizes, err := workload.ByName(webServer)
	if err != nil {
		return err
	}
	const load = 0.8
	capacity := float64(u.Rate) * sizes.Mean() / meanOnWire(sizes)
	span := units.Duration(float64(u.Flows) * sizes.Mean() * 8 / (load * capacity) *
		float64(units.Second))
	traffic, err := workload.Poisson{
		Hosts: pairs, Rate: units.BitRate(capacity / pairs), Load: load, Sizes: sizes,
		Until: units.Time(span), Seed: j.Seed,
	}.Source()
	if err != nil {
		return err
	}
	s := tokenScenario(j, span, opposite{traffic})
	s.Topology = sim.Custom(func(p fabric.Parts) *fabric.Network {
		return twoRTTs(p, u.Rate, delay)
	})
	s.Scheme.Switch = *switches
	s.Scheme.PerFlow = func(*sim.Simulation, workload.Flow) (sim.Service, error) {
		return sim.Service{Control: open, Admit: admit(spec), AnswerClass: answerClass}, nil
	}
	s.Probes.Queues = []sim.QueueProbe{{Port: pairs}}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	j.Value("small slowdown")
	for _, f := range r.Flows {
		if f.Bytes < 100_000 {
			j.Value("small slowdown", f.Slowdown())
		}
		j.Value("slowdown", f.Slowdown())
	}
	queue := r.Queues[0].Length
	j.Value("mean queue", queue.Mean(0, units.Time(span)))
	j.Value("p99 queue", queue.Percentile(99, 0, units.Time(span)))
	return r.Complete()
}

// twoRTTs returns two switches with a link between them. Every other sender is far away.
func twoRTTs(p fabric.Parts, rate units.BitRate, delay units.Duration) *fabric.Network {
	net := fabric.New(p.Config)
	near, far := net.AddSwitch("senders", p.Switch), net.AddSwitch("receivers", p.Switch)
	for i := range pairs {
		link := fabric.Link{Rate: rate, Delay: delay}
		if i%2 == 1 {
			link.Delay += (farAway - baseRTT) / 2
		}
		net.Connect(p.AddHost(net), near, link)
	}
	net.Connect(near, far, fabric.Link{Rate: rate, Delay: delay})
	for range pairs {
		net.Connect(p.AddHost(net), far, fabric.Link{Rate: rate, Delay: delay})
	}
	return net
}

// tokenScenario serves a source whose flows arrive for about a span, by selective repeat.
func tokenScenario(j *experiment.Job, span units.Duration, source workload.Source) sim.Scenario {
	return sim.Scenario{
		Hosts: sim.Hosts{Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, PathMTU: payload,
			Timeout: 12},
		Scheme: sim.Scheme{Selective: true},
		Workload: sim.Workload{Traffic: func(*sim.Simulation) (workload.Source, error) {
			return source, nil
		}, Span: span},
		Probes: sim.Probes{Progress: func(at units.Duration) {
			j.Progress(math.Min(0.9, 0.5*float64(at)/float64(span)))
		}},
		Seed: j.Seed, Until: 100*span + units.Second,
	}
}

// opposite has each host send to the one opposite it.
type opposite struct{ workload.Source }

// Next implements workload.Source.
func (o opposite) Next() (workload.Flow, bool) {
	f, ok := o.Source.Next()
	f.Dst = f.Src + pairs
	return f, ok
}

// admit gives flows receivers that share nothing.
func admit(spec tocc.Spec) sim.Admission {
	return func(_ sim.Pair, path cc.Path) (cc.Gate, cc.Granter, error) { return spec.New(path) }
}
