package tocc

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/bottleneck"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/figure"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// unequal is flows of Web Server between eight pairs of hosts through one link, of which every
// other pair is ten times as far apart as the others.
type unequal struct {
	Spec  string // of package tocc
	Rate  units.BitRate
	Flows int
}

// farAway is the base RTT of those.
const farAway = 10 * baseRTT

// fig3d: tokens of unequal round trips let data go that meets, with token CC and without.
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
			"tokens that are held up at random, in a leaf-spine network, are left out")
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
	delay := (baseRTT - u.Rate.Duration(3*(packet+4+bottleneck.Overhead))) / 6
	net := fabric.New(fabric.Config{Seed: j.Seed})
	host := fabric.HostConfig{RxDelay: units.Nanosecond}
	near, far := net.AddSwitch("senders", *switches), net.AddSwitch("receivers", *switches)
	for i := range pairs {
		link := fabric.Link{Rate: u.Rate, Delay: delay}
		if i%2 == 1 {
			link.Delay += (farAway - baseRTT) / 2
		}
		net.Connect(net.AddHost(host), near, link)
	}
	net.Connect(near, far, fabric.Link{Rate: u.Rate, Delay: delay})
	for range pairs {
		net.Connect(net.AddHost(host), far, fabric.Link{Rate: u.Rate, Delay: delay})
	}
	cl, err := cluster.New(net, cluster.Config{
		Seed: j.Seed, PathMTU: payload, Selective: true, Timeout: 12,
		Serve: func(workload.Flow) cluster.Service {
			return cluster.Service{Control: open, Admit: admit(spec), AnswerClass: answerClass}
		},
	})
	if err != nil {
		return err
	}
	if err := cl.Introduce(); err != nil {
		return err
	}
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
	begin, queue := net.Now(), near.Ports()[pairs].RecordQueue(0)
	j.Value("small slowdown")
	err = drive(j, net, cl, opposite{traffic}, span, func(f *cluster.Running) {
		slowdown := float64(f.Done.Sub(begin.Add(units.Duration(f.At)))) / float64(cl.Ideal(f.Flow))
		if f.Bytes < 100_000 {
			j.Value("small slowdown", slowdown)
		}
		j.Value("slowdown", slowdown)
	})
	if err != nil {
		return err
	}
	j.Value("mean queue", queue.Mean(begin, begin.Add(span)))
	j.Value("p99 queue", queue.Percentile(99, begin, begin.Add(span)))
	return nil
}

// drive runs until all flows of a source have ended, which come for about a span.
func drive(j *experiment.Job, net *fabric.Network, cl *cluster.Cluster, source workload.Source,
	span units.Duration, done func(*cluster.Running)) error {
	begin := net.Now()
	cl.Drive(source, done)
	net.Every(20*units.Microsecond, func(now units.Time) bool {
		j.Progress(math.Min(0.9, 0.5*float64(now.Sub(begin))/float64(span)))
		if j.Context().Err() != nil || len(cl.Errors) > 0 || now.Sub(begin) > span &&
			cl.Running() == 0 {
			net.Stop()
		}
		return true
	})
	if err := net.Run(begin.Add(100*span + units.Second)); err != nil && !errors.Is(err,
		fabric.ErrStopped) {
		return err
	}
	switch {
	case j.Context().Err() != nil:
		return j.Context().Err()
	case len(cl.Errors) > 0:
		return fmt.Errorf("%d flows failed, the first: %w", len(cl.Errors), cl.Errors[0])
	case cl.Running() > 0:
		return fmt.Errorf("%d flows have not ended after %v", cl.Running(), net.Now().Sub(begin))
	}
	return nil
}

// opposite has each host send to the one opposite it.
type opposite struct{ workload.Source }

// Next implements workload.Source.
func (o opposite) Next() (workload.Flow, bool) {
	f, ok := o.Source.Next()
	f.Dst = f.Src + pairs
	return f, ok
}

// admit has receivers that share nothing.
func admit(spec tocc.Spec) func(from, to, n int, path cc.Path) (cc.Gate, cc.Granter, error) {
	return func(_, _, _ int, path cc.Path) (cc.Gate, cc.Granter, error) { return spec.New(path) }
}
