package units

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDurationText(t *testing.T) {
	for _, c := range []struct {
		d    Duration
		text string
	}{
		{0, "0s"},
		{1, "1ps"},
		{999, "999ps"},
		{-5, "-5ps"},
		{Nanosecond, "1ns"},
		{850 * Nanosecond, "850ns"},
		{1234, "1.234ns"},
		{4096 * Nanosecond, "4.096us"},
		{999999999, "999.999999us"},
		{Millisecond, "1ms"},
		{-1500 * Microsecond, "-1.5ms"},
		{2 * Second, "2s"},
		{90 * Minute, "5400s"},
	} {
		assert.Equal(t, c.text, c.d.String())
		assert.Equal(t, c.text, Time(c.d).String())
		back, err := ParseDuration(c.text)
		require.NoError(t, err)
		assert.Equal(t, c.d, back)
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]Duration{
		"1m": Minute, "3 µs": 3 * Microsecond, " 0.5ns ": 500, "0.4ps": 0, "0.6ps": 1,
		"1e3ns": Microsecond,
		".5us":  500 * Nanosecond, "100s": 100 * Second,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "1", "s", "1h", "1 S", "x5s", "1.2.3s", "1e30s", "--1s",
		"5sec", "NaNs", "Infs"} {
		_, err := ParseDuration(text)
		assert.ErrorContains(t, err, `"`+text+`"`)
	}
}

func TestDurationInOtherUnits(t *testing.T) {
	d := 1500 * Microsecond
	assert.Equal(t, 0.0015, d.Seconds())
	assert.Equal(t, 1500.0, d.Microseconds())
	assert.Equal(t, 1.5e6, d.Nanoseconds())
	assert.Equal(t, 1500*time.Microsecond, d.Std())
	assert.Equal(t, d, FromStd(1500*time.Microsecond))
	assert.Equal(t, time.Duration(1), Duration(1999).Std())
}

func TestFromStdSaturates(t *testing.T) {
	const limit = time.Duration(math.MaxInt64 / 1000)
	assert.Equal(t, Duration(limit)*1000, FromStd(limit))
	assert.EqualValues(t, math.MaxInt64, FromStd(limit+1))
	assert.Equal(t, -Duration(limit)*1000, FromStd(-limit))
	assert.EqualValues(t, math.MinInt64, FromStd(-limit-1))
	assert.EqualValues(t, math.MaxInt64, FromStd(math.MaxInt64))
	assert.EqualValues(t, math.MinInt64, FromStd(math.MinInt64))
}

// TestTimeWraps: order and difference do not depend on where the epoch is.
func TestTimeWraps(t *testing.T) {
	for _, start := range []Time{0, 1, -1, math.MaxInt64, math.MaxInt64 - 5, math.MinInt64} {
		for _, d := range []Duration{1, Second, Forever} {
			later := start.Add(d)
			assert.True(t, start.Before(later), "%d + %v", start, d)
			assert.True(t, later.After(start))
			assert.False(t, later.Before(start))
			assert.False(t, start.After(later))
			assert.Equal(t, d, later.Sub(start))
			assert.Equal(t, -d, start.Sub(later))
			assert.Equal(t, start, Earlier(start, later))
			assert.Equal(t, start, Earlier(later, start))
		}
		assert.False(t, start.Before(start))
		assert.False(t, start.After(start))
	}
	rapid.Check(t, func(t *rapid.T) {
		start := Time(rapid.Int64().Draw(t, "start"))
		a := Duration(rapid.Int64Range(0, int64(Forever)).Draw(t, "a"))
		b := Duration(rapid.Int64Range(0, int64(Forever)).Draw(t, "b"))
		require.Equal(t, a < b, start.Add(a).Before(start.Add(b)))
		require.Equal(t, a > b, start.Add(a).After(start.Add(b)))
		require.Equal(t, start.Add(min(a, b)), Earlier(start.Add(a), start.Add(b)))
	})
}

// exact is the range in which text is exact: it goes through a float64 that is divided on the way
// out and multiplied on the way in, and each may be wrong by half of the last of 53 bits.
const exact = 1 << 50

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(-exact, exact).Draw(t, "d"))
		back, err := ParseDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, d, back)
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"", "1ps", "4.096us", "3 µs", "-1e3ms", "1e400s",
		"9223372.036854775807s", "5", "0x1p3s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			require.Zero(t, d)
			return
		}
		if d < -exact || d > exact {
			return
		}
		back, err := ParseDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, d, back)
	})
}
