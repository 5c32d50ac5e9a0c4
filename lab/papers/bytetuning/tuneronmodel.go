package bytetuninglab

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// remembered is the model with every point measured once.
type remembered struct {
	*bytetuning.Fluid
	seen map[bytetuning.Watermark]*bytetuning.Measurement
	now  bytetuning.Watermark
}

func (m *remembered) Apply(ctx context.Context, p bytetuning.Point) error {
	m.now = p[0]
	return m.Fluid.Apply(ctx, p)
}

func (m *remembered) Measure(ctx context.Context) (*bytetuning.Measurement, error) {
	if at := m.seen[m.now]; at != nil {
		return at, nil
	}
	at, err := m.Fluid.Measure(ctx)
	m.seen[m.now] = at
	return at, err
}

// modelTuners are compared on the model.
var modelTuners = []string{"anneal:tem=1", "anneal:tem=100", "anneal:tem=0.1,again=false", "greedy",
	"random"}

func modelBudget(s experiment.Scale) int { return experiment.At(s, 1000, 300) }

// tunerOnModel: tuners against the whole grid of the fluid model.
var tunerOnModel = &experiment.Experiment{
	ID:    "bytetuning/tuner-on-model",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		f, err := bytetuning.NewFluid("8x40G")
		if err != nil {
			return err
		}
		plant := &remembered{Fluid: f, seen: map[bytetuning.Watermark]*bytetuning.Measurement{}}
		dcqcn, err := bytetuning.Baseline("dcqcn", bytetuning.Path{})
		if err != nil {
			return err
		}
		start := bytetuning.Point{dcqcn}

		// The grid, whose records of the objective judge all tuners.
		objective := bytetuning.NewObjective()
		grid, err := bytetuning.New("grid", bytetuning.Problem{Layers: plant.Layers(), Start: start,
			Energy: objective.Energy})
		if err != nil {
			return err
		}
		whole := &bytetuning.Search{Target: plant, Tuner: grid, Objective: objective, Start: start,
			Failures: 1 << 30}
		top, err := whole.Run(j.Context())
		if err != nil {
			return err
		}
		j.Value("points", float64(top.Evaluations-top.Skipped))
		j.Value("grid", top.BestEnergy)
		j.Value("default", top.StartEnergy)

		tuners, seeds := modelTuners, uint64(10)
		if j.Scale == experiment.Small {
			tuners, seeds = tuners[:1], 1
		}
		for _, spec := range tuners {
			for seed := j.Seed; seed < j.Seed+seeds; seed++ {
				if err := tuneModel(j, plant, spec, start, seed, objective,
					top.BestEnergy); err != nil {
					return err
				}
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		grid := r.Values("grid")[0]
		tuned := r.Values("anneal:tem=1 best")
		r.Claim("beats-default", tuned.Min()-r.Values("default")[0])
		r.Claim("near-optimum", 1-tuned.Percentile(50)/grid)
		r.Note("near-optimum", "energies of good points differ by hundredths, so that a "+
			"temperature of 1 accepts nearly every worse point, and it cools to only %.2g; and "+
			"half of the measurements are of the present point again. With tem=0.1,again=false "+
			"it comes nearer (table)", math.Pow(0.99,
			float64(modelBudget(r.Scale))/20))
		if r.Scale == experiment.Full {
			r.Claim("tem0",
				r.Values("anneal:tem=1 until").Percentile(50)/
					r.Values("anneal:tem=100 until").Percentile(50))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		best := figure.Lines("best", "Tuning the model of 8 x 40 Gb/s: the best so far, first seed",
			"measurement", "f (of the grid's best)")
		t := &figure.Table{Name: "tuners",
			Title: fmt.Sprintf("Tuners on the model, %d measurements", modelBudget(r.Scale)),
			Header: []string{"tuner", "median f of the grid's best", "least",
				"median measurements to within 5 %"}}
		tuners := modelTuners
		if r.Scale == experiment.Small {
			tuners = tuners[:1]
		}
		for _, spec := range tuners {
			r.Series(spec).Draw(best, spec)
			v, grid := r.Values(spec+" best"), r.Values("grid")[0]
			t.Row(spec, v.Percentile(50)/grid, v.Min()/grid, r.Values(spec+" until").Percentile(50))
		}
		return []figure.Figure{best, t}
	},
}

// tuneModel runs one tuner with one seed, and judges what it found by the records of the grid.
func tuneModel(j *experiment.Job, plant *remembered, spec string, start bytetuning.Point,
	seed uint64, judge *bytetuning.Objective, top float64) error {
	objective := bytetuning.NewObjective()
	tuner, err := bytetuning.New(spec, bytetuning.Problem{Layers: plant.Layers(), Start: start,
		Energy: objective.Energy, Seed: seed})
	if err != nil {
		return err
	}
	var so []float64 // the best so far, by the grid's records
	s := &bytetuning.Search{Target: plant, Tuner: tuner, Objective: objective, Start: start,
		Budget: modelBudget(j.Scale), Each: func(p bytetuning.Progress) {
			f := 0.
			if p.Measurement != nil {
				f = judge.Energy(p.Measurement)
			}
			if len(so) > 0 {
				f = max(f, so[len(so)-1])
			}
			so = append(so, f)
		}}
	out, err := s.Run(j.Context())
	if err != nil {
		return err
	}
	j.Value(spec+" best", judge.Energy(out.BestMeasurement))
	until := slices.IndexFunc(so, func(f float64) bool { return f >= 0.95*top })
	if until < 0 {
		j.Value(spec+" until", math.Inf(1))
	} else {
		j.Value(spec+" until", float64(until+1))
	}
	if seed == j.Seed {
		for i, f := range so {
			j.Series(spec).Add(float64(i+1), f/top)
		}
	}
	return nil
}
