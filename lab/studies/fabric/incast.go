package fabriclab

import (
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
		r.Distributions(fct, "fct", 1e3)
		r.Curves(queue, "queue", 1e3, 1e-6)
		return []figure.Figure{fct, queue}
	},
}

// megabyte is what each sender has.
const megabyte units.Bytes = 1_000_000

// scenario returns what a run depends on.
func (c incastCell) scenario(seed uint64) (sim.Scenario, error) {
	link := fabric.Link{Rate: 100 * gbps, Delay: units.Microsecond}
	s := sim.Scenario{
		Topology: sim.Star(c.Senders+1, link),
		// 524 µs
		Hosts:  sim.Hosts{PathMTU: 4 * units.KiB, Chunk: megabyte, Timeout: 7},
		Scheme: sim.Scheme{Selective: c.Selective},
		Workload: sim.Workload{
			Traffic: sim.From(workload.Incast{Hosts: c.Senders + 1, Receiver: c.Senders,
				Sizes: workload.Fixed(megabyte), Rounds: 1}),
			MayFail: true,
		},
		Seed: seed, Until: units.Second, Step: 10 * units.Microsecond,
	}
	s.Scheme.Switch.Buffer = 2 * units.MiB
	if c.Lossless {
		s.Hosts.Timeout = 10 // 4.2 ms: longer than a full buffer takes
		s.Scheme.Switch = fabric.SwitchConfig{Buffer: 32 * units.MiB, Queues: fabric.Queues{{
			Lossless: true, Alpha: 0.25, Resume: 8 * units.KiB,
			Headroom: fabric.Headroom(link.Rate, link.Delay, link.Delay, 4158+16, 480),
		}}.At()}
	}
	if c.Selective { // IRN sections 3.1, 3.2, and 4.1 for the timeouts
		rtt, err := s.BaseRTT(0, c.Senders)
		if err != nil {
			return s, err
		}
		s.Scheme.Recovery = sim.Recovery{RTOLow: 100 * units.Microsecond,
			RTOHigh: 320 * units.Microsecond, MaxInFlight: link.Rate.Bytes(rtt)}
	}
	return s, nil
}

func runIncast(j *experiment.Job) error {
	c := j.Params.(incastCell)
	s, err := c.scenario(j.Seed)
	if err != nil {
		return err
	}
	var out *fabric.Port
	var queue *fabric.Series
	s.Probes.Attach = func(s *sim.Simulation) {
		out = s.Net.Switches()[0].Ports()[c.Senders]
		queue = s.Net.Sample(10*units.Microsecond, func() float64 {
			return float64(out.QueueLen(0))
		})
	}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	if err := r.Complete(); err != nil {
		return err
	}
	var last units.Duration
	for _, f := range r.Flows {
		last = f.FCT()
		j.Value("fct", last.Seconds())
	}
	for range r.Failed {
		j.Value("fct", math.Inf(1))
	}
	j.Value("failed", float64(r.Failed))
	capacity := sim.Capacity(100*gbps, 4*units.KiB)
	j.Value("goodput", float64(c.Senders)*8*float64(megabyte)/last.Seconds()/capacity)
	j.Value("dropped", float64(out.QueueStats(0).Dropped))
	j.Value("retransmitted", float64(r.Totals.Retransmitted))
	j.Curve("queue", queue, r.Simulation.Zero())
	return nil
}
