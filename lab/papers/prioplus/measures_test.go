package prioplus

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// steps returns a class that has these parts of a link of 1 bit/s, each for 500 µs.
func steps(parts ...float64) bins {
	b := bins{width: bin}
	for _, part := range parts {
		for range heldFor / bin {
			b.rate = append(b.rate, part)
		}
	}
	return b
}

func TestTakeoverAndRefill(t *testing.T) {
	const (
		ms = units.Millisecond
		us = units.Microsecond
	)
	all := steps(1, 1, 1, 1, 1, 1)
	late := steps(0, 0, 0.5, 1, 1, 1)
	assert.InDelta(t, 0.75, late.share(all, ms, 2*ms), 1e-12)
	// 0.9 of the mean of 500 µs: up to a tenth of them may still be at a half.
	assert.Equal(t, 400*us, late.takeover(all, ms, 3*ms))
	assert.Equal(t, units.Forever, steps(0, 0, 0.5, 0.5, 0.5, 0.5).takeover(all, ms, 3*ms))
	assert.Equal(t, 500*us, steps(0, 0, 0.5, 1, 0, 0).takeover(all, ms, 1600*us),
		"until its end, which is earlier")

	assert.Equal(t, 500*us, late.refill(ms, 1), "every bin must be full")
	assert.Equal(t, units.Duration(0), all.refill(ms, 1))
	assert.Equal(t, units.Forever, steps(1, 0, 0.8, 0).refill(500*us, 1))

	early := steps(1, 1, 0.5, 0.05, 0, 0)
	assert.Equal(t, 500*us, early.yield(all, ms, 3*ms))
	assert.Equal(t, units.Forever, steps(1, 1, 0, 0, 0, 1).yield(all, ms, 3*ms), "it resumed")

	assert.Equal(t, ms, steps(8, 8).delivered(1e-3))
}

func TestRamps(t *testing.T) {
	for n := 2; n <= 8; n++ {
		assert.InDelta(t, float64(n)/2, linear(n).delayed(), 1e-12)
		assert.InDelta(t, 1/float64(n), linear(n).step(), 1e-12)
	}
	assert.Equal(t, 0.5, exponential(8).step())
	assert.Equal(t, 1.0, lineRate().step())
	assert.Zero(t, lineRate().delayed())
}

// Two in a row, and then anew: of n samples that are all beyond, every second one stops a flow.
func TestPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	assert.InDelta(t, 500, pairs(random, 1-1e-9, 1000), 1)
	// p²/(1+p) of the samples, which is 1/(1/p+1/p²).
	assert.InEpsilon(t, 0.1*0.1/1.1*1e6, pairs(random, 0.1, 1_000_000), 0.05)
}

func TestMostWithin(t *testing.T) {
	assert.Equal(t, 3, mostWithin(experiment.Values{5, 1, 1.5, 2, 9}, 1))
	assert.Zero(t, mostWithin(nil, 1))
}

// A brief return between two stops is a part of the stop; a long one is not.
func TestWithoutReturns(t *testing.T) {
	us := units.Microsecond
	all := []phase{{0, sends}, {1000 * us, probes}, {1030 * us, sends}, {1130 * us, probes},
		{2000 * us, sends}, {2300 * us, probes}}
	left, returns := withoutReturns(all)
	assert.Equal(t, []phase{{0, sends}, {1000 * us, probes}, {2000 * us, sends},
		{2300 * us, probes}}, left)
	assert.InDeltaSlice(t, []float64{100e-6}, returns, 1e-12)
}

// The fluid exceeds its target by what all flows add in a round trip, at most.
func TestFluidSwing(t *testing.T) {
	for _, n := range []int{10, 100} {
		swing := fluidSwing(n, 12e-6, 32e-6)
		step := swingBound(n, 32e-6) / 1.8
		assert.InEpsilon(t, step, swing, 0.1, "%d flows", n)
	}
}
