package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Time is a moment in picoseconds since an epoch that its clock chose: the start of a simulation,
// or the start of a Host. Compare times with Before and After, never with <: the value may wrap.
type Time int64

// Duration is a length of time in picoseconds. Its range is ±106 days.
type Duration int64

// The units of Duration.
const (
	Picosecond  Duration = 1
	Nanosecond           = 1000 * Picosecond
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
)

// Forever is longer than anything waits: what a Poll answers that has nothing to wait for.
// It is half the range, so that now + Forever is after now whatever now is.
const Forever Duration = math.MaxInt64 / 2

// Add answers the moment d after t.
func (t Time) Add(d Duration) Time { return t + Time(d) }

// Sub answers the time from u to t, negative when t is before u.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Before says whether t comes before u.
func (t Time) Before(u Time) bool { return t-u < 0 }

// After says whether t comes after u.
func (t Time) After(u Time) bool { return t-u > 0 }

// Earlier answers the earlier of two moments.
func Earlier(t, u Time) Time {
	if t.Before(u) {
		return t
	}
	return u
}

// String shows the time since the epoch, as a Duration does.
func (t Time) String() string { return Duration(t).String() }

// FromStd turns the standard library's nanoseconds into a Duration; what does not fit saturates.
func FromStd(d time.Duration) Duration {
	const limit = time.Duration(math.MaxInt64 / int64(Nanosecond))
	switch {
	case d > limit:
		return math.MaxInt64
	case d < -limit:
		return math.MinInt64
	}
	return Duration(d) * Nanosecond
}

// Std turns d into the standard library's nanoseconds, rounding down.
func (d Duration) Std() time.Duration { return time.Duration(d / Nanosecond) }

// Seconds answers d in seconds.
func (d Duration) Seconds() float64 { return float64(d) / float64(Second) }

// Microseconds answers d in microseconds.
func (d Duration) Microseconds() float64 { return float64(d) / float64(Microsecond) }

// Nanoseconds answers d in nanoseconds.
func (d Duration) Nanoseconds() float64 { return float64(d) / float64(Nanosecond) }

var durationUnits = []struct {
	name string
	size Duration
}{{"ps", Picosecond}, {"ns", Nanosecond}, {"us", Microsecond}, {"µs", Microsecond},
	{"ms", Millisecond}, {"s", Second}, {"m", Minute}}

// String shows d in the largest unit of which it has at least one: 850ns, 4.096us, 2s.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	magnitude := math.Abs(float64(d))
	switch {
	case magnitude < float64(Nanosecond):
		return strconv.FormatInt(int64(d), 10) + "ps"
	case magnitude < float64(Microsecond):
		return trimmed(float64(d)/float64(Nanosecond)) + "ns"
	case magnitude < float64(Millisecond):
		return trimmed(float64(d)/float64(Microsecond)) + "us"
	case magnitude < float64(Second):
		return trimmed(float64(d)/float64(Millisecond)) + "ms"
	}
	return trimmed(float64(d)/float64(Second)) + "s"
}

func trimmed(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// ParseDuration reads a number with a unit: ps, ns, us, µs, ms, s or m.
func ParseDuration(s string) (Duration, error) {
	number, unit := split(s)
	for _, u := range durationUnits {
		if u.name == unit {
			v, err := strconv.ParseFloat(number, 64)
			scaled := v * float64(u.size)
			if err != nil || math.IsNaN(scaled) || math.Abs(scaled) >= math.MaxInt64 {
				break
			}
			return Duration(math.Round(scaled)), nil
		}
	}
	return 0, fmt.Errorf("units: duration %q is not a number with one of ps, ns, us, ms, s, m", s)
}

// split parts a quantity into its number and its unit.
func split(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexAny(s, "0123456789.") + 1
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i:])
}
