package fabriclab

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// incastCell is a number of senders and how the network and the endpoints treat losses.
type incastCell struct {
	Senders             int
	Lossless, Selective bool
}

func (c incastCell) name() string {
	how := "lossy go-back-N"
	if c.Lossless {
		how = "lossless"
	} else if c.Selective {
		how = "lossy selective repeat"
	}
	return fmt.Sprintf("N=%d %s", c.Senders, how)
}

func incastSenders(s experiment.Scale) []int {
	return experiment.At(s, []int{8, 16, 32, 64}, []int{8, 16})
}

// incast: senders of a megabyte each, all at once, at line rate.
var incast = &experiment.Experiment{
	ID: "fabric/incast",
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, n := range incastSenders(s) {
			for _, c := range []incastCell{{n, true, false}, {n, false, false}, {n, false, true}} {
				cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
			}
		}
		return cells
	},
	Run: runIncast,
	Judge: func(r *experiment.Results) {
		goodput, repeated, mean, tail := claims.Value{}, 0.0, 0.0, 0.0
		for _, n := range incastSenders(r.Scale) {
			pfc := r.Cell(incastCell{n, true, false}.name())
			goodput = goodput.With(fmt.Sprintf("N=%d", n),
				claims.Number(pfc.Values("goodput").Min()))
			repeated += pfc.Values("dropped").Sum() + pfc.Values("retransmitted").Sum()
			back, selective := r.Cell(incastCell{n, false, false}.name()),
				r.Cell(incastCell{n, false, true}.name())
			mean = max(mean, selective.Values("fct").Mean()/back.Values("fct").Mean())
			tail = max(tail, selective.Values("fct").Max()/back.Values("fct").Max())
		}
		r.Claim("goodput", goodput)
		r.Claim("lossless", repeated)
		r.Claim("recovery", mean)
		r.Claim("tail", tail)
		r.Note("recovery", "without congestion control go-back-N gives the link to whoever has "+
			"lost nothing yet: the messages end one after the other, and their mean is little "+
			"more than half of the last; with at most one bandwidth-delay product each in flight "+
			"all get the same share, and end together. The last ends sooner with selective "+
			"repeat (claim tail), and none fails")
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		fct := figure.CDF("fct", "Completion of the senders' messages", "time (ms)")
		queue := figure.Steps("queue", "Queue of the receiver's link", "time (ms)", "queue (MB)")
		for _, c := range r.Cells() {
			fct.Samples(c.Name, c.Values("fct").Scaled(1e3))
			q := c.Seeds()[0].Series("queue").Scaled(1e3, 1e-6)
			queue.Add(c.Name, q.X, q.Y)
		}
		return []figure.Figure{fct, queue}
	},
}

// megabyte is what each sender has.
const megabyte units.Bytes = 1_000_000

func runIncast(j *experiment.Job) error {
	c := j.Params.(incastCell)
	link := fabric.Link{Rate: 100 * gbps, Delay: units.Microsecond}
	var qs fabric.Queues
	sw := fabric.SwitchConfig{Buffer: 2 * units.MiB}
	if c.Lossless {
		qs[0] = fabric.Queue{Lossless: true, Alpha: 0.25, Resume: 8 * units.KiB,
			Headroom: fabric.Headroom(link.Rate, link.Delay, link.Delay, 4158+16, 480)}
		sw = fabric.SwitchConfig{Buffer: 32 * units.MiB, Queues: qs.At()}
	}
	net := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: j.Seed}, Switch: sw}, c.Senders+1,
		link)
	// 524 µs
	config := sim.Scenario{Topology: sim.On(net), Seed: j.Seed,
		Hosts:  sim.Hosts{PathMTU: 4 * units.KiB, Chunk: megabyte, Timeout: 7},
		Scheme: sim.Scheme{Selective: c.Selective}}
	if c.Lossless {
		config.Hosts.Timeout = 10 // 4.2 ms: longer than a full buffer takes
	}
	if err := net.Build(); err != nil {
		return err
	}
	if c.Selective { // IRN sections 3.1, 3.2, and 4.1 for the timeouts
		rtt := net.BaseRTT(0, c.Senders, 4096+58, 62)
		config.Scheme.Recovery = sim.Recovery{RTOLow: 100 * units.Microsecond,
			RTOHigh: 320 * units.Microsecond, MaxInFlight: link.Rate.Bytes(rtt)}
	}
	cl, err := sim.New(config)
	if err != nil {
		return err
	}
	for i := range c.Senders { // neighbours get to know each other
		if err := cl.Warm(i, c.Senders); err != nil {
			return err
		}
	}
	if err := net.Run(units.Time(100 * units.Microsecond)); err != nil {
		return err
	}
	out := net.Switches()[0].Ports()[c.Senders]
	start := net.Now()
	queue := net.Sample(10*units.Microsecond, func() float64 { return float64(out.QueueLen(0)) })
	traffic, err := workload.Incast{Hosts: c.Senders + 1, Receiver: c.Senders,
		Sizes: workload.Fixed(megabyte), Rounds: 1}.Source()
	if err != nil {
		return err
	}
	var last units.Time
	cl.Drive(traffic, func(f *sim.Transfer) {
		last = f.Done
		j.Value("fct", f.Done.Sub(start).Seconds())
	})
	net.Every(10*units.Microsecond, func(units.Time) bool {
		j.Progress(1 - float64(cl.Running())/float64(c.Senders))
		if cl.Running() == 0 || j.Context().Err() != nil {
			net.Stop()
		}
		return true
	})
	if err := net.Run(start.Add(units.Second)); !errors.Is(err, fabric.ErrStopped) {
		return fmt.Errorf("%d of %d messages did not end: %w", cl.Running(), c.Senders, err)
	}
	for range cl.Errors {
		j.Value("fct", math.Inf(1))
	}
	j.Value("failed", float64(len(cl.Errors)))
	payloadCap := float64(link.Rate) * 4096 / (4096 + 58 + outside)
	j.Value("goodput", float64(c.Senders)*8*float64(megabyte)/last.Sub(start).Seconds()/payloadCap)
	j.Value("dropped", float64(out.QueueStats(0).Dropped))
	retransmitted := uint64(0)
	for _, n := range cl.Nodes {
		retransmitted += n.Endpoint.Stats().Retransmitted
	}
	j.Value("retransmitted", float64(retransmitted))
	for i, at := range queue.Times {
		j.Series("queue").Add(at.Sub(start).Seconds(), queue.Values[i])
	}
	return nil
}
