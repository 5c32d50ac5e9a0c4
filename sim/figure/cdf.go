package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
)

// distribution returns the corners of the empirical distribution of samples, from 0 up to 1. With
// infinite samples the curve ends below 1. Many samples are thinned by rank.
func distribution(samples []float64) plotter.XYs {
	finite := slices.DeleteFunc(slices.Clone(samples), func(v float64) bool {
		return math.IsInf(v, 0) || math.IsNaN(v)
	})
	if len(finite) == 0 {
		return nil
	}
	slices.Sort(finite)
	n := min(len(finite), maxPoints)
	out := plotter.XYs{{X: finite[0]}}
	for i := 1; i <= n; i++ {
		rank := i * len(finite) / n // 1 … len
		out = append(out, plotter.XY{X: finite[rank-1], Y: float64(rank) / float64(len(samples))})
	}
	return out
}
