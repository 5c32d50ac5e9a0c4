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

// Tuner proposes points and hears what they measured. What it proposes hangs on its seed and on
// what it heard, and on nothing else.
type Tuner interface {
	// Propose answers the next point to measure, false when the search is over.
	Propose() (Point, bool)
	// Hear takes in what the point proposed last measured. Nil is a point that could not be
	// measured.
	Hear(m *Measurement)
}

// Problem is what a tuner is made for.
type Problem struct {
	Layers []Layer
	Start  Point                      // where to begin
	Energy func(*Measurement) float64 // of a measurement; those heard before may have another now
	Seed   uint64
}

func (p *Problem) validate() error {
	if len(p.Layers) == 0 {
		return fmt.Errorf("bytetuning: nothing to tune: the target has no layers")
	}
	if len(p.Start) != len(p.Layers) {
		return fmt.Errorf("bytetuning: watermarks for %d layers, where the target has %d",
			len(p.Start), len(p.Layers))
	}
	for i := range p.Layers {
		if err := p.Layers[i].Space.Validate(); err != nil {
			return fmt.Errorf("%s: %w", p.Layers[i].Name, err)
		}
	}
	return nil
}

// point answers the watermarks of places.
func (p *Problem) point(places []place) Point {
	point := make(Point, len(places))
	for i := range places {
		point[i] = p.Layers[i].Space.at(places[i])
	}
	return point
}

// nearest answers the allowed places closest to a point.
func (p *Problem) nearest(point Point) []place {
	places := make([]place, len(point))
	for i := range point {
		l := &p.Layers[i]
		places[i] = l.project(l.Space.nearest(point[i]))
	}
	return places
}

func (p *Problem) random() *rand.Rand { return rand.New(rand.NewPCG(p.Seed, 0)) }

// tuners are the known ones. Each reads its knobs and answers a tuner.
var tuners = map[string]func(Problem, *knobs) Tuner{
	"anneal": newAnneal,
	"greedy": newGreedy,
	"grid":   newGrid,
	"random": newRandom,
	"acc":    newACC,
}

// Tuners answers the names that New knows.
func Tuners() []string { return slices.Sorted(maps.Keys(tuners)) }

// New makes a tuner of a text: a name, then knobs, as in anneal:tem=1,again=false.
func New(spec string, p Problem) (Tuner, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	name, rest, _ := strings.Cut(spec, ":")
	build, ok := tuners[name]
	if !ok {
		return nil, fmt.Errorf("bytetuning: no tuner %q; there are %s", name,
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
	t := build(p, k)
	if err := k.leftOver(); err != nil {
		return nil, fmt.Errorf("bytetuning: tuner %q: %w", spec, err)
	}
	return t, nil
}

// knobs are the parameters of a tuner as text.
type knobs struct {
	set   map[string]string
	known []string
	err   error
}

// number answers a knob that is to be in [least, most].
func (k *knobs) number(name string, otherwise, least, most float64) float64 {
	k.known = append(k.known, name)
	text, ok := k.set[name]
	if !ok {
		return otherwise
	}
	delete(k.set, name)
	v, err := strconv.ParseFloat(text, 64)
	if (err != nil || math.IsNaN(v) || v < least || v > most) && k.err == nil {
		k.err = fmt.Errorf("%s=%q: want %v to %v", name, text, least, most)
	}
	return v
}

func (k *knobs) whole(name string, otherwise, least, most int) int {
	v := k.number(name, float64(otherwise), float64(least), float64(most))
	if v != math.Trunc(v) && k.err == nil {
		k.err = fmt.Errorf("%s=%v: want a whole number", name, v)
	}
	return int(v)
}

func (k *knobs) bool(name string, otherwise bool) bool {
	k.known = append(k.known, name)
	text, ok := k.set[name]
	if !ok {
		return otherwise
	}
	delete(k.set, name)
	v, err := strconv.ParseBool(text)
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("%s=%q: want true or false", name, text)
	}
	return v
}

func (k *knobs) leftOver() error {
	if k.err != nil {
		return k.err
	}
	for name := range k.set {
		return fmt.Errorf("no knob %q; there are %s", name, strings.Join(k.known, ", "))
	}
	return nil
}
