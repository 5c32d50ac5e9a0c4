package bytetuning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/units"
)

// Space is the grid of watermarks that a tuner searches: one value per axis, each axis in ascending
// order. Kmax is Kmin + Gap, so Kmin < Kmax holds for every point.
type Space struct {
	Kmin, Gap []units.Bytes
	Pmax      []Percent
	Headroom  []units.Bytes
	Alpha     []Alpha
}

// axes is the number of parameters of a watermark.
const axes = 5

// gridPoint is a watermark of a space as indices on its axes.
type gridPoint [axes]int

// Cell is the unit of the paper's watermarks: a buffer cell of Broadcom's Trident 3.
const Cell units.Bytes = 256

// Traversal returns the grid of section 2.3: 3300 points. Its α values {1, 3, 5, 11, 20} are H3C
// percentages; each is the upper end of a class: 1/64, 1/32, 1/16, 1/8, 1/4.
func Traversal() Space {
	s := Space{Gap: []units.Bytes{500 * Cell}, Pmax: []Percent{1},
		Alpha: []Alpha{-6, -5, -4, -3, -2}}
	for k := units.Bytes(0); k <= 5000; k += 500 {
		s.Kmin = append(s.Kmin, k*Cell)
	}
	for p := Percent(10); p <= 90; p += 10 {
		s.Pmax = append(s.Pmax, p)
	}
	for h := units.Bytes(100); h <= 600; h += 100 {
		s.Headroom = append(s.Headroom, h*Cell)
	}
	return s
}

// DoublingSpace returns a space whose thresholds double from lo to hi. It is for networks of which
// little is known.
func DoublingSpace(lo, hi, headroom units.Bytes) Space {
	s := Space{Pmax: []Percent{1, 2, 5, 10, 20, 50, 100}, Headroom: []units.Bytes{headroom}}
	for k := lo; k <= hi && k > 0; k *= 2 {
		s.Kmin = append(s.Kmin, k)
		s.Gap = append(s.Gap, k)
	}
	for a := MinAlpha; a <= MaxAlpha; a++ {
		s.Alpha = append(s.Alpha, a)
	}
	return s
}

