package bytetuning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goroce/goroce/units"
)

// Space is the watermarks among which a tuner searches: those with one value of each axis, which
// are in rising order. Kmax is Kmin + Gap, so that no point has the two the wrong way round.
type Space struct {
	Kmin, Gap []units.Bytes
	Pmax      []Percent
	Headroom  []units.Bytes
	Alpha     []Alpha
}

// axes is how many parameters a watermark has.
const axes = 5

// place is a watermark of a space, by the index on each axis.
type place [axes]int

// Cell is the unit of the paper's watermarks: a cell of Broadcom's Trident 3.
const Cell units.Bytes = 256

// Traversal is the grid of section 2.3: 3300 points. Its α, {1, 3, 5, 11, 20}, are H3C's per cent,
// of which each is the upper end of a class: 1/64, 1/32, 1/16, 1/8, 1/4.
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

// Ladder is a space from least to most, on which thresholds double: for who knows little of the
// network.
func Ladder(least, most, headroom units.Bytes) Space {
	s := Space{Pmax: []Percent{1, 2, 5, 10, 20, 50, 100}, Headroom: []units.Bytes{headroom}}
	for k := least; k <= most && k > 0; k *= 2 {
		s.Kmin = append(s.Kmin, k)
		s.Gap = append(s.Gap, k)
	}
	for a := LeastAlpha; a <= MostAlpha; a++ {
		s.Alpha = append(s.Alpha, a)
	}
	return s
}

// Validate says what is impossible.
func (s *Space) Validate() error {
	for _, err := range []error{
		axis("Kmin", s.Kmin, 0, units.GiB), axis("gap", s.Gap, 1, units.GiB), axis("Pmax", s.Pmax,
			1, 100),
		axis("headroom", s.Headroom, 0, units.GiB), axis("alpha", s.Alpha, LeastAlpha, MostAlpha),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func axis[T cmp.Ordered](name string, values []T, least, most T) error {
	if len(values) == 0 {
		return fmt.Errorf("bytetuning: the range of %s is empty", name)
	}
	for i, v := range values {
		if v < least || v > most {
			return fmt.Errorf("bytetuning: the range of %s has %v: want %v to %v", name, v, least,
				most)
		}
		if i > 0 && v <= values[i-1] {
			return fmt.Errorf("bytetuning: the range of %s has %v after %v: want rising values",
				name, v, values[i-1])
		}
	}
	return nil
}

// Size is how many watermarks there are.
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

func (s *Space) at(p place) Watermark {
	kmin := s.Kmin[p[0]]
	return Watermark{Kmin: kmin, Kmax: kmin + s.Gap[p[1]], Pmax: s.Pmax[p[2]],
		Headroom: s.Headroom[p[3]], Alpha: s.Alpha[p[4]]}
}

// nearest answers the place closest to w on every axis.
func (s *Space) nearest(w Watermark) place {
	return place{
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

// numbered answers the n-th place, counting the last axis fastest.
func (s *Space) numbered(n int) (p place) {
	sizes := s.sizes()
	for i := axes - 1; i >= 0; i-- {
		p[i], n = n%sizes[i], n/sizes[i]
	}
	return p
}

// All answers every watermark, the last axis (α) moving fastest.
func (s *Space) All() []Watermark {
	all := make([]Watermark, s.Size())
	for n := range all {
		all[n] = s.at(s.numbered(n))
	}
	return all
}

// Layer is switches that get the same watermark.
type Layer struct {
	Name  string
	Space Space
	// Buffer is the shared buffer of a switch, from which Ports headrooms are taken; 0 is unknown,
	// and then Kmax cannot be compared with XOFF.
	Buffer units.Bytes
	Ports  int
}

// XOFF is the queue at which a single congested ingress port pauses: α/(1+α) of what is shared. 0
// is unknown.
func (l *Layer) XOFF(w Watermark) units.Bytes {
	if l.Buffer == 0 {
		return 0
	}
	alpha := w.Alpha.Float()
	return units.Bytes(alpha / (1 + alpha) * float64(max(0,
		l.Buffer-units.Bytes(l.Ports)*w.Headroom)))
}

// Check says what w must not be: what makes no sense, what the buffer has no room for, and the
// paper's case I, a Kmax at or above XOFF, with which PFC comes before ECN.
func (l *Layer) Check(w Watermark) error {
	if err := w.Validate(); err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	if l.Buffer == 0 {
		return nil
	}
	if taken := units.Bytes(l.Ports) * w.Headroom; taken >= l.Buffer {
		return fmt.Errorf(
			"bytetuning: %s: headroom %v of %d ports leaves nothing of the buffer, %v", l.Name,
			w.Headroom, l.Ports, l.Buffer)
	}
	if xoff := l.XOFF(w); w.Kmax >= xoff {
		return fmt.Errorf("bytetuning: %s: Kmax %v is not below XOFF, %v (alpha %v): PFC would "+
			"come before ECN (case I)", l.Name, w.Kmax, xoff, w.Alpha)
	}
	return nil
}

// project moves p to where Check finds nothing: first Kmin and the gap down by turns, then α up,
// then headroom down.
func (l *Layer) project(p place) place {
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

// Check looks at the whole point.
func (p Point) Check(layers []Layer) error {
	if len(p) != len(layers) {
		return fmt.Errorf("bytetuning: watermarks for %d layers, where the target has %d", len(p),
			len(layers))
	}
	for i := range p {
		if err := layers[i].Check(p[i]); err != nil {
			return err
		}
	}
	return nil
}

// Equal says whether two points are the same.
func (p Point) Equal(q Point) bool { return slices.Equal(p, q) }
