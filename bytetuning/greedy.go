package bytetuning

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Greedy is the search of the authors' published program, which is not algorithm 1: coordinate by
// coordinate, up and down by a relative step, together with some others at random (5 of its 60
// parameters: one in twelve), and what raises T/(Q+1) is taken. An epoch without success doubles
// the step, another halves it; what leaves (0.01, 1] begins again at 0.2.
type Greedy struct {
	Problem
	rng      *rand.Rand
	x, y     []place
	ratio    float64 // of x
	epochs   int
	probe    int // in this epoch
	step     float64
	improved bool
	begun    bool
}

const greedyStep = 0.2

func newGreedy(p Problem, k *knobs) Tuner {
	g := &Greedy{Problem: p, rng: p.random(), step: greedyStep,
		epochs: k.whole("epochs", 100, 1, 1e6)}
	g.x = p.nearest(p.Start)
	return g
}

// Propose implements Tuner.
func (g *Greedy) Propose() (Point, bool) {
	if g.epochs == 0 {
		return nil, false
	}
	if !g.begun {
		return g.point(g.x), true
	}
	parameters := axes * len(g.x)
	g.y = slices.Clone(g.x)
	g.move(g.probe/2, g.probe%2 == 0)
	for range parameters / 12 {
		g.move(g.rng.IntN(parameters), g.rng.IntN(2) == 0)
	}
	for i := range g.y {
		g.y[i] = g.Layers[i].project(g.y[i])
	}
	return g.point(g.y), true
}

// Hear implements Tuner.
func (g *Greedy) Hear(m *Measurement) {
	if !g.begun {
		if m != nil {
			g.begun, g.ratio = true, power(m)
		}
		return
	}
	if m != nil && power(m) > g.ratio {
		g.x, g.ratio, g.improved = slices.Clone(g.y), power(m), true
	}
	if g.probe++; g.probe < 2*axes*len(g.x) {
		return
	}
	if g.improved {
		g.step /= 2
	} else {
		g.step *= 2
	}
	if g.step <= 0.01 || g.step > 1 {
		g.step = greedyStep
	}
	g.probe, g.improved = 0, false
	g.epochs--
}

// power is the program's objective, throughput over queue in cells.
func power(m *Measurement) float64 {
	return float64(m.Throughput()) / (float64(m.Queue())/float64(Cell) + 1)
}

// move takes a parameter up or down by a step of its value, by one place at least.
func (g *Greedy) move(parameter int, up bool) {
	i, axis := parameter/axes, parameter%axes
	s := &g.Layers[i].Space
	at := &g.y[i][axis]
	last := s.sizes()[axis] - 1
	factor, one := 1-g.step, -1
	if up {
		factor, one = 1+g.step, 1
	}
	was := *at
	switch axis {
	case 0:
		*at = nearScaled(s.Kmin, was, factor)
	case 1:
		*at = nearScaled(s.Gap, was, factor)
	case 2:
		*at = nearScaled(s.Pmax, was, factor)
	case 3:
		*at = nearScaled(s.Headroom, was, factor)
	}
	if *at == was {
		*at = max(0, min(was+one, last))
	}
}

func nearScaled[T ~int | ~int64](values []T, i int, factor float64) int {
	return near(values, T(math.Floor(float64(values[i])*factor)))
}