// Validate returns an error unless every axis is non-empty, ascending and in range.
func (s *Space) Validate() error {
	for _, err := range []error{
		axis("Kmin", s.Kmin, 0, units.GiB), axis("gap", s.Gap, 1, units.GiB), axis("Pmax", s.Pmax,
			1, 100),
		axis("headroom", s.Headroom, 0, units.GiB), axis("alpha", s.Alpha, MinAlpha, MaxAlpha),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func axis[T cmp.Ordered](name string, values []T, lo, hi T) error {
	if len(values) == 0 {
		return fmt.Errorf("bytetuning: the range of %s is empty", name)
	}
	for i, v := range values {
		if v < lo || v > hi {
			return fmt.Errorf("bytetuning: the range of %s has %v: want %v to %v", name, v, lo,
				hi)
		}
		if i > 0 && v <= values[i-1] {
			return fmt.Errorf("bytetuning: the range of %s has %v after %v: want ascending values",
				name, v, values[i-1])
		}
	}
	return nil
}

// Size returns the number of watermarks in the space.
func (s *Space) Size() int {
	n := 1
	for _, l := range s.sizes() {
		n *= l
	}
	return n
}

func (s *Space) sizes() [axes]int {
	return [axes]int{len(s.Kmin), len(s.Gap), len(s.Pmax), len(s.Headroom), len(s.Alpha)}
}

func (s *Space) at(p gridPoint) Watermark {
	kmin := s.Kmin[p[0]]
	return Watermark{Kmin: kmin, Kmax: kmin + s.Gap[p[1]], Pmax: s.Pmax[p[2]],
		Headroom: s.Headroom[p[3]], Alpha: s.Alpha[p[4]]}
}

// nearest returns the grid point closest to w on every axis.
func (s *Space) nearest(w Watermark) gridPoint {
	return gridPoint{
		near(s.Kmin, w.Kmin), near(s.Gap, w.Kmax-w.Kmin), near(s.Pmax, w.Pmax), near(s.Headroom,
			w.Headroom), near(s.Alpha, w.Alpha),
	}
}

func near[T ~int | ~int64](values []T, v T) int {
	best := 0
	for i, o := range values {
		if math.Abs(float64(o)-float64(v)) < math.Abs(float64(values[best])-float64(v)) {
			best = i
		}
	}
	return best
}

// numbered returns the n-th grid point; the last axis varies fastest.
func (s *Space) numbered(n int) (p gridPoint) {
	sizes := s.sizes()
	for i := axes - 1; i >= 0; i-- {
		p[i], n = n%sizes[i], n/sizes[i]
	}
	return p
}

// All returns every watermark; the last axis (α) varies fastest.
func (s *Space) All() []Watermark {
	all := make([]Watermark, s.Size())
	for n := range all {
		all[n] = s.at(s.numbered(n))
	}
	return all
}

// Layer is a group of switches with the same watermark.
type Layer struct {
	Name  string
	Space Space
	// Buffer is the shared buffer of a switch, including the headrooms of Ports ports. 0 means
	// unknown; Kmax is then not compared with XOFF.
	Buffer units.Bytes
	Ports  int
}

// XOFF returns the queue length at which a single congested ingress port pauses its peer: α/(1+α)
// of the shared buffer. 0 means unknown.
func (l *Layer) XOFF(w Watermark) units.Bytes {
	if l.Buffer == 0 {
		return 0
	}
	alpha := w.Alpha.Float()
	return units.Bytes(alpha / (1 + alpha) * float64(max(0,
		l.Buffer-units.Bytes(l.Ports)*w.Headroom)))
}

// Check returns an error if w is invalid, does not fit the buffer, or has Kmax at or above XOFF, so
// that PFC acts before ECN (the paper's case I).
func (l *Layer) Check(w Watermark) error {
	if err := w.Validate(); err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	if l.Buffer == 0 {
		return nil
	}
	if taken := units.Bytes(l.Ports) * w.Headroom; taken >= l.Buffer {
		return fmt.Errorf(
			"bytetuning: %s: headroom %v of %d ports leaves nothing of the %v buffer", l.Name,
			w.Headroom, l.Ports, l.Buffer)
	}
	if xoff := l.XOFF(w); w.Kmax >= xoff {
		return fmt.Errorf("bytetuning: %s: Kmax %v is not below XOFF, %v (alpha %v): PFC would "+
			"act before ECN (case I)", l.Name, w.Kmax, xoff, w.Alpha)
	}
	return nil
}

// project moves p to a grid point that passes Check: first it lowers Kmin and the gap in turn, then
// it raises α, then it lowers the headroom.
func (l *Layer) project(p gridPoint) gridPoint {
	for l.Check(l.Space.at(p)) != nil {
		switch {
		case p[0] > 0 && p[0] >= p[1]:
			p[0]--
		case p[1] > 0:
			p[1]--
		case p[0] > 0:
			p[0]--
		case p[4] < len(l.Space.Alpha)-1:
			p[4]++
		case p[3] > 0:
			p[3]--
		default:
			return p
		}
	}
	return p
}

// Point is a watermark for each layer of a target.
type Point []Watermark

// Check returns an error unless p has a valid watermark for each layer.
func (p Point) Check(layers []Layer) error {
	if len(p) != len(layers) {
		return fmt.Errorf("bytetuning: watermarks for %d layers: want %d", len(p),
			len(layers))
	}
	for i := range p {
		if err := layers[i].Check(p[i]); err != nil {
			return err
		}
	}
	return nil
}

// Equal reports whether two points are the same.
func (p Point) Equal(q Point) bool { return slices.Equal(p, q) }
