package fabriclab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// sharingCell is a distribution of flow sizes and a load of the link.
type sharingCell struct {
	sizes string
	load  float64
}

func (c sharingCell) String() string { return fmt.Sprintf("%s rho=%g", c.sizes, c.load) }

// sharingSizes returns a distribution of flow sizes, all of whole packets: one size, or two with a
// squared coefficient of variation of 2.
func sharingSizes(name string) (*workload.Sizes, error) {
	if name == "one size" {
		return workload.Fixed(128 * units.KiB), nil
	}
	return workload.ParseSizes(strings.NewReader("64KiB 0.9\n640KiB 1"), workload.Step)
}

// sharing: flows that share a link have the mean slowdown of processor sharing, which depends on
// the load and not on the distribution of their sizes.
var sharing = &experiment.Experiment{
	ID: "fabric/mg1ps",
	Cells: func(s experiment.Scale) (cells []experiment.Cell) {
		for _, sizes := range []string{"one size", "two sizes"} {
			for _, load := range experiment.At(s, []float64{0.3, 0.5, 0.7}, []float64{0.3, 0.5}) {
				c := sharingCell{sizes, load}
				cells = append(cells, experiment.Cell{Name: c.String(), Params: c})
			}
		}
		return cells
	},
	Run: runSharing,
	Judge: func(r *experiment.Results) {
		exact, formula := 0.0, 0.0
		for _, c := range r.Cells() {
			mean := c.Values("slowdown").Mean()
			exact = max(exact, math.Abs(mean/c.Values("exact").Mean()-1))
			formula = max(formula, math.Abs(mean/sharingFormula(c)-1))
		}
		r.Claim("exact", exact)
		if r.Scale == experiment.Full {
			r.Claim("formula", formula)
		}
	},
	Figures: drawSharing,
}

// sharingFormula returns the mean slowdown of M/G/1 processor sharing at the load that was drawn.
func sharingFormula(c experiment.Pool) float64 { return 1 / (1 - c.Values("load").Mean()) }

func drawSharing(r *experiment.Results) []figure.Figure {
	plot := figure.Lines("slowdown", "Mean slowdown of flows that share a link", "load", "slowdown")
	for _, sizes := range []string{"one size", "two sizes"} {
		var load, formula, measured []float64
		for _, c := range r.Cells() {
			if c.Params.(sharingCell).sizes == sizes {
				load = append(load, c.Values("load").Mean())
				formula = append(formula, sharingFormula(c))
				measured = append(measured, c.Values("slowdown").Mean())
			}
		}
		plot.Add(sizes+", formula", load, formula).Add(sizes+", measured", load, measured)
	}
	return []figure.Figure{plot}
}

// runSharing records the slowdown of each flow from one host to another: its time beyond the round
// trip, relative to what its packets take on the link. A window of little more than the round trip
// makes the flows take turns, packet by packet.
func runSharing(j *experiment.Job) error {
	c := j.Params.(sharingCell)
	sizes, err := sharingSizes(c.sizes)
	if err != nil {
		return err
	}
	const mtu = units.KiB
	span := experiment.At(j.Scale, units.Second, 50*units.Millisecond)
	link := fabric.Link{Rate: 100 * gbps, Delay: 10 * units.Nanosecond}
	r, err := sim.Scenario{
		Topology: sim.Custom(func(p fabric.Parts) *fabric.Network {
			n := fabric.New(p.Config)
			n.Connect(n.AddHost(p.Host), n.AddHost(p.Host), link)
			return n
		}),
		Hosts:  sim.Hosts{PathMTU: mtu, Timeout: 14},
		Scheme: sim.Scheme{Algorithm: func() cc.Algorithm { return &cc.Fixed{Window: 3 * mtu} }},
		Workload: sim.Workload{
			Traffic: func(s *sim.Simulation) (workload.Source, error) {
				// both hosts' flows, sent by the first: half the load of each
				all, err := sim.Load(sizes, c.load/2, span)(s)
				return oneWay{all}, err
			},
			Span: span,
		},
		Probes: sim.Probes{Progress: func(at units.Duration) {
			j.Progress(math.Min(0.95, float64(at)/float64(span)))
		}},
		Seed: j.Seed, Until: 2 * span, Step: 100 * units.Microsecond,
	}.Run(j.Context())
	if err != nil {
		return err
	}
	if err := r.Complete(); err != nil {
		return err
	}
	base := r.Simulation.BaseRTT(0, 1)
	jobs := make([]sharedJob, len(r.Flows))
	busy := 0.0
	for i, f := range r.Flows {
		packets := (f.Bytes + mtu - 1) / mtu
		service := link.Rate.Duration(f.Bytes + packets*sim.Overhead).Seconds()
		busy += service
		jobs[i] = sharedJob{at: f.At.Sub(0).Seconds(), service: service}
		j.Value("slowdown", (f.FCT()-base).Seconds()/service)
	}
	j.Value("load", busy/span.Seconds())
	j.Value("exact", processorSharing(jobs)...)
	return nil
}

// sharedJob is a job of a server that all of its jobs share equally, in seconds.
type sharedJob struct{ at, service float64 }

// processorSharing returns the slowdowns of jobs at one server, in the order of their ends.
func processorSharing(jobs []sharedJob) (slowdowns []float64) {
	slices.SortFunc(jobs, func(a, b sharedJob) int { return cmp.Compare(a.at, b.at) })
	type active struct {
		sharedJob
		left float64
	}
	var present []active
	now := 0.0
	for len(jobs) > 0 || len(present) > 0 {
		until := math.Inf(1)
		if len(jobs) > 0 {
			until = jobs[0].at
		}
		first, n := -1, float64(len(present))
		for i := range present {
			if end := now + present[i].left*n; end <= until {
				first, until = i, end
			}
		}
		for i := range present {
			present[i].left -= (until - now) / n
		}
		now = until
		if first < 0 {
			present = append(present, active{jobs[0], jobs[0].service})
			jobs = jobs[1:]
			continue
		}
		slowdowns = append(slowdowns, (now-present[first].at)/present[first].service)
		present = slices.Delete(present, first, first+1)
	}
	return slowdowns
}

// oneWay is traffic from host 0 to host 1.
type oneWay struct{ workload.Source }

// Next implements workload.Source.
func (s oneWay) Next() (workload.Flow, bool) {
	f, ok := s.Source.Next()
	f.Src, f.Dst = 0, 1
	return f, ok
}
