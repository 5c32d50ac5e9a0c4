package workload

import (
	"errors"
	"math/rand/v2"
	"sort"

	"github.com/goroce/goroce/units"
)

// Rule is the interpolation between the points of a table.
type Rule int

const (
	// Linear interpolates linearly between two points and drops the fraction, as the traffic
	// generators of HPCC and ExpressPass do.
	Linear Rule = iota
	// Step returns only listed values: the smallest with a cumulative probability not below the one
	// drawn, as HomaSimulation does.
	Step
)

// Distribution is a table of cumulative probabilities with a Rule. It is immutable and may be
// shared by users with separate random number generators.
type Distribution[T ~int | ~int64] struct {
	rule  Rule
	least T
	value []T       // not decreasing
	cum   []float64 // not decreasing; the last is 1
	mean  float64
}

type (
	// Sizes is a distribution of flow sizes of at least 1 B.
	Sizes = Distribution[units.Bytes]
	// Counts is a distribution of counts of at least 1.
	Counts = Distribution[int]
	// Delays is a distribution of delays that are not negative.
	Delays = Distribution[units.Duration]
)

// point is a point of a table: a sample is at most value with probability cum.
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

// Fixed returns the distribution of one value: Fixed(64*units.KiB) is a Sizes, Fixed(20) a Counts.
func Fixed[T ~int | ~int64](v T) *Distribution[T] {
	return newDistribution(Step, v, []point[T]{{v, 1}})
}

// Uniform returns the uniform distribution of the integers in [low, high), or Fixed(low) if high is
// at most low+1.
func Uniform[T ~int | ~int64](low, high T) *Distribution[T] {
	if high <= low {
		return Fixed(low)
	}
	return newDistribution(Linear, low, []point[T]{{low, 0}, {high, 1}})
}

// Over returns the distribution of samples divided by n.
func (d *Distribution[T]) Over(n T) *Distribution[T] {
	points := make([]point[T], len(d.value))
	for i, v := range d.value {
		points[i] = point[T]{v / n, d.cum[i]}
	}
	return newDistribution(d.rule, d.least, points)
}

// Sample draws one value.
func (d *Distribution[T]) Sample(rng *rand.Rand) T { return d.Quantile(rng.Float64()) }

// Quantile returns the u-quantile for u from 0 to 1, which is what Sample returns for a random
// number u.
func (d *Distribution[T]) Quantile(u float64) T {
	i := sort.SearchFloat64s(d.cum, u)
	switch {
	case i == len(d.cum):
		i--
	case i > 0 && d.rule == Linear:
		// cum[i-1] < u <= cum[i], so flat pieces of the table cannot cause a division by zero.
		part := (u - d.cum[i-1]) / (d.cum[i] - d.cum[i-1])
		low, high := d.value[i-1], d.value[i]
		return max(d.least, min(high, T(float64(low)+part*float64(high-low))))
	}
	return max(d.least, d.value[i])
}

// CDF returns the probability of a sample of at most v.
func (d *Distribution[T]) CDF(v T) float64 {
	if v < d.least {
		return 0
	}
	// With Linear, samples of at most v are below v+1 before the fraction is dropped.
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

// Mean returns the mean of the samples under the distribution's Rule.
func (d *Distribution[T]) Mean() float64 { return d.mean }

// expectation returns the mean as a sum over the pieces of the table. With the fraction dropped, a
// piece from low to high has the integers from low to high-1, all equally likely; least exceeds low
// by at most 1.
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

// checkSizes returns an error if a distribution is not valid for flow sizes.
func checkSizes(s *Sizes) error {
	if s == nil {
		return errors.New("no sizes")
	}
	if s.Quantile(0) < 1 {
		return errors.New("sizes below 1 byte")
	}
	return nil
}
