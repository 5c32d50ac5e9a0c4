package prioplus

import (
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

const (
	appCRTTs = 8  // T in τ
	appCSide = 64 // steps of a round trip
)

// appC: Theorem 4.1: no start makes less of a queue than the linear one.
var appC = &experiment.Experiment{
	ID:    "prioplus/appC",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		const steps = appCRTTs * appCSide
		straight := ramp{perRTT: appCSide}
		for k := range steps + 1 {
			straight.rate = append(straight.rate, float64(k)/steps)
		}
		best, _ := straight.worst(-appCSide, steps)
		random := rand.New(rand.NewPCG(j.Seed, 0))
		least, off := math.Inf(1), 0.0
		for range 1000 {
			r := randomRamp(random, steps)
			worst, mean := r.worst(-appCSide, steps)
			least = min(least, worst/best)
			// mean of b over [-τ, T] is Rτ²/2 divided by T+τ
			off = max(off, math.Abs(mean*2*(appCRTTs+1)-1))
			j.Value("worst", worst/best)
		}
		j.Value("least", least)
		j.Value("off", off)

		// A step at T, evaluated where the theorem does: for a in [0, T-τ].
		late := ramp{rate: make([]float64, steps+2), perRTT: appCSide}
		late.rate[steps+1] = 1
		worst, _ := late.worst(0, steps-appCSide)
		printed, _ := straight.worst(0, steps-appCSide)
		j.Value("late", worst/printed)
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("max-backlog", r.Values("least")[0])
		r.Claim("invariant", r.Values("off")[0])
		r.Claim("counterexample", r.Values("late")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{figure.CDF("worst", "Largest backlog of 1000 random starts",
			"times that of the linear start").
			Samples("random starts", r.Values("worst"))}
	},
}

// randomRamp grows from 0 to 1 in a number of steps. The smaller its random power, the more even
// they are.
func randomRamp(random *rand.Rand, steps int) ramp {
	r := ramp{rate: make([]float64, 1, steps+1), perRTT: appCSide}
	power, sum := 6*random.Float64(), 0.0
	for range steps {
		sum += math.Pow(random.ExpFloat64(), power)
		r.rate = append(r.rate, sum)
	}
	for k := range r.rate {
		r.rate[k] /= sum
	}
	return r
}
