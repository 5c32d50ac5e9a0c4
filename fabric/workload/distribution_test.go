package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

// example has a jump (300 twice) and a flat piece (0.5 twice).
var example = []point[units.Bytes]{{0, 0}, {100, 0.1}, {300, 0.2}, {300, 0.3}, {400, 0.5},
	{900, 0.5}, {1000, 1}}

func TestQuantileByHand(t *testing.T) {
	for _, c := range []struct {
		u            float64
		linear, step units.Bytes
	}{
		{0, 1, 1}, // the first size, 0, is at least 1 B
		{0.001, 1, 100},
		{0.0199, 19, 100}, // 19.9
		{0.05, 50, 100},
		{0.1, 100, 100},
		{0.1505, 200, 300}, // 200.999 or so
		{0.2, 300, 300},
		{0.25, 300, 300}, // within the jump
		{0.4, 350, 400},
		{0.5, 400, 400}, // the first of the flat piece
		{0.501, 900, 1000},
		{0.75, 950, 1000},
		{1, 1000, 1000},
		{-1, 1, 1},
		{2, 1000, 1000},
		{math.NaN(), 1000, 1000},
	} {
		assert.Equal(t, c.linear, newSizes(Linear, example).Quantile(c.u), "linear, u = %v", c.u)
		assert.Equal(t, c.step, newSizes(Step, example).Quantile(c.u), "step, u = %v", c.u)
	}
}

func TestFirstPointMayHaveProbability(t *testing.T) {
	points := []point[units.Bytes]{{10, 0.5}, {20, 1}}
	for _, rule := range []Rule{Linear, Step} {
		d := newSizes(rule, points)
		assert.EqualValues(t, 10, d.Quantile(0))
		assert.EqualValues(t, 10, d.Quantile(0.5))
		assert.Equal(t, 0.0, d.CDF(9))
	}
	assert.EqualValues(t, 15, newSizes(Linear, points).Quantile(0.75))
	assert.EqualValues(t, 20, newSizes(Step, points).Quantile(0.75))
}

func TestCDFByHand(t *testing.T) {
	for _, c := range []struct {
		size         units.Bytes
		linear, step float64
	}{
		{-1, 0, 0},
		{0, 0, 0},
		{1, 0.002, 0}, // what is drawn below 2
		{99, 0.1, 0},
		{199, 0.15, 0.1},
		{299, 0.2, 0.1},
		{300, 0.302, 0.3},
		{399, 0.5, 0.3},
		{400, 0.5, 0.5},
		{899, 0.5, 0.5},
		{949, 0.75, 0.5},
		{999, 1, 0.5},
		{1000, 1, 1},
		{math.MaxInt64, 1, 1},
	} {
		assert.InDelta(t, c.linear, newSizes(Linear, example).CDF(c.size), 1e-12, "linear, %v",
			c.size)
		assert.InDelta(t, c.step, newSizes(Step, example).CDF(c.size), 1e-12, "step, %v", c.size)
	}
}

func TestMeanByHand(t *testing.T) {
	// 0.1 of 0..99, of which 0 is 1; 0.1 of 100..299; 0.1 of 300; 0.2 of 300..399; 0.5 of 900..999.
	linear := 0.1*(49.5+0.01) + 0.1*199.5 + 0.1*300 + 0.2*349.5 + 0.5*949.5
	assert.InDelta(t, linear, newSizes(Linear, example).Mean(), 1e-9)
	step := 0.1*100 + 0.1*300 + 0.1*300 + 0.2*400 + 0.5*1000
	assert.InDelta(t, step, newSizes(Step, example).Mean(), 1e-9)
}

