package bytetuninglab

import (
	"context"
	"math"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// table is a target with predefined measurements: a ridge over the traversal's parameters, with a
// bump of its own on each point.
type table struct {
	layer bytetuning.Layer
	now   bytetuning.Watermark
}

func newTable() *table {
	return &table{layer: bytetuning.Layer{Name: "tor", Space: bytetuning.Traversal(),
		Buffer: 32 * units.MiB, Ports: 24}}
}

func (t *table) Layers() []bytetuning.Layer { return []bytetuning.Layer{t.layer} }

func (t *table) Apply(_ context.Context, p bytetuning.Point) error { t.now = p[0]; return nil }

func (t *table) Measure(context.Context) (*bytetuning.Measurement, error) {
	w := t.now
	off := func(v, top, span float64) float64 { return math.Pow((v-top)/span, 2) }
	f := 0.95 - 0.3*off(float64(w.Kmin/bytetuning.Cell), 1500, 5000) - 0.2*off(float64(w.Pmax), 30,
		90) -
		0.2*off(float64(w.Headroom/bytetuning.Cell), 400, 600) - 0.1*off(float64(w.Alpha), -3, 4)
	h := uint64(w.Kmin)*2654435761 ^ uint64(w.Pmax)*40503 ^ uint64(w.Headroom)*
		2246822519 ^ uint64(w.Alpha+8)*3266489917
	h ^= h >> 15
	f += 0.02 * float64(h%1000) / 1000
	return &bytetuning.Measurement{
		Switches: []bytetuning.Sample{{Throughput: units.BitRate(f * 25e9)}}}, nil
}

// alg1: the schedule of algorithm 1 on a table, with the paper's parameters.
var alg1 = &experiment.Experiment{
	ID:    "bytetuning/alg1",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		target := newTable()
		start, err := bytetuning.Baseline("experience", bytetuning.Path{Rate: 25 * gbps})
		if err != nil {
			return err
		}
		objective := &bytetuning.Objective{Beta: 1}
		at := bytetuning.Point{start}
		tuner, err := bytetuning.New("anneal", bytetuning.Problem{Layers: target.Layers(),
			Start: at, Energy: objective.Energy, Seed: j.Seed})
		if err != nil {
			return err
		}
		annealer := tuner.(*bytetuning.Anneal)
		var iterations, steps, projected, early, taken int
		most := 0.
		best := j.Series("best")
		s := &bytetuning.Search{Target: target, Tuner: annealer, Objective: objective, Start: at,
			Failures: 1 << 30, Each: func(p bytetuning.Progress) {
				if p.Skipped != "" {
					projected++
					return
				}
				m := float64(p.Measurement.Throughput())
				most = max(most, m)
				if p.N%20 == 0 {
					best.Add(float64(p.N), p.BestEnergy)
				}
				// The start, line 2, and then lines 7 and 9 in alternation.
				if p.N < 4 || p.N%2 == 1 {
					return
				}
				it := annealer.Last()
				iterations++
				want := max(it.StepBefore/2, 1./64)
				if it.Worse {
					want = min(it.StepBefore*2, 1)
					if it.Temperature > 0.5 {
						early++
						if it.Accepted {
							taken++
						}
					}
				}
				if it.Step != want {
					steps++
				}
				if iterations%100 == 0 {
					j.Series("step").Add(float64(iterations), it.Step)
					j.Series("temperature").Add(float64(iterations), it.Temperature)
				}
			}}
		out, err := s.Run(j.Context())
		if err != nil {
			return err
		}
		j.Value("temperatures", float64(annealer.Temperatures()))
		j.Value("iterations", float64(iterations))
		// the search also measures the present watermark
		j.Value("evaluations", float64(out.Evaluations-1))
		j.Value("step violations", float64(steps))
		j.Value("projection violations", float64(projected))
		j.Value("lost best", float64(out.BestMeasurement.Throughput())-most)
		j.Value("early", float64(taken)/float64(early))
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("counts", experiment.Each([]string{"temperatures", "iterations", "evaluations"},
			func(n string) float64 { return r.Values(n)[0] }))
		r.Claim("step", r.Values("step violations")[0])
		r.Claim("best-kept", r.Values("lost best")[0])
		r.Claim("projection", r.Values("projection violations")[0])
		r.Claim("random-walk", r.Values("early")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		best := figure.Lines("best", "Algorithm 1: the best so far", "measurement", "f")
		r.Series("best").Draw(best, "best")
		step := figure.Points("step", "Algorithm 1: step (1/64 to 1) and temperature", "iteration",
			"")
		step.Y.Log = true
		for _, n := range []string{"step", "temperature"} {
			r.Series(n).Draw(step, n)
		}
		return []figure.Figure{best, step}
	},
}
