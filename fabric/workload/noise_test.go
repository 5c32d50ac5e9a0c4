package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// TestDelayNoise checks PrioPlus's description: the tolerated 0.8 us are the 99.85th percentile,
// and almost no error exceeds 1 us.
func TestDelayNoise(t *testing.T) {
	assert.InDelta(t, 194, DelayNoise.Mean()/1000, 0.5)
	assert.InDelta(t, 182, DelayNoise.Quantile(0.5).Nanoseconds(), 1)
	assert.InDelta(t, 822, DelayNoise.Quantile(0.9985).Nanoseconds(), 1)
	assert.Equal(t, units.Duration(0), DelayNoise.Quantile(0))
	assert.Equal(t, 876*units.Nanosecond, DelayNoise.Quantile(1))

	rng := newRand(3)
	samples := make([]units.Duration, 100_000)
	for i := range samples {
		samples[i] = DelayNoise.Sample(rng)
	}
	assert.Less(t, distance(samples, DelayNoise), 1.95/316.2)
}

func TestFacebookCounts(t *testing.T) {
	assert.InDelta(t, 0.2928, FacebookMappers.CDF(1), 1e-12)
	assert.InDelta(t, 0.5684, FacebookReducers.CDF(1), 1e-12)
	assert.Equal(t, 0.0, FacebookMappers.CDF(0))
	assert.Equal(t, 1, FacebookMappers.Quantile(0))
	assert.Equal(t, 147, FacebookMappers.Quantile(1))
	assert.Equal(t, 145, FacebookReducers.Quantile(1))
	assert.Equal(t, 9, FacebookReducers.Quantile(0.68))
	assert.Equal(t, 11, FacebookReducers.Quantile(0.681), "no coflow has 10")
}