func TestFixedAndUniform(t *testing.T) {
	rng := newRand(1)
	one := Fixed(64 * units.KiB)
	assert.Equal(t, 64*units.KiB, one.Sample(rng))
	assert.Equal(t, 65536.0, one.Mean())
	assert.Equal(t, 0.0, one.CDF(64*units.KiB-1))
	assert.Equal(t, 1.0, one.CDF(64*units.KiB))
	assert.Equal(t, 20, Fixed(20).Sample(rng))

	dice := Uniform(1, 7)
	assert.InDelta(t, 3.5, dice.Mean(), 1e-12)
	var seen [7]int
	for range 60_000 {
		seen[dice.Sample(rng)]++
	}
	assert.Zero(t, seen[0])
	for _, n := range seen[1:] {
		assert.InDelta(t, 10_000, n, 500)
	}
	assert.Equal(t, 5, Uniform(5, 5).Sample(rng))
	assert.Equal(t, 5, Uniform(5, 6).Sample(rng))
	assert.Equal(t, 5, Uniform(5, 1).Sample(rng))
}

var drawRule = rapid.SampledFrom([]Rule{Linear, Step})

// drawTable makes any table of few, small sizes, with jumps and flat pieces.
func drawTable(t *rapid.T) *Sizes {
	n := rapid.IntRange(1, 8).Draw(t, "points")
	sizes := rapid.SliceOfN(rapid.Int64Range(0, 30), n, n).Draw(t, "sizes")
	cum := rapid.SliceOfN(rapid.IntRange(0, 16), n, n).Draw(t, "sixteenths")
	slices.Sort(sizes)
	slices.Sort(cum)
	cum[n-1] = 16
	points := make([]point[units.Bytes], n)
	for i := range points {
		points[i] = point[units.Bytes]{units.Bytes(sizes[i]), float64(cum[i]) / 16}
	}
	return newSizes(drawRule.Draw(t, "rule"), points)
}

// TestMeanIsThatOfTheSamples goes through the random numbers evenly instead of drawing them.
func TestMeanIsThatOfTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawTable(t)
		const n = 4096
		var sum float64
		for i := range n {
			sum += float64(d.Quantile((float64(i) + 0.5) / n))
		}
		require.InDelta(t, d.Mean(), sum/n, 0.03)
	})
}

// TestCDFCountsTheSamples: CDF and Quantile are two views of one function.
func TestCDFCountsTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawTable(t)
		size := units.Bytes(rapid.Int64Range(-1, 32).Draw(t, "size"))
		const n = 4096
		var atMost int
		for i := range n {
			if d.Quantile((float64(i)+0.5)/n) <= size {
				atMost++
			}
		}
		require.InDelta(t, d.CDF(size), float64(atMost)/n, 9.0/n) // a step in each of the 8 pieces
	})
}

// TestSamplesFollowTheTable is a Kolmogorov-Smirnov test of every table: with n samples the largest
// distance is above 1.95/sqrt(n) once in a thousand seeds. This one is fixed.
func TestSamplesFollowTheTable(t *testing.T) {
	const n = 100_000
	samples := make([]units.Bytes, n)
	for _, name := range Names() {
		d, err := ByName(name)
		require.NoError(t, err)
		rng := newRand(7)
		for i := range samples {
			samples[i] = d.Sample(rng)
		}
		assert.Less(t, distance(samples, d), 1.95/math.Sqrt(n), name)
	}
}

// distance answers the largest difference between the part of the samples that is at most a size
// and its probability.
func distance[T ~int | ~int64](samples []T, d *Distribution[T]) float64 {
	slices.Sort(samples)
	var largest float64
	for i, v := range samples {
		if i+1 < len(samples) && samples[i+1] == v {
			continue
		}
		largest = max(largest, math.Abs(float64(i+1)/float64(len(samples))-d.CDF(v)))
	}
	return largest
}

func TestSamplingDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		WebSearch.Sample(rng)
		Memcached.Sample(rng)
		FacebookMappers.Sample(rng)
		DelayNoise.Sample(rng)
	}))
}

func BenchmarkSample(b *testing.B) {
	rng := newRand(1)
	for b.Loop() {
		Memcached.Sample(rng)
	}
}
