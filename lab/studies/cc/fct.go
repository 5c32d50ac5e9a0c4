package cclab

import (
	"errors"
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/bottleneck"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/figure"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Completion times of the flows of a workload, between all hosts of a leaf-spine.
var (
	fctWebSearch = completionTimes("cc/fct-websearch", workload.WebSearch)
	fctHadoop    = completionTimes("cc/fct-hadoop", workload.Hadoop)
)

// loadCell is an algorithm and a load of the hosts' links.
type loadCell struct {
	Algorithm string
	Load      float64
}

func (c loadCell) name() string { return fmt.Sprintf("%s %.0f%%", c.Algorithm, 100*c.Load) }

var loads = []float64{0.3, 0.5, 0.7}

// bins are the sizes by which flows are told apart, up to and including.
var bins = []units.Bytes{1_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 30_000_000}

// short is the size below which a flow is a short one.
const short = 100_000

func completionTimes(id string, sizes *workload.Sizes) *experiment.Experiment {
	return &experiment.Experiment{
		ID: id,
		Cells: func(experiment.Scale) (cells []experiment.Cell) {
			for _, a := range algorithms {
				for _, l := range loads {
					c := loadCell{a.name, l}
					cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
				}
			}
			return cells
		},
		Run:     func(j *experiment.Job) error { return runCompletionTimes(j, sizes) },
		Judge:   judgeCompletionTimes,
		Figures: drawCompletionTimes,
	}
}

func judgeCompletionTimes(r *experiment.Results) {
	short99 := func(a string, load float64) float64 {
		return r.Cell(loadCell{a, load}.name()).Values("short").Percentile(99)
	}
	tail, grows := claims.Value{}, claims.Value{}
	for _, a := range []string{"swift", "dctcp", "idctcp", "ledbat-dc", "dcqcn", "dcqcn-nic"} {
		tail = tail.With(a, claims.Number(short99(a, 0.7)/short99("fixed", 0.7)))
		grows = grows.With(a, claims.Number(short99(a, 0.7)/short99(a, 0.3)))
	}
	r.Claim("complete", r.Values("incomplete").Sum())
	r.Claim("short-tail", tail)
	r.Claim("load", grows)
	r.Claim("swift-dctcp", short99("swift", 0.7)/short99("dctcp", 0.7))
}

func drawCompletionTimes(r *experiment.Results) []figure.Figure {
	var figures []figure.Figure
	for _, load := range loads {
		percent := fmt.Sprintf("%.0f", 100*load)
		tail := figure.Lines("p99-"+percent, "p99 slowdown by size, load "+percent+" %",
			"size up to (KB)", "slowdown")
		middle := figure.Lines("p50-"+percent, "p50 slowdown by size, load "+percent+" %",
			"size up to (KB)", "slowdown")
		for _, p := range []*figure.Plot{tail, middle} {
			p.X.Log, p.Y.Log = true, true
		}
		for _, a := range algorithms {
			c := r.Cell(loadCell{a.name, load}.name())
			var x, p99, p50 []float64
			for _, b := range bins {
				v := c.Values(binName(b))
				if len(v) < 10 { // too few to speak of
					continue
				}
				x, p99, p50 = append(x, float64(b)/1000), append(p99, v.Percentile(99)), append(p50,
					v.Percentile(50))
			}
			tail.Add(a.name, x, p99)
			middle.Add(a.name, x, p50)
		}
		figures = append(figures, tail, middle)
	}
	return figures
}

func binName(b units.Bytes) string { return fmt.Sprintf("slowdown up to %d B", int64(b)) }

func runCompletionTimes(j *experiment.Job, sizes *workload.Sizes) error {
	c := j.Params.(loadCell)
	spec, a, err := algorithmOf(c.Algorithm)
	if err != nil {
		return err
	}
	link := fabric.Link{Rate: rate, Delay: units.Microsecond}
	shape, span := fabric.LeafSpine{Leaves: 4, Spines: 4, HostsPerLeaf: 8, Host: link,
		Up: fabric.Link{Rate: 2 * rate, Delay: units.Microsecond}}, 20*units.Millisecond
	if j.Scale == experiment.Small {
		shape.Leaves, span = 2, 3*units.Millisecond
	}
	var queues fabric.Queues
	queues[0].ECN = a.ecn
	if c.Algorithm == "bolt" {
		queues[0].Bolt = cluster.Bolt(transport.MTU4096)
		queues[0].Bolt.Supply = 2 * queues[0].Bolt.Frame // the authors' in a fat tree
	}
	net := shape.Build(fabric.Parts{
		Config: fabric.Config{Seed: j.Seed}, Host: fabric.HostConfig{RxDelay: units.Nanosecond},
		Switch: fabric.SwitchConfig{Queues: queues.At()},
	})
	cl, err := cluster.New(net, cluster.Config{
		Seed: j.Seed, PathMTU: transport.MTU4096, Timeout: 14, Control: spec, CNPInterval: a.cnps,
		AnswerClass: 0xe0,
	})
	if err != nil {
		return err
	}
	traffic, err := workload.Poisson{
		Hosts: len(net.Hosts()), Rate: rate * 4096 / (4096 + bottleneck.Overhead), Load: c.Load,
		Sizes: sizes, Seed: j.Seed, Until: units.Time(span),
	}.Source()
	if err != nil {
		return err
	}
	for _, b := range bins {
		j.Value(binName(b))
	}
	cl.Drive(traffic, func(f *cluster.Running) {
		slowdown := float64(f.Done.Sub(f.At)) / float64(cl.Ideal(f.Flow))
		for _, b := range bins {
			if f.Bytes <= b {
				j.Value(binName(b), slowdown)
				break
			}
		}
		if f.Bytes < short {
			j.Value("short", slowdown)
		}
	})
	net.Every(100*units.Microsecond, func(now units.Time) bool {
		j.Progress(math.Min(0.9, 0.9*float64(now)/float64(span)))
		if j.Context().Err() != nil || now.Sub(0) > span && cl.Running() == 0 {
			net.Stop()
		}
		return true
	})
	if err := net.Run(units.Time(100 * span)); err != nil && !errors.Is(err, fabric.ErrStopped) {
		return err
	}
	if err := j.Context().Err(); err != nil {
		return err
	}
	if len(cl.Errors) > 0 {
		return fmt.Errorf("%d flows failed, the first: %w", len(cl.Errors), cl.Errors[0])
	}
	j.Value("incomplete", float64(cl.Running()))
	return nil
}
