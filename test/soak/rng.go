package main

import (
	"math"
	"math/rand/v2"
)

// rng is the random number generator that plans and simulations draw from.
type rng struct{ *rand.Rand }

func newRNG(seed, stream uint64) rng { return rng{rand.New(rand.NewPCG(seed, stream))} }

// chance returns true with probability p.
func (r rng) chance(p float64) bool { return r.Float64() < p }

// uniform returns an integer uniformly distributed in [low, high].
func uniform[T ~int | ~int64 | ~uint8 | ~uint16 | ~uint32](r rng, low, high T) T {
	return low + T(r.Int64N(int64(high-low)+1))
}

// logUniform returns a number in [low, high] whose logarithm is uniformly distributed, so that
// every order of magnitude is equally likely. low must be positive.
func logUniform[T ~int | ~int64 | ~float64](r rng, low, high T) T {
	return min(high, T(float64(low)*math.Pow(float64(high)/float64(low), r.Float64())))
}

// pick returns one of its arguments at random.
func pick[T any](r rng, of ...T) T { return of[r.IntN(len(of))] }
