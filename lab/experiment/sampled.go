package experiment

import (
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// Curve adds what was sampled to the series of a name, with times in seconds since zero.
func (j *Job) Curve(name string, sampled *fabric.Series, zero units.Time) {
	s := j.Series(name)
	for i, at := range sampled.Times {
		s.Add(at.Sub(zero).Seconds(), sampled.Values[i])
	}
}

// Means adds the mean of what was sampled in each whole interval until a time to the series of a
// name.
func (j *Job) Means(name string, sampled *fabric.Series, interval, until units.Duration) {
	s := j.Series(name)
	for at := units.Duration(0); at+interval <= until; at += interval {
		s.Add(at.Seconds(), sampled.Mean(units.Time(at), units.Time(at+interval)))
	}
}

// Refill returns how long after a time goodput begins to stay at 0.9 of a capacity for 500 µs, in
// bins of 50 µs. mean is the mean goodput of a span.
func Refill(
	mean func(from, to units.Duration) float64, after, end units.Duration, capacity float64,
) units.Duration {
	const bin, held = 50 * units.Microsecond, 500 * units.Microsecond
	full := units.Duration(0)
	for at := after; at+bin <= end; at += bin {
		if mean(at, at+bin) < 0.9*capacity {
			full = 0
		} else if full += bin; full == held {
			return at + bin - held - after
		}
	}
	return units.Forever
}
