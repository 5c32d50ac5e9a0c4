package bytetuning

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Greedy is the search of the authors' published program, which is not algorithm 1. It moves one
// coordinate at a time up and down by a relative step, together with some random others (one in
// twelve; 5 of the program's 60 parameters), and accepts what raises T/(Q+1). An epoch without
// improvement doubles the step, an epoch with one halves it. A step outside (0.01, 1] is reset to
// 0.2.
type Greedy struct {
	Problem
	rng      *rand.Rand
	x, y     []gridPoint
	ratio    float64 // of x
	epochs   int
	probe    int // in this epoch
	step     float64
	improved bool
	started  bool
}

const greedyStep = 0.2

func newGreedy(p Problem, k *knobs) Tuner {
	g := &Greedy{Problem: p, rng: p.newRand(), step: greedyStep,
		epochs: k.integer("epochs", 100, 1, 1e6)}
	g.x = p.nearest(p.Start)
	return g
}

// Propose implements Tuner.
func (g *Greedy) Propose() (Point, bool) {
	if g.epochs == 0 {
		return nil, false
	}
	if !g.started {
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

// Observe implements Tuner.
func (g *Greedy) Observe(m *Measurement) {
	if !g.started {
		if m != nil {
			g.started, g.ratio = true, power(m)
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

// power returns the program's objective: throughput over queue in cells.
func power(m *Measurement) float64 {
	return float64(m.Throughput()) / (float64(m.Queue())/float64(Cell) + 1)
}

// move changes a parameter up or down by the relative step, and by at least one grid step.
func (g *Greedy) move(parameter int, up bool) {
	i, axis := parameter/axes, parameter%axes
	s := &g.Layers[i].Space
	at := &g.y[i][axis]
	last := s.sizes()[axis] - 1
	factor, one := 1-g.step, -1
	if up {
		factor, one = 1+g.step, 1
	}
	old := *at
	switch axis {
	case 0:
		*at = nearScaled(s.Kmin, old, factor)
	case 1:
		*at = nearScaled(s.Gap, old, factor)
	case 2:
		*at = nearScaled(s.Pmax, old, factor)
	case 3:
		*at = nearScaled(s.Headroom, old, factor)
	}
	if *at == old {
		*at = max(0, min(old+one, last))
	}
}

func nearScaled[T ~int | ~int64](values []T, i int, factor float64) int {
	return near(values, T(math.Floor(float64(values[i])*factor)))
}
