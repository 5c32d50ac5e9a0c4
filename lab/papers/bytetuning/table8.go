package bytetuninglab

import (
	"math"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// The tuners: agents that change at random times, one tuner that changes all at once, and the same
// agents with a common clock.
const (
	independent = "acc:beat=3"
	central     = "anneal:tem=0.1,again=false"
	together    = "acc"
)

// agentSpace is the choices of agents, twelve settings of ECN, and here also of the one tuner, so
// that the two differ only in who decides when.
func agentSpace() bytetuning.Space {
	s := bytetuning.Traversal()
	s.Kmin = []units.Bytes{s.Kmin[0], s.Kmin[3], s.Kmin[6], s.Kmin[10]}
	s.Pmax = []bytetuning.Percent{1, 40, 90}
	s.Headroom, s.Alpha = s.Headroom[2:3], s.Alpha[3:4]
	return s
}

// table8: leaf and ToR switch in series, by independent agents and by one tuner.
var table8 = &experiment.Experiment{
	ID:    "bytetuning/table8",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 10, 3) },
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("%s", independent, central, together)
	},
	Run: func(j *experiment.Job) error {
		t, err := scene.New("23to1/layers")
		if err != nil {
			return err
		}
		t.Settle, t.Period = experiment.At(j.Scale, 4*ms, ms/2), experiment.At(j.Scale, 4*ms, ms/2)
		t.Space = agentSpace()
		layers := t.Layers()
		w, err := bytetuning.Baseline("experience", t.Path())
		if err != nil {
			return err
		}
		start := bytetuning.Point{w, w}
		objective := bytetuning.NewObjective()
		tuner, err := bytetuning.New(j.Params.(string),
			bytetuning.Problem{Layers: layers, Start: start, Energy: objective.Energy,
				Seed: j.Seed})
		if err != nil {
			return err
		}
		budget := experiment.At(j.Scale, 60, 30)
		s := &bytetuning.Search{Target: t, Tuner: tuner, Objective: objective, Start: start,
			Budget: budget, Each: func(p bytetuning.Progress) {
				j.Progress(float64(p.N) / float64(budget))
				if p.Measurement == nil {
					return
				}
				for i, name := range []string{"tor", "leaf"} {
					x := p.Measurement.Switches[i]
					j.Series(name).Add(float64(x.Throughput), float64(x.Queue))
				}
				a, anneals := tuner.(*bytetuning.Anneal)
				j.Value("accepted", number(!anneals || p.N == 1 || a.Last().Accepted))
			}}
		_, err = s.Run(j.Context())
		return err
	},
	Judge: func(r *experiment.Results) {
		energies, top := table8Energies(r)
		until := func(name string) experiment.Values {
			var all experiment.Values
			for _, f := range energies[name] {
				n := math.Inf(1)
				for i, v := range f {
					if v >= 0.98*top {
						n = float64(i + 1)
						break
					}
				}
				all = append(all, n)
			}
			return all
		}
		spread := func(name string) float64 { // of the last third, mean over seeds
			var all experiment.Values
			for i, f := range energies[name] {
				f = inForce(f, r.Cell(name).Seeds()[i].Values("accepted"))
				last := experiment.Values(f[2*len(f)/3:])
				sum := 0.
				for _, v := range last {
					sum += (v - last.Mean()) * (v - last.Mean())
				}
				all = append(all, math.Sqrt(sum/float64(len(last))))
			}
			return all.Mean()
		}
		a, b, c := until(independent).Percentile(50), until(central).Percentile(50),
			until(together).Percentile(50)
		r.Claim("variance", a/b)
		r.Note("variance", "measurements until within 2 %% of the best of all runs, median: %v "+
			"by agents, %v by one tuner, %v by the same agents with a common clock, all among "+
			"the same twelve settings of ECN for each layer", a, b, c)
		if r.Scale == experiment.Full {
			r.Claim("variance-objective", spread(independent)/spread(central))
			r.Note("variance-objective", "of the points in force: a point that annealing tries "+
				"and rejects does not count. The same agents with a common clock: %.2f of their "+
				"deviation without", spread(together)/spread(independent))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		energies, _ := table8Energies(r)
		p := figure.Lines("objective", "Leaf and ToR in series, first seed", "measurement", "f")
		for _, name := range []string{independent, central, together} {
			var x []float64
			for i := range energies[name][0] {
				x = append(x, float64(i+1))
			}
			p.Add(name, x, energies[name][0])
		}
		return []figure.Figure{p}
	},
}

// inForce returns, for each measurement, the energy of the point that was accepted last.
func inForce(energies []float64, accepted experiment.Values) (f []float64) {
	for i, e := range energies {
		if accepted[i] == 0 {
			e = f[i-1]
		}
		f = append(f, e)
	}
	return f
}

// table8Energies returns f of every measurement, by tuner and seed, and the best, by the records of
// all.
func table8Energies(r *experiment.Results) (energies map[string][][]float64, top float64) {
	measurements := map[string][][]*bytetuning.Measurement{}
	judge := bytetuning.NewObjective()
	for _, c := range r.Cells() {
		for _, seed := range c.Seeds() {
			tor, leaf := seed.Series("tor"), seed.Series("leaf")
			var all []*bytetuning.Measurement
			for i := range tor.X {
				m := &bytetuning.Measurement{Switches: []bytetuning.Sample{
					{Throughput: units.BitRate(tor.X[i]), Queue: units.Bytes(tor.Y[i])},
					{Layer: 1, Throughput: units.BitRate(leaf.X[i]), Queue: units.Bytes(leaf.Y[i])},
				}}
				judge.Observe(m)
				all = append(all, m)
			}
			measurements[c.Name] = append(measurements[c.Name], all)
		}
	}
	energies = map[string][][]float64{}
	for name, seeds := range measurements {
		for _, all := range seeds {
			var f []float64
			for _, m := range all {
				f = append(f, judge.Energy(m))
				top = max(top, f[len(f)-1])
			}
			energies[name] = append(energies[name], f)
		}
	}
	return energies, top
}
