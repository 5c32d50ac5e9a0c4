package tocc

import (
	"fmt"
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

// unequal is flows of Web Server between eight pairs of hosts through one link. The round trip of
// every other pair is ten times that of the others.
type unequal struct {
	Spec  string // of package tocc
	Rate  units.BitRate
	RTT   units.Duration
	Flows int
}

// unequalPair returns flows without token CC and with it.
func unequalPair(s experiment.Scale, rtt units.Duration) (without, with unequal) {
	with = unequal{twoPackets + "," + dcqcnSet(1).onTokens(),
		experiment.At(s, 100*units.Gbps, 10*units.Gbps), rtt, experiment.At(s, 20_000, 500)}
	without = with
	without.Spec = twoPackets + ",cc=none"
	return without, with
}

func (u unequal) name() string {
	name := "with token CC"
	if u.Spec == twoPackets+",cc=none" {
		name = "without token CC"
	}
	if u.RTT != baseRTT {
		name += fmt.Sprintf(", RTT %v", u.RTT)
	}
	return name
}

// fig3d: data released by tokens of unequal round trips collides, with token CC and without.
var fig3d = &experiment.Experiment{
	ID: "tocc/fig3d",
	Cells: func(s experiment.Scale) (out []experiment.Cell) {
		for _, rtt := range []units.Duration{baseRTT, longRTT} {
			without, with := unequalPair(s, rtt)
			out = append(out, experiment.Cell{Name: without.name(), Params: without},
				experiment.Cell{Name: with.name(), Params: with})
		}
		return out
	},
	Run: func(j *experiment.Job) error { return j.Params.(unequal).simulate(j) },
	Judge: func(r *experiment.Results) {
		gain := func(rtt units.Duration, what string) float64 {
			without, with := unequalPair(r.Scale, rtt)
			return r.Cell(without.name()).Values(what).Mean() /
				r.Cell(with.name()).Values(what).Mean()
		}
		r.Claim("small-flows", gain(baseRTT, "small slowdown"))
		r.Note("small-flows", "with round trips of 65 and 650 µs %.2f: there nearly all of Web "+
			"Server's flows are shorter than a BDP and need no token. Random delays of tokens in "+
			"a leaf-spine network are left out", gain(longRTT, "small slowdown"))
		r.Claim("queue", gain(baseRTT, "mean queue"))
		without, with := unequalPair(r.Scale, baseRTT)
		least, most := math.Inf(1), 0.0
		for i, before := range r.Cell(without.name()).Values("mean queue") {
			now := before / r.Cell(with.name()).Values("mean queue")[i]
			least, most = min(least, now), max(most, now)
		}
		r.Note("queue", "%.3f to %.3f by seed. With round trips of 65 and 650 µs %.2f: there "+
			"nearly all of Web Server's flows are shorter than a BDP and need no token",
			least, most, gain(longRTT, "mean queue"))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		slowdown := figure.Bars("slowdown",
			"Slowdown of flows below 100 KB; other pairs have ten times the round trip",
			"slowdown", "mean", "p99")
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
	switches, err := tokenSwitch(spec, cc.Path{LineRate: u.Rate, BaseRTT: u.RTT,
		Payload: payload}, tokenMarking{}, 0)
	if err != nil {
		return err
	}
	open, err := cc.Parse("fixed:window=1GB")
	if err != nil {
		return err
	}
	delay := linkDelay(u.Rate, u.RTT)
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
		return u.net(p, delay)
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

// net returns two switches with a link between them. Every other sender is far away.
func (u unequal) net(p fabric.Parts, delay units.Duration) *fabric.Network {
	net := fabric.New(p.Config)
	near, far := net.AddSwitch("senders", p.Switch), net.AddSwitch("receivers", p.Switch)
	for i := range pairs {
		link := fabric.Link{Rate: u.Rate, Delay: delay}
		if i%2 == 1 {
			link.Delay += 9 * u.RTT / 2
		}
		net.Connect(p.AddHost(net), near, link)
	}
	net.Connect(near, far, fabric.Link{Rate: u.Rate, Delay: delay})
	for range pairs {
		net.Connect(p.AddHost(net), far, fabric.Link{Rate: u.Rate, Delay: delay})
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
