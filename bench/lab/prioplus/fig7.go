package prioplus

import (
	"math"
	"math/rand/v2"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// fig7: the noise of delays, and what the filter of two samples makes of it.
var fig7 = &experiment.Experiment{
	ID:    "prioplus/fig7",
	Seeds: once,
	Run: func(j *experiment.Job) error {
		random := rand.New(rand.NewPCG(j.Seed, 0))
		samples := make(experiment.Values, experiment.At(j.Scale, 1_000_000, 100_000))
		beyond := 0.0
		for i := range samples {
			samples[i] = workload.DelayNoise.Sample(random).Seconds()
			if samples[i] > 1e-6 {
				beyond++
			}
		}
		j.Value("beyond", beyond/float64(len(samples)))
		j.Value("p99.85", samples.Percentile(99.85))
		j.Value("mean", samples.Mean())
		for p := 0.0; p <= 100; p += 0.5 {
			j.Value("noise", samples.Percentile(p))
		}
		const acks = 1_000_000_000
		j.Value("between", acks*1000/float64(pairs(random, 0.0015, acks)))
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("cdf-tail", r.Values("beyond")[0])
		r.Claim("p9985", 1e6*r.Values("p99.85")[0])
		r.Claim("mean", 1e6*r.Values("mean")[0])
		r.Claim("filter", claims.Size(units.Bytes(r.Values("between")[0])))
		r.Note("our-port", "not measured")
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{figure.CDF("noise", "Noise of a measured delay", "noise (µs)").
			Samples("the paper's testbed, as drawn", r.Values("noise").Scaled(1e6))}
	},
}

// pairs draws acks independent samples, each beyond the limit with probability p, and counts how often
// a filter of two stops a flow. Between two beyond the limit are as many as a geometric distribution says.
func pairs(random *rand.Rand, p float64, acks int) (n int) {
	first := false // the sample before was beyond, and the filter has not counted it yet
	for at := 0; ; {
		gap := 1 + int(math.Log(1-random.Float64())/math.Log(1-p))
		if at += gap; at > acks {
			return n
		}
		if first && gap == 1 {
			n++
			first = false
			continue
		}
		first = true
	}
}
