package channels

import (
	"math"
	"slices"

	"github.com/goroce/goroce/units"
)

// Noise is how delays of one kind differ from the least of them. Noise only adds to a delay, so
// that is taken for the delay without it (section 4.3.2).
type Noise struct {
	Samples int
	Least   units.Duration // the delay itself
	Mean    units.Duration // and beyond Least
	P50     units.Duration
	P99     units.Duration
	P9985   units.Duration
	P999    units.Duration
	Max     units.Duration
}

// percentile is the one that B is: samples beyond it are left to the filter of two samples in a
// row.
const percentile = 0.9985

func noiseOf(samples []units.Duration) Noise {
	if len(samples) == 0 {
		return Noise{}
	}
	least := slices.Min(samples)
	beyond := make([]units.Duration, len(samples))
	for i, s := range samples {
		beyond[i] = s - least
	}
	n := distribution(beyond)
	n.Least = least
	return n
}

// distribution returns the distribution of values that are noise already, with no base to subtract.
func distribution(values []units.Duration) Noise {
	if len(values) == 0 {
		return Noise{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := Noise{Samples: len(sorted)}
	sum := 0.0
	for _, v := range sorted {
		sum += float64(v)
	}
	n.Mean = units.Duration(sum / float64(len(sorted)))
	n.P50, n.P99, n.P9985, n.P999 = quantile(sorted, 0.5), quantile(sorted, 0.99), quantile(sorted,
		percentile), quantile(sorted, 0.999)
	n.Max = sorted[len(sorted)-1]
	return n
}

// quantile is the least of the sorted values that a share q of them does not exceed.
func quantile(sorted []units.Duration, q float64) units.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// inARow counts how often so many samples, one after the other, were further beyond the least than
// b: each time PrioPlus's filter would let a flow stop, which then begins to count anew.
func inARow(samples []units.Duration, least, b units.Duration, filter int) int {
	times, row := 0, 0
	for _, s := range samples {
		if s-least <= b {
			row = 0
		} else if row++; row == filter {
			times, row = times+1, 0
		}
	}
	return times
}
