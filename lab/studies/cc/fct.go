package cclab

import (
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
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

// bins are the upper ends of the classes of flow sizes, included in their class.
var bins = []units.Bytes{1_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 30_000_000}

// short is the size below which a flow is short.
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
			var x []float64
			var p99, p50 experiment.Measures
			for _, b := range bins {
				v := c.Values(binName(b))
				if len(v) < 10 { // too few samples
					continue
				}
				x = append(x, float64(b)/1000)
				percentile := func(percent float64) func(experiment.Pool) float64 {
					return func(p experiment.Pool) float64 {
						return p.Values(binName(b)).Percentile(percent)
					}
				}
				p99.Add(c, percentile(99))
				p50.Add(c, percentile(50))
			}
			p99.Line(tail, a.name, x)
			p50.Line(middle, a.name, x)
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
	r, err := sim.Scenario{
		Topology: shape,
		Hosts: sim.Hosts{
			Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, PathMTU: 4 * units.KiB,
			Timeout: 14, Cold: true,
		},
		Scheme:   a.scheme(spec),
		Workload: sim.Workload{Traffic: sim.Load(sizes, c.Load, span), Span: span},
		Probes: sim.Probes{Progress: func(at units.Duration) {
			j.Progress(math.Min(0.9, 0.9*float64(at)/float64(span)))
		}},
		Seed: j.Seed, Until: 100 * span, Step: 100 * units.Microsecond,
	}.Run(j.Context())
	if err != nil {
		return err
	}
	for _, b := range bins {
		j.Value(binName(b))
	}
	for _, f := range r.Flows {
		if i, _ := slices.BinarySearch(bins, f.Bytes); i < len(bins) {
			j.Value(binName(bins[i]), f.Slowdown())
		}
		if f.Bytes < short {
			j.Value("short", f.Slowdown())
		}
	}
	j.Value("incomplete", float64(r.Unfinished))
	return nil
}

// scheme is the algorithm with its switches, in a network of several tiers.
func (a algorithm) scheme(spec cc.Spec) sim.Scheme {
	var queues fabric.Queues
	queues[0].ECN = a.ecn
	if a.name == "bolt" {
		queues[0].Bolt = sim.Bolt(4 * units.KiB)
		queues[0].Bolt.Supply = 2 * queues[0].Bolt.Frame // the authors' setting in a fat tree
	}
	return sim.Scheme{Control: spec, CNPInterval: a.cnps, AnswerClass: 0xe0,
		Switch: fabric.SwitchConfig{Queues: queues.At()}}
}
