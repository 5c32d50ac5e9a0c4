package figure

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{
		{2, 256, []string{"2", "5", "10", "20", "50", "100", "200"}},
		{4.7, 70000, []string{"10", "100", "1000", "10000"}},
		{1, 100, []string{"1", "2", "5", "10", "20", "50", "100"}},
		{0.0002, 0.003, []string{"0.0002", "0.0005", "0.001", "0.002"}},
		{2, 4, []string{"2", "3", "4"}},
		{1e5, 1e9, []string{"100000", "10⁶", "10⁷", "10⁸", "10⁹"}},
		{1e-20, 1e20, []string{"10⁻²⁰", "10⁻¹⁵", "10⁻¹⁰", "10⁻⁵", "1", "100000",
			"10¹⁰", "10¹⁵", "10²⁰"}},
	} {
		var labels []string
		for _, tick := range (logTicks{}).Ticks(c.low, c.high) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		assert.Equal(t, c.want, labels)
	}
}

// TestLogTicksAreOnTheAxis: no mark is outside the limits, and there are not many.
func TestLogTicksAreOnTheAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-199, 1e199).Draw(t, "low")
		high := low * rapid.Float64Range(1.001, 1e100).Draw(t, "ratio")
		ticks := (logTicks{}).Ticks(low, high)
		assert.LessOrEqual(t, len(ticks), 100)
		for _, tick := range ticks {
			assert.GreaterOrEqual(t, tick.Value, low*(1-1e-8))
			assert.LessOrEqual(t, tick.Value, high*(1+1e-8))
		}
	})
}
