package main

import (
	"math"
	"math/rand/v2"
)

// dice draws what a plan is made of.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

// chance answers true with a probability.
func (d dice) chance(p float64) bool { return d.Float64() < p }

// between draws a whole number, both ends included.
func between[T ~int | ~int64 | ~uint8 | ~uint16 | ~uint32](d dice, low, high T) T {
	return low + T(d.Int64N(int64(high-low)+1))
}

// scale draws a number from low to high whose logarithm is uniform: each order of magnitude is as
// likely as another. low is positive.
func scale[T ~int | ~int64 | ~float64](d dice, low, high T) T {
	return min(high, T(float64(low)*math.Pow(float64(high)/float64(low), d.Float64())))
}

// oneOf draws one of several.
func oneOf[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }
