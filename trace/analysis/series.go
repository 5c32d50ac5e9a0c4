package analysis

import "github.com/goroce/goroce/units"

// buckets is the largest number of points of a Series.
const buckets = 512

// Series is a quantity over time in at most 512 intervals of equal length, which doubles whenever
// the series becomes longer.
type Series struct {
	from   units.Time
	width  units.Duration
	points []bucket
}

type bucket struct {
	n                   int
	sum, min, max, last float64
}

// Add adds a value at a time.
func (s *Series) Add(at units.Time, v float64) {
	if s.points == nil {
		s.from, s.width = at, units.Microsecond
	}
	i := max(0, at.Sub(s.from)/s.width)
	for i >= buckets {
		s.halve()
		i = at.Sub(s.from) / s.width
	}
	for len(s.points) <= int(i) {
		s.points = append(s.points, bucket{})
	}
	b := &s.points[i]
	if b.n == 0 {
		b.min, b.max = v, v
	}
	b.n++
	b.sum, b.min, b.max, b.last = b.sum+v, min(b.min, v), max(b.max, v), v
}

// halve joins pairs of intervals.
func (s *Series) halve() {
	s.width *= 2
	for i := 0; i < len(s.points); i += 2 {
		b := s.points[i]
		if i+1 < len(s.points) {
			b.join(&s.points[i+1])
		}
		s.points[i/2] = b
	}
	s.points = s.points[:(len(s.points)+1)/2]
}

func (b *bucket) join(c *bucket) {
	switch {
	case c.n == 0:
		return
	case b.n == 0:
		*b = *c
		return
	}
	b.n += c.n
	b.sum += c.sum
	b.min, b.max, b.last = min(b.min, c.min), max(b.max, c.max), c.last
}

// Point is a point of a chart: seconds and a value.
type Point [2]float64

// each calls f for each interval that has values.
func (s *Series) each(zero units.Time, f func(at float64, b *bucket)) {
	for i := range s.points {
		if b := &s.points[i]; b.n > 0 {
			f(s.from.Add(units.Duration(i)*s.width).Sub(zero).Seconds(), b)
		}
	}
}

// Means returns the mean of each interval, with times since zero.
func (s *Series) Means(zero units.Time) (ps []Point) {
	s.each(zero, func(at float64, b *bucket) { ps = append(ps, Point{at, b.sum / float64(b.n)}) })
	return ps
}

// Ranges returns the least and the largest value of each interval.
func (s *Series) Ranges(zero units.Time) (ps []Point) {
	s.each(zero, func(at float64, b *bucket) {
		if ps = append(ps, Point{at, b.min}); b.max > b.min {
			ps = append(ps, Point{at, b.max})
		}
	})
	return ps
}

// Lasts returns the newest value of each interval.
func (s *Series) Lasts(zero units.Time) (ps []Point) {
	s.each(zero, func(at float64, b *bucket) { ps = append(ps, Point{at, b.last}) })
	return ps
}

// Sums returns the sum of each interval, those without a value included.
func (s *Series) Sums(zero units.Time) (ps []Point) {
	for i := range s.points {
		at := s.from.Add(units.Duration(i) * s.width).Sub(zero).Seconds()
		ps = append(ps, Point{at, s.points[i].sum})
	}
	return ps
}

// Rates returns the sum of each interval in a second.
func (s *Series) Rates(zero units.Time) (ps []Point) {
	for _, p := range s.Sums(zero) {
		ps = append(ps, Point{p[0], p[1] / s.width.Seconds()})
	}
	return ps
}
