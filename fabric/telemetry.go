package fabric

import (
	"slices"

	"github.com/goroce/goroce/units"
)

// Series is a recorded time series. A value holds from its time to the time of the next.
type Series struct {
	Times  []units.Time
	Values []float64
}

// Add records a value. It replaces a previous value of the same time.
func (s *Series) Add(at units.Time, v float64) {
	if n := len(s.Times); n > 0 && s.Times[n-1] == at {
		s.Values[n-1] = v
		return
	}
	s.Times, s.Values = append(s.Times, at), append(s.Values, v)
}

// Sample records a quantity at equal intervals from now on.
func (n *Network) Sample(interval units.Duration, quantity func() float64) *Series {
	s := &Series{}
	n.Every(interval, func(now units.Time) bool {
		s.Add(now, quantity())
		return true
	})
	return s
}

// SampleRate records the growth of a byte counter in bits per second at equal intervals.
func (n *Network) SampleRate(interval units.Duration, counter func() uint64) *Series {
	before := counter()
	first := true
	return n.Sample(interval, func() float64 {
		now := counter()
		grew := now - before
		before = now
		if first {
			first = false
			return 0
		}
		return float64(grew) * 8 / interval.Seconds()
	})
}

// RecordQueue records the length of a queue in bytes whenever it changes.
func (p *Port) RecordQueue(queue int) *Series {
	s := &Series{}
	s.Add(p.net.now, float64(p.queues[queue].bytes))
	p.Watch(queue, func(at units.Time, length units.Bytes) { s.Add(at, float64(length)) })
	return s
}

// piece is a value and the time for which it held.
type piece struct {
	value float64
	held  units.Duration
}

// pieces returns the pieces of the series in a time span, and their total duration.
func (s *Series) pieces(from, to units.Time) (out []piece, total units.Duration) {
	for i, at := range s.Times {
		end := to
		if i+1 < len(s.Times) {
			end = units.Earlier(s.Times[i+1], to)
		}
		if at.Before(from) {
			at = from
		}
		if held := end.Sub(at); held > 0 {
			out = append(out, piece{s.Values[i], held})
			total += held
		}
	}
	return out, total
}

// Mean returns the time-weighted mean over a span, or 0 if it has no values.
func (s *Series) Mean(from, to units.Time) float64 {
	pieces, total := s.pieces(from, to)
	sum := 0.0
	for _, p := range pieces {
		sum += p.value * float64(p.held)
	}
	if total == 0 {
		return 0
	}
	return sum / float64(total)
}

// Percentile returns the time-weighted p-th percentile over a span, or 0 if it has no values.
func (s *Series) Percentile(p float64, from, to units.Time) float64 {
	pieces, total := s.pieces(from, to)
	if total == 0 {
		return 0
	}
	slices.SortFunc(pieces, func(a, b piece) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	left := p / 100 * float64(total)
	for _, piece := range pieces {
		if left -= float64(piece.held); left <= 0 {
			return piece.value
		}
	}
	return pieces[len(pieces)-1].value
}

// Max returns the largest value in a span, or 0 if none is positive.
func (s *Series) Max(from, to units.Time) float64 {
	pieces, _ := s.pieces(from, to)
	largest := 0.0
	for _, p := range pieces {
		largest = max(largest, p.value)
	}
	return largest
}
