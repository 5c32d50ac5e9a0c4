package prioplus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// bins is the goodput of one class, or of several, in equal intervals.
type bins struct {
	width units.Duration
	rate  []float64 // bit/s
}

// binsOf sums the goodput of flows, which was measured in intervals of width.
func binsOf(width units.Duration, flows []*sim.Trace) bins {
	b := bins{width: width}
	for _, f := range flows {
		for k, v := range f.Goodput.Values[1:] { // the first is before the first interval
			if k == len(b.rate) {
				b.rate = append(b.rate, 0)
			}
			b.rate[k] += v
		}
	}
	return b
}

// mean returns the mean of the intervals within a span.
func (b bins) mean(from, to units.Duration) float64 {
	sum, n := 0.0, 0
	for k := int((from + b.width - 1) / b.width); k < min(int(to/b.width), len(b.rate)); k++ {
		sum += b.rate[k]
		n++
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// share returns the class's part of all goodput in a span.
func (b bins) share(all bins, from, to units.Duration) float64 {
	return b.mean(from, to) / all.mean(from, to)
}

// The catalogue's definitions (common.yaml): how long a takeover and a refill hold, in steps of a
// bin.
const (
	heldFor = 500 * units.Microsecond
	bin     = 50 * units.Microsecond
)

// takeover returns how long after start the class has 0.9 of all goodput for 500 µs, or until its
// end.
func (b bins) takeover(all bins, start, end units.Duration) units.Duration {
	for at := (start + bin - 1) / bin * bin; at < end; at += bin {
		if b.share(all, at, min(at+heldFor, max(end, at+bin))) >= 0.9 {
			return at - start
		}
	}
	return units.Forever
}

// refill returns how long after stop the total begins to stay at 0.9 of the link for 500 µs, in
// steps of a bin.
func (b bins) refill(stop units.Duration, capacity float64) units.Duration {
	return experiment.Refill(b.mean, stop, units.Duration(len(b.rate))*b.width, capacity)
}

// keep records the bins for a figure.
func (b bins) keep(j *experiment.Job, name string) {
	s := j.Series(name)
	for k, v := range b.rate {
		s.Add((units.Duration(k) * b.width).Seconds(), v)
	}
}

// yield returns how long after start b's share stays below 0.1 until end, in steps of a bin.
func (b bins) yield(all bins, start, end units.Duration) units.Duration {
	at := end
	for at-bin >= start && b.share(all, at-bin, at) < 0.1 {
		at -= bin
	}
	if at == end {
		return units.Forever
	}
	return at - start
}

// delivered returns when a number of bytes had arrived.
func (b bins) delivered(bytes float64) units.Duration {
	for k, v := range b.rate {
		if bytes -= v / 8 * b.width.Seconds(); bytes <= 0 {
			return units.Duration(k+1) * b.width
		}
	}
	return units.Duration(len(b.rate)) * b.width
}
