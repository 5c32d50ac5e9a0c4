package perftest

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/goroce/goroce/units"
)

// Latencies above this count as this.
const maxLatency = units.Minute

// latencies keeps any number of samples in constant memory: an HDR histogram of nanoseconds with
// three significant digits for the percentiles, and exact extremes, sum and sum of squares.
type latencies struct {
	hdr      *hdrhistogram.Histogram
	n        uint64
	min, max units.Duration
	mean, m2 float64 // of nanoseconds; Welford's sum of squared deviations
}

func newLatencies() *latencies {
	return &latencies{hdr: hdrhistogram.New(1, int64(maxLatency/units.Nanosecond), 3)}
}

// record adds a sample.
func (l *latencies) record(d units.Duration) {
	if l.n == 0 || d < l.min {
		l.min = d
	}
	l.max = max(l.max, d)
	l.n++
	ns := d.Nanoseconds()
	delta := ns - l.mean
	l.mean += delta / float64(l.n)
	l.m2 += delta * (ns - l.mean)
	// Rounded to the nearest: half a round trip is often half a nanosecond.
	_ = l.hdr.RecordValue(min(int64((d+units.Nanosecond/2)/units.Nanosecond),
		int64(maxLatency/units.Nanosecond)))
}

// reset forgets all samples.
func (l *latencies) reset() {
	l.hdr.Reset()
	*l = latencies{hdr: l.hdr}
}

// merge adds the samples of another (Chan's formula for the deviations).
func (l *latencies) merge(o *latencies) {
	if o.n == 0 {
		return
	}
	if l.n == 0 || o.min < l.min {
		l.min = o.min
	}
	l.max = max(l.max, o.max)
	n := float64(l.n + o.n)
	delta := o.mean - l.mean
	l.m2 += o.m2 + delta*delta*float64(l.n)*float64(o.n)/n
	l.mean += delta * float64(o.n) / n
	l.n += o.n
	l.hdr.Merge(o.hdr)
}

// micros answers a percentile in microseconds.
func (l *latencies) micros(percentile float64) float64 {
	if l.n == 0 {
		return 0
	}
	// The histogram answers the upper end of a bucket, which the largest sample may be below.
	return min(float64(l.hdr.ValueAtQuantile(percentile))/1e3, max(l.max.Microseconds(), 0.001))
}

// stdev is the standard deviation of the samples in microseconds.
func (l *latencies) stdev() float64 {
	if l.n < 2 {
		return 0
	}
	return math.Sqrt(l.m2/float64(l.n)) / 1e3
}

// percentiles in microseconds.
func (l *latencies) percentiles() Percentiles {
	return Percentiles{
		P50: l.micros(50), P90: l.micros(90), P99: l.micros(99), P999: l.micros(99.9),
		P9999: l.micros(99.99),
		Max:   l.max.Microseconds(),
	}
}
