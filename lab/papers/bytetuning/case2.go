package bytetuninglab

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// manyToOne is so many senders below one ToR switch with that α.
type manyToOne struct {
	Senders int
	Alpha   bytetuning.Alpha
}

func (m manyToOne) String() string { return fmt.Sprintf("α %v n=%d", m.Alpha, m.Senders) }

// case2Alphas are XOFF high and low: 1 and 1/16.
var case2Alphas = []bytetuning.Alpha{0, -4}

func case2Senders(s experiment.Scale) []int {
	return experiment.At(s, []int{8, 16, 24, 32, 40}, []int{8, 16})
}

// case2: bursts of many senders to one port of a ToR switch whose egress ports have a threshold,
// too: 8 times what is free, which is the α of SONiC's lossless egress profiles, and thus 8/9 of
// the buffer. PFC pauses before that only where senders are few or α is small.
var case2 = &experiment.Experiment{
	ID:    "bytetuning/case2",
	Seeds: oneSeed,
	Cells: func(s experiment.Scale) []experiment.Cell {
		var all []manyToOne
		for _, a := range case2Alphas {
			for _, n := range case2Senders(s) {
				all = append(all, manyToOne{n, a})
			}
		}
		return experiment.Sweep("%v", all...)
	},
	Run: runCase2,
	Judge: func(r *experiment.Results) {
		var lost, low float64 // with most senders
		var inOrder []float64
		for _, n := range case2Senders(r.Scale) {
			lost = r.Cell(manyToOne{n, 0}.String()).Values("lost")[0]
			low = r.Cell(manyToOne{n, -4}.String()).Values("lost")[0]
			inOrder = append(inOrder, lost)
		}
		r.Claim("loss-with-many", inOrder)
		r.Claim("lower-xoff", low/(lost+1))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		lost := figure.Lines("lost", "Bursts of 10 x 256 KB of each sender to one port", "senders",
			"packets lost")
		t := &figure.Table{Name: "case2",
			Title: "One ToR switch of 32 MB whose egress ports may hold 8/9 of what is shared",
			Header: []string{"α", "senders", "lost", "pauses", "pauses before the first loss",
				"free then (MB)", "longest queue (MB)", "last burst (ms)"}}
		for _, a := range case2Alphas {
			var x, y []float64
			for _, n := range case2Senders(r.Scale) {
				c := r.Cell(manyToOne{n, a}.String())
				v := func(name string) float64 { return c.Values(name)[0] }
				x, y = append(x, float64(n)), append(y, v("lost"))
				t.Row(a.String(), n, v("lost"), v("pauses"), v("before"), v("free")/1e6,
					v("longest")/1e6, c.Values("took").Max()*1e3)
			}
			lost.Add("α "+a.String(), x, y)
		}
		return []figure.Figure{lost, t}
	},
}

// case2Bursts are ten queue pairs of a sender, as in scene I, with 256 KB each.
const (
	case2QPs   = 10
	case2Burst = 256_000
)

func runCase2(j *experiment.Job) error {
	c := j.Params.(manyToOne)
	const buffer = 32 * units.MiB
	w := experience()
	w.Alpha = c.Alpha
	qs := scene.Queues(w, true)
	qs[0].Egress = 8
	s, err := rdma(j, case2Burst)
	if err != nil {
		return err
	}
	s.Topology = sim.Star(c.Senders+1, fabric.Link{Rate: 25 * gbps, Delay: us})
	s.Scheme.Switch = fabric.SwitchConfig{Buffer: buffer, Queues: qs.At()}
	s.Workload.Traffic = func(*sim.Simulation) (workload.Source, error) {
		all := &bursts{}
		for i := range c.Senders {
			for range case2QPs {
				*all = append(*all, workload.Flow{Src: i, Dst: c.Senders, Bytes: case2Burst})
			}
		}
		return all, nil
	}
	var out *fabric.Port
	var before, free float64 // at the first loss
	s.Probes.Attach = func(s *sim.Simulation) {
		sw := s.Net.Switches()[0]
		out = sw.Ports()[c.Senders]
		out.Watch(0, func(units.Time, units.Bytes) {
			if free == 0 && out.QueueStats(0).Dropped > 0 {
				before, free = float64(s.Totals().PausesSent),
					float64(buffer-units.Bytes(c.Senders+1)*w.Headroom-sw.Stored())
			}
		})
	}
	r, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	for _, f := range r.Flows {
		j.Value("took", f.FCT().Seconds())
	}
	st := out.QueueStats(0)
	j.Value("lost", float64(st.Dropped))
	j.Value("pauses", float64(r.Totals.PausesSent))
	j.Value("before", before)
	j.Value("free", free)
	j.Value("longest", float64(st.Longest))
	return r.Complete()
}

// bursts are flows that begin at once.
type bursts []workload.Flow

// Next implements workload.Source.
func (b *bursts) Next() (workload.Flow, bool) {
	if len(*b) == 0 {
		return workload.Flow{}, false
	}
	f := (*b)[0]
	*b = (*b)[1:]
	return f, true
}
