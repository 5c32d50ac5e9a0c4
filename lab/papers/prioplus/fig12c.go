package prioplus

import (
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// A model is trained on several servers, data parallel. The values are the sums of the layers of
// the artifact's profiles.
type model struct {
	gradients units.Bytes
	compute   units.Duration // of a pass
}

var (
	resNet50 = model{2_240_000, 700 * units.Microsecond}
	vgg16    = model{9_440_000, 2740 * units.Microsecond}
)

// training is a cluster, and the number of jobs of each kind that share it.
type training struct {
	shape  fabric.LeafSpine
	each   int // jobs of each kind
	over   int // by how much models and times are smaller
	period units.Duration
}

// trainingAt returns the artifact's 24 servers with 200 Gb/s, which have an eighth of an uplink of
// 400 Gb/s each; or eight of them with the same share, and models of a quarter.
func trainingAt(s experiment.Scale) training {
	t := training{fabric.PrioPlusML(), 4, 1, 20 * units.Millisecond}
	t.shape.Host.Rate = 200 * units.Gbps
	if s == experiment.Small {
		t.each, t.over, t.period = 2, 4, 10*units.Millisecond
		t.shape.Leaves, t.shape.HostsPerLeaf, t.shape.Up.Rate = 2, 4, 200*units.Gbps
	}
	return t
}

// trainingCell is a scheme, and how jobs begin.
type trainingCell struct {
	Scheme scheme
	// Random has jobs begin at a random time of their first computation, instead of all at once,
	// with a transfer.
	Random bool
	// Alike has the ACKs of every scheme above all data.
	Alike bool
}

func (c trainingCell) name() string {
	name := string(c.Scheme)
	if c.Random {
		name += ", random phases"
	}
	if c.Alike {
		name += ", ACKs on top"
	}
	return name
}

// sources returns the jobs. Job i runs on server i of every leaf, and has priority i.
func (t training) sources(c trainingCell, seed uint64) ([]workload.Source, error) {
	random := rand.New(rand.NewPCG(seed, 'm'))
	var rings []workload.Source
	for i := range 2 * t.each {
		m := vgg16
		if i >= t.each {
			m = resNet50
		}
		ring := workload.RingAllReduce{Bytes: m.gradients / units.Bytes(t.over),
			Gap: m.compute / units.Duration(t.over), OneFlow: true, Class: i}
		if c.Random {
			ring.Start = units.Time(random.Int64N(int64(ring.Gap)))
		}
		for leaf := range t.shape.Leaves {
			ring.Hosts = append(ring.Hosts, leaf*t.shape.HostsPerLeaf+i)
		}
		source, err := ring.Source()
		if err != nil {
			return nil, err
		}
		rings = append(rings, source)
	}
	return rings, nil
}

// runTraining simulates a cell and records each job's passes per second.
func runTraining(j *experiment.Job) error {
	t, c := trainingAt(j.Scale), j.Params.(trainingCell)
	rings, err := t.sources(c, j.Seed)
	if err != nil {
		return err
	}
	acks := acksPublished
	if c.Alike {
		acks = acksOnTop
	}
	r, err := large{
		Scheme: c.Scheme, Seed: j.Seed,
		Priorities: priorities{N: 2 * t.each, Start: coflowStart, ACKs: acks},
		Build:      t.shape.Build, Link: t.shape.Host, Ports: t.shape.HostsPerLeaf + t.shape.Spines,
		Buffer: 32_000_000,
		Source: workload.Merge(rings...), Priority: func(f workload.Flow) int {
			return f.Class
		}, Span: t.period, Period: t.period,
	}.run(j)
	if err != nil {
		return err
	}
	done := make([]int, 2*t.each)
	for _, f := range r.Flows {
		done[f.Class]++
	}
	for i, n := range done {
		kind := "VGG"
		if i >= t.each {
			kind = "ResNet"
		}
		j.Value(kind, float64(n)/float64(t.shape.Leaves)/t.period.Seconds())
	}
	j.Value("pauses", r.PausesSent)
	return nil
}

// faster returns the speedup of jobs of some kinds: their passes, relative to Swift without
// priorities and with the same phases.
func faster(p experiment.Pool, c trainingCell, kinds ...string) float64 {
	passes := func(c trainingCell) (sum float64) {
		for _, kind := range kinds {
			sum += p.Cell(c.name()).Values(kind).Sum()
		}
		return sum
	}
	return passes(c) / passes(trainingCell{Scheme: baseline, Random: c.Random})
}

// phases shows the effect of random phases and of ACKs, which every claim has beside it.
func phases(r *experiment.Results, of func(virtual, physical trainingCell) string) string {
	return fmt.Sprintf("jobs begin in phase, as published: %s; at random times, as independent "+
		"jobs do: %s; in phase, with the ACKs of both schemes above all data: %s",
		of(trainingCell{Scheme: virtualSwift}, trainingCell{Scheme: physical}),
		of(trainingCell{Scheme: virtualSwift, Random: true},
			trainingCell{Scheme: physical, Random: true}),
		of(trainingCell{Scheme: virtualSwift}, trainingCell{Scheme: physical, Alike: true}))
}

// fig12c: the priorities of ResNets are above those of VGGs, whose traffic fills the gaps.
var fig12c = &experiment.Experiment{
	ID: "prioplus/fig12c",
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, c := range []trainingCell{{Scheme: baseline}, {Scheme: virtualSwift},
			{Scheme: physical}, {Scheme: physical, Alike: true}, {Scheme: baseline, Random: true},
			{Scheme: virtualSwift, Random: true}, {Scheme: physical, Random: true}} {
			cells = append(cells, experiment.Cell{Name: c.name(), Params: c})
		}
		return cells
	},
	Run: runTraining,
	Judge: func(r *experiment.Results) {
		virtual, classes := trainingCell{Scheme: virtualSwift}, trainingCell{Scheme: physical}
		of := func(c trainingCell, kinds ...string) float64 { return faster(r.Pool, c, kinds...) }
		r.Claim("all-gain", experiment.With("resnet", of(virtual, "ResNet")-1).
			With("vgg", of(virtual, "VGG")-1).With("all", of(virtual, "ResNet", "VGG")-1))
		r.Note("all-gain", "%s", phases(r, func(v, _ trainingCell) string {
			return fmt.Sprintf("ResNet %+.3f, VGG %+.3f", of(v, "ResNet")-1, of(v, "VGG")-1)
		}))
		r.Claim("vgg-not-hurt", of(virtual, "VGG")/of(classes, "VGG"))
		r.Note("vgg-not-hurt", "%s", phases(r, func(v, p trainingCell) string {
			return fmt.Sprintf("%.3f", of(v, "VGG")/of(p, "VGG"))
		}))
		if r.Scale == experiment.Full {
			r.Claim("physical-unfair", experiment.With("resnet", of(classes, "ResNet")-1).
				With("vgg_loss", 1-of(classes, "VGG")))
			r.Note("physical-unfair", "%s", phases(r, func(_, p trainingCell) string {
				return fmt.Sprintf("ResNet %+.3f, VGG %+.3f", of(p, "ResNet")-1, of(p, "VGG")-1)
			}))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		bars := figure.Bars("speed", "Speed of training, relative to Swift", "speedup",
			"ResNet", "VGG", "all")
		for _, c := range r.Cells() {
			t := c.Params.(trainingCell)
			if t.Scheme != baseline {
				bars.Heights(c.Name, faster(r.Pool, t, "ResNet"), faster(r.Pool, t, "VGG"),
					faster(r.Pool, t, "ResNet", "VGG"))
			}
		}
		return []figure.Figure{bars}
	},
}
