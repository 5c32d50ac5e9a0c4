package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

func TestCurveAndMeans(t *testing.T) {
	const us = units.Microsecond
	sampled := &fabric.Series{}
	for i, v := range []float64{2, 4, 8, 8} {
		sampled.Add(units.Time(units.Duration(i)*us), v)
	}
	j := NewJob(t.Context(), Cell{}, Small, 1, nil)
	j.Curve("curve", sampled, units.Time(us))
	assert.InDeltaSlice(t, []float64{-1e-6, 0, 1e-6, 2e-6}, j.Series("curve").X, 1e-12)
	assert.Equal(t, Values{2, 4, 8, 8}, j.Series("curve").Y)
	j.Means("means", sampled, 2*us, 5*us)
	assert.InDeltaSlice(t, []float64{0, 2e-6}, j.Series("means").X, 1e-12)
	assert.Equal(t, Values{3, 8}, j.Series("means").Y)
}

// The link is full again at the first of ten full bins in a row.
func TestRefill(t *testing.T) {
	const us = units.Microsecond
	total := &fabric.Series{}
	for at := units.Duration(0); at < 4000*us; at += 20 * us {
		rate := 1.
		if at >= 2000*us && at < 2200*us || at == 2400*us {
			rate = 0.5
		}
		total.Add(units.Time(at), rate)
	}
	mean := func(from, to units.Duration) float64 {
		return total.Mean(units.Time(from), units.Time(to))
	}
	assert.Equal(t, 450*us, Refill(mean, 2000*us, 4000*us, 1),
		"a bin of 50 µs that is not full restarts the count")
	assert.Equal(t, units.Duration(0), Refill(mean, 2500*us, 4000*us, 1))
	assert.Equal(t, units.Forever, Refill(mean, 2000*us, 2600*us, 1), "too short to tell")
}
