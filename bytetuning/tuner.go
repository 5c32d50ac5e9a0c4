package bytetuning

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Tuner proposes points and observes their measurements. Its proposals depend only on its seed and
// on the measurements that it observed.
type Tuner interface {
	// Propose returns the next point to measure, or false when the search is complete.
	Propose() (Point, bool)
	// Observe takes the measurement of the point proposed last; nil means that it could not be
	// measured.
	Observe(m *Measurement)
}

// Problem is the input of a tuner.
type Problem struct {
	Layers []Layer
	Start  Point                      // first point
	Energy func(*Measurement) float64 // may change for old measurements as new ones are observed
	Seed   uint64
}

func (p *Problem) validate() error {
	if len(p.Layers) == 0 {
		return fmt.Errorf("bytetuning: the target has no layers to tune")
	}
	if len(p.Start) != len(p.Layers) {
		return fmt.Errorf("bytetuning: watermarks for %d layers: want %d",
			len(p.Start), len(p.Layers))
	}
	for i := range p.Layers {
		if err := p.Layers[i].Space.Validate(); err != nil {
			return fmt.Errorf("%s: %w", p.Layers[i].Name, err)
		}
	}
	return nil
}

// point returns the watermarks at grid points.
func (p *Problem) point(gridPoints []gridPoint) Point {
	point := make(Point, len(gridPoints))
	for i := range gridPoints {
		point[i] = p.Layers[i].Space.at(gridPoints[i])
	}
	return point
}

// nearest returns the valid grid points closest to a point.
func (p *Problem) nearest(point Point) []gridPoint {
	gridPoints := make([]gridPoint, len(point))
	for i := range point {
		l := &p.Layers[i]
		gridPoints[i] = l.project(l.Space.nearest(point[i]))
	}
	return gridPoints
}

func (p *Problem) newRand() *rand.Rand { return rand.New(rand.NewPCG(p.Seed, 0)) }

// tuners maps names to constructors, which read their parameters from knobs.
var tuners = map[string]func(Problem, *knobs) Tuner{
	"anneal": newAnneal,
	"greedy": newGreedy,
	"grid":   newGrid,
	"random": newRandom,
	"acc":    newACC,
}

// Tuners returns the names that New accepts, sorted.
func Tuners() []string { return slices.Sorted(maps.Keys(tuners)) }

// New returns the tuner that spec describes: a name and optional parameters, as in
// anneal:tem=1,again=false.
func New(spec string, p Problem) (Tuner, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	name, rest, _ := strings.Cut(spec, ":")
	newTuner, ok := tuners[name]
	if !ok {
		return nil, fmt.Errorf("bytetuning: unknown tuner %q; want one of %s", name,
			strings.Join(Tuners(), ", "))
	}
	k := &knobs{set: map[string]string{}}
	for _, pair := range strings.Split(rest, ",") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		if _, twice := k.set[key]; twice {
			return nil, fmt.Errorf("bytetuning: tuner %q: %s is given twice", spec, key)
		}
		k.set[key] = value
	}
	t := newTuner(p, k)
	if err := k.check(); err != nil {
		return nil, fmt.Errorf("bytetuning: tuner %q: %w", spec, err)
	}
	return t, nil
}

// knobs are the parameters of a tuner as text. The first error is kept in err.
type knobs struct {
	set   map[string]string
	names []string
	err   error
}

// number returns a parameter, which must be in [lo, hi].
func (k *knobs) number(name string, fallback, lo, hi float64) float64 {
	k.names = append(k.names, name)
	text, ok := k.set[name]
	if !ok {
		return fallback
	}
	delete(k.set, name)
	v, err := strconv.ParseFloat(text, 64)
	if (err != nil || math.IsNaN(v) || v < lo || v > hi) && k.err == nil {
		k.err = fmt.Errorf("%s=%q: want %v to %v", name, text, lo, hi)
	}
	return v
}

func (k *knobs) integer(name string, fallback, lo, hi int) int {
	v := k.number(name, float64(fallback), float64(lo), float64(hi))
	if v != math.Trunc(v) && k.err == nil {
		k.err = fmt.Errorf("%s=%v: want a whole number", name, v)
	}
	return int(v)
}

func (k *knobs) bool(name string, fallback bool) bool {
	k.names = append(k.names, name)
	text, ok := k.set[name]
	if !ok {
		return fallback
	}
	delete(k.set, name)
	v, err := strconv.ParseBool(text)
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("%s=%q: want true or false", name, text)
	}
	return v
}

func (k *knobs) check() error {
	if k.err != nil {
		return k.err
	}
	for name := range k.set {
		return fmt.Errorf("unknown parameter %q; want one of %s", name, strings.Join(k.names, ", "))
	}
	return nil
}
