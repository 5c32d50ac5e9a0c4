package prioplus

import (
	"math/rand/v2"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// A model is trained on several servers, data parallel: gradients in single precision, and the
// computation of an iteration. The times are ours; the paper prints none.
type model struct {
	gradients units.Bytes
	compute   units.Duration
}

var (
	resNet50 = model{98_000_000, 60 * units.Millisecond}
	vgg16    = model{528_000_000, 120 * units.Millisecond}
)

// training is a cluster, the number of jobs of each kind that share it, and the scale of sizes and
// times.
type training struct {
	shape  fabric.LeafSpine
	each   int // jobs of each kind
	scale  int
	period units.Duration
}

// trainingAt returns 24 servers and a fiftieth of the sizes, or eight and a hundredth.
func trainingAt(s experiment.Scale) training {
	t := training{fabric.PrioPlusML(), 4, 50, 30 * units.Millisecond}
	if s == experiment.Small {
		t = training{t.shape, 2, 100, 8 * units.Millisecond}
		t.shape.Leaves, t.shape.HostsPerLeaf, t.shape.Up.Rate = 2, 4, 200*units.Gbps
	}
	return t
}

// fig12c: the priorities of ResNets are above those of VGGs, whose traffic fills the gaps.
var fig12c = &experiment.Experiment{
	ID: "prioplus/fig12c",
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, s := range []scheme{baseline, virtualSwift, physical} {
			cells = append(cells, experiment.Cell{Name: string(s), Params: s})
		}
		return cells
	},
	Run: func(j *experiment.Job) error {
		t := trainingAt(j.Scale)
		jobs := 2 * t.each
		random := rand.New(rand.NewPCG(j.Seed, 'm'))
		perRound := 2 * (t.shape.Leaves - 1) * t.shape.Leaves // flows
		var rings []workload.Source
		for i := range jobs { // the i-th server of every leaf
			m := vgg16
			if i >= t.each {
				m = resNet50
			}
			ring := workload.RingAllReduce{
				Bytes: m.gradients / units.Bytes(t.scale), Gap: m.compute / units.Duration(t.scale),
				Class: i,
			}
			ring.Start = units.Time(random.Int64N(int64(ring.Gap)))
			for leaf := range t.shape.Leaves {
				ring.Hosts = append(ring.Hosts, leaf*t.shape.HostsPerLeaf+i)
			}
			source, err := ring.Source()
			if err != nil {
				return err
			}
			rings = append(rings, source)
		}
		r, err := large{
			Scheme: j.Params.(scheme), Seed: j.Seed, Priorities: priorities{N: jobs,
				Start: ",high=0.5,low=0,w_middle=0.2BDP"},
			Build: t.shape.Build, Link: t.shape.Host, Ports: t.shape.HostsPerLeaf + t.shape.Spines,
			Buffer: 32_000_000,
			Source: workload.Merge(rings...), Priority: func(f workload.Flow) int {
				return f.Class
			}, Span: t.period, Period: t.period,
		}.run(j)
		if err != nil {
			return err
		}
		done := make([]int, jobs)
		warm := t.period / 5
		for _, f := range r.Flows {
			if f.At.Add(f.FCT).After(units.Time(warm)) {
				done[f.Class]++
			}
		}
		for i, n := range done {
			kind := "VGG"
			if i >= t.each {
				kind = "ResNet"
			}
			j.Value(kind, float64(n)/float64(perRound)/(t.period-warm).Seconds())
		}
		j.Value("pauses", r.PausesSent)
		return nil
	},
	Judge: func(r *experiment.Results) {
		// of returns the speedup of a kind, the mean of its jobs.
		of := func(s scheme, kind string) (sum float64) {
			a, b := r.Cell(string(s)).Values(kind), r.Cell(string(baseline)).Values(kind)
			for i := range a {
				sum += a[i] / b[i] / float64(len(a))
			}
			return sum
		}
		resnet, vgg := of(virtualSwift, "ResNet"), of(virtualSwift, "VGG")
		r.Claim("all-gain",
			experiment.With("resnet", resnet-1).With("vgg", vgg-1).With("all", (resnet+vgg)/2-1))
		r.Note("all-gain", "%s", experiment.At(r.Scale, ratio, "two VGGs of different priorities "+
			"share each server's uplinks; a period of 8 ms has four of their iterations"))
		r.Claim("vgg-not-hurt", vgg/of(physical, "VGG"))
		r.Note("vgg-not-hurt", "%s", experiment.At(r.Scale, ratio, "two VGGs of different "+
			"priorities share each server's uplinks; a period of 8 ms has four of their "+
			"iterations"))
		if r.Scale == experiment.Full {
			r.Claim("physical-unfair", experiment.With("resnet", of(physical, "ResNet")-1).
				With("vgg_loss", 1-of(physical, "VGG")))
			r.Note("physical-unfair", "%s", experiment.At(r.Scale, ratio, "two VGGs of different "+
				"priorities share each server's uplinks; a period of 8 ms has four of their "+
				"iterations"))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		bars := figure.Bars("speed", "Speed of training, models and times a fiftieth",
			"iterations a second, scaled", "ResNet", "VGG")
		for _, c := range r.Cells() {
			bars.Heights(c.Name, c.Values("ResNet").Mean(), c.Values("VGG").Mean())
		}
		return []figure.Figure{bars}
	},
}

const ratio = "jobs use about half of the uplinks, so that priorities hardly matter: no scheme " +
	"changes any speed by more than 5 %, and PrioPlus's probes cost it that. The ratio of " +
	"gradients to computation is ours (a fiftieth of both, at full scale); the paper prints none"
