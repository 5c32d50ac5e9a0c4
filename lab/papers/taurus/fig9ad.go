package taurus

import (
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// fig9ad: completion times of small flows through a link that two large flows have filled.
var fig9ad = &experiment.Experiment{
	ID:    "taurus/fig9ad",
	Cells: func(experiment.Scale) []experiment.Cell { return compared(algorithms...) },
	Run: func(j *experiment.Job) error {
		return mice{j.Params.(cell), experiment.At(j.Scale, 10_000, 1000)}.run(j)
	},
	Judge: func(r *experiment.Results) {
		distance, median, tail := claims.Value{}, claims.Value{}, claims.Value{}
		for _, a := range algorithms {
			there, here := of(r, a, split).Values("fct"), of(r, a, native).Values("fct")
			distance = distance.With(string(a), claims.Number(distanceOf(r, a)))
			median = median.With(string(a), claims.Number(there.Percentile(50)/here.Percentile(50)))
			tail = tail.With(string(a), claims.Number(there.Percentile(99)/here.Percentile(99)))
		}
		queue := func(p place, percentile float64) float64 {
			return of(r, idctcp, p).Values(fmt.Sprintf("queue p%g", percentile)).Mean() / 1e3
		}
		r.Note("close", "iDCTCP keeps a queue of %.0f to %.0f KB (p5 to p95) in line and of %.0f "+
			"to %.0f behind the split: completion times vary so little that a median %.1f %% off "+
			"is %.2f of the distribution. HPCC's and Bolt's queues are a few packets, in steps "+
			"of one",
			queue(native, 5), queue(native, 95), queue(split, 5), queue(split, 95),
			100*math.Abs(1-of(r, idctcp, split).Values("fct").Percentile(50)/of(r, idctcp,
				native).Values("fct").Percentile(50)), distanceOf(r, idctcp))
		r.Claim("close", distance)
		r.Claim("median", median)
		r.Claim("not-worse", tail)
	},
	Figures: func(r *experiment.Results) (figures []figure.Figure) {
		for _, a := range algorithms {
			cdf := figure.CDF("fct-"+string(a),
				fmt.Sprintf("Flows of a packet beside two large ones, %s", a),
				"completion time (µs)")
			for _, p := range places {
				cdf.Samples(p.String(), of(r, a, p).Values("fct").Scaled(1e6))
			}
			figures = append(figures, cdf)
		}
		return figures
	},
}

// distanceOf returns the distance between completion times in line and behind the split.
func distanceOf(r *experiment.Results, a algorithm) float64 {
	return kolmogorovSmirnov(of(r, a, split).Values("fct"), of(r, a, native).Values("fct"))
}

// kolmogorovSmirnov returns the largest difference of two distribution functions.
func kolmogorovSmirnov(x, y experiment.Values) (most float64) {
	x, y = slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	a, b := 0, 0
	for a < len(x) && b < len(y) {
		at := min(x[a], y[b])
		for a < len(x) && x[a] == at {
			a++
		}
		for b < len(y) && y[b] == at {
			b++
		}
		most = max(most, math.Abs(float64(a)/float64(len(x))-float64(b)/float64(len(y))))
	}
	return most
}
