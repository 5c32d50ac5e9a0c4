package main

import (
	"math"
	"slices"
)

// outcome is one run of a trial.
type outcome struct {
	Value   float64 `json:"value"`
	Seconds float64 `json:"seconds"`         // that the process took
	Error   string  `json:"error,omitempty"` // why there is no value
}

// values returns the values of the runs that have one.
func values(runs []outcome) (v []float64) {
	for _, r := range runs {
		if r.Error == "" {
			v = append(v, r.Value)
		}
	}
	return v
}

// failures returns the errors of runs, in order.
func failures(runs []outcome) (errs []string) {
	for _, r := range runs {
		if r.Error != "" {
			errs = append(errs, r.Error)
		}
	}
	return errs
}

// median returns the middle value, the mean of the two middle ones of an even number, and NaN of
// none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	half := len(v) / 2
	if len(v)%2 == 1 {
		return v[half]
	}
	return (v[half-1] + v[half]) / 2
}

// least returns the smallest value, NaN of none.
func least(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return slices.Min(v)
}

// order returns the order of n trials in a round: reversed every other round.
func order(n, round int) []int {
	is := make([]int, n)
	for i := range is {
		is[i] = i
		if round%2 == 1 {
			is[i] = n - 1 - i
		}
	}
	return is
}
