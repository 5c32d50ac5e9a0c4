package workload

import (
	"errors"
	"math/rand/v2"
	"sort"

	"github.com/goroce/goroce/units"
)

// Rule says what a table of a distribution means between its points.
type Rule int

const (
	// Linear interpolates the value linearly between two points and drops the fraction, as the
	// traffic generators of HPCC and ExpressPass do.
	Linear Rule = iota
	// Step knows no values but those listed: the smallest whose cumulative probability is at
	// least the one drawn, as HomaSimulation does.
	Step
)

// Distribution is a table of cumulative probabilities, read by a Rule. It does not change, so that
// many may sample it, each with a random source of its own.
type Distribution[T ~int | ~int64] struct {
	rule  Rule
	least T
	value []T       // not decreasing
	cum   []float64 // not decreasing; the last is 1
	mean  float64
}

type (
	// Sizes is a distribution of flow sizes; none is less than 1 B.
	Sizes = Distribution[units.Bytes]
	// Counts is a distribution of how many; none is less than 1.
	Counts = Distribution[int]
	// Delays is a distribution of delays; none is negative.
	Delays = Distribution[units.Duration]
)

// point says that a sample is at most value with probability cum.
type point[T ~int | ~int64] struct {
	value T
	cum   float64
}

func newDistribution[T ~int | ~int64](rule Rule, least T, points []point[T]) *Distribution[T] {
	d := &Distribution[T]{rule: rule, least: least}
	for _, p := range points {
		d.value = append(d.value, p.value)
		d.cum = append(d.cum, p.cum)
	}
	d.mean = d.expectation()
	return d
}

func newSizes(rule Rule, points []point[units.Bytes]) *Sizes {
	return newDistribution(rule, 1, points)
}

// Fixed is the distribution of one value: Fixed(64*units.KiB) is Sizes, Fixed(20) is Counts.
func Fixed[T ~int | ~int64](v T) *Distribution[T] {
	return newDistribution(Step, v, []point[T]{{v, 1}})
}

// Uniform has every whole value from low on, below high, equally often. It is Fixed(low) when high
// is no more than low+1.
func Uniform[T ~int | ~int64](low, high T) *Distribution[T] {
	if high <= low {
		return Fixed(low)
	}
	return newDistribution(Linear, low, []point[T]{{low, 0}, {high, 1}})
}

// Sample draws one value.
func (d *Distribution[T]) Sample(rng *rand.Rand) T { return d.Quantile(rng.Float64()) }

// Quantile answers the value that the share u of all samples, from 0 to 1, is not above: what
// Sample makes of a random number u.
func (d *Distribution[T]) Quantile(u float64) T {
	i := sort.SearchFloat64s(d.cum, u)
	switch {
	case i == len(d.cum):
		i--
	case i > 0 && d.rule == Linear:
		// cum[i-1] < u <= cum[i], so that flat pieces of the table cannot divide by zero.
		part := (u - d.cum[i-1]) / (d.cum[i] - d.cum[i-1])
		low, high := d.value[i-1], d.value[i]
		return max(d.least, min(high, T(float64(low)+part*float64(high-low))))
	}
	return max(d.least, d.value[i])
}

// CDF answers the probability of a sample that is at most v.
func (d *Distribution[T]) CDF(v T) float64 {
	if v < d.least {
		return 0
	}
	// With Linear, at most v is what was less than v+1 before its fraction was dropped.
	i := sort.Search(len(d.value), func(i int) bool { return d.value[i] > v })
	switch {
	case i == len(d.value):
		return 1
	case i == 0:
		return 0
	case d.rule == Step:
		return d.cum[i-1]
	}
	part := float64(v+1-d.value[i-1]) / float64(d.value[i]-d.value[i-1])
	return d.cum[i-1] + part*(d.cum[i]-d.cum[i-1])
}

// Mean answers the mean of the samples, by the same rule as they are drawn.
func (d *Distribution[T]) Mean() float64 { return d.mean }

// expectation sums over the pieces of the table. Dropping the fraction makes a piece from low to
// high the whole values from low to high-1, each equally often; least is at most 1 above low.
func (d *Distribution[T]) expectation() float64 {
	sum := d.cum[0] * float64(max(d.least, d.value[0]))
	for i := 1; i < len(d.cum); i++ {
		low, high := d.value[i-1], d.value[i]
		mean := float64(max(d.least, high))
		if d.rule == Linear && low < high {
			mean = (float64(low) + float64(high) - 1) / 2
			if low < d.least {
				mean += 1 / float64(high-low)
			}
		}
		sum += mean * (d.cum[i] - d.cum[i-1])
	}
	return sum
}

// checkSizes says what makes a distribution unfit for flows.
func checkSizes(s *Sizes) error {
	if s == nil {
		return errors.New("no sizes")
	}
	if s.Quantile(0) < 1 {
		return errors.New("sizes below 1 byte")
	}
	return nil
}
