package bytetuning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Anneal is algorithm 1. It measures the current point again before each proposal, as networks are
// noisy; it halves the step after a better point and doubles it after a worse one, which it still
// takes with Metropolis's probability. The best point is kept by the Search, of all that were
// measured (lines 13 to 15 keep those that were taken).
//
// The paper has ten iterations at each temperature, from 100 down to 0.01 by 0.99, and begins with
// a step of 0.5: 917 temperatures, 18341 measurements. Energies of equation 14 differ by
// hundredths, so that the first 690 temperatures take nearly everything; tem=1 begins where that
// ends. The paper's step has no limits; here it stays in [least, 1].
type Anneal struct {
	Problem
	iterations    int
	goal, cooling float64
	least         float64
	again         bool
	rng           *rand.Rand
	x, y          []place
	mx            *Measurement // of x
	phase         phase
	tem, step     float64
	iteration     int // at this temperature
	temps         int
	last          Iteration
}

// phase is what the next proposal of an Anneal is for.
type phase int

const (
	first phase = iota // line 2
	again              // line 7
	probe              // line 9
)

// Iteration is what became of a proposal: lines 10 to 21.
type Iteration struct {
	Temperature float64
	Worse       bool // f(x') < f(x)
	Taken       bool
	Before      float64 // the step with which x' was made
	Step        float64 // that of the next
}

func newAnneal(p Problem, k *knobs) Tuner {
	a := &Anneal{
		Problem: p, rng: p.random(),
		iterations: k.whole("iterations", 10, 1, 1e6),
		tem:        k.number("tem", 100, 1e-9, 1e9),
		goal:       k.number("goal", 0.01, 1e-12, 1e9),
		cooling:    k.number("cooling", 0.99, 0.01, 0.9999),
		step:       k.number("step", 0.5, 1e-6, 1),
		least:      k.number("least", 1./64, 1e-6, 1),
		again:      k.bool("again", true),
	}
	if a.goal >= a.tem && k.err == nil {
		k.err = fmt.Errorf("tem=%v, goal=%v: want a goal below", a.tem, a.goal)
	}
	a.x = p.nearest(p.Start)
	return a
}

// Temperatures is how many there were, the present one included.
func (a *Anneal) Temperatures() int { return a.temps }

// Last answers the iteration that Hear completed last.
func (a *Anneal) Last() Iteration { return a.last }

// Propose implements Tuner.
func (a *Anneal) Propose() (Point, bool) {
	switch a.phase {
	case first, again:
		if a.tem <= a.goal {
			return nil, false
		}
		return a.point(a.x), true
	}
	if a.tem <= a.goal {
		return nil, false
	}
	a.y = a.perturb()
	return a.point(a.y), true
}

// Hear implements Tuner.
func (a *Anneal) Hear(m *Measurement) {
	switch a.phase {
	case first:
		if m == nil {
			return // once more: there is nothing to compare with
		}
		a.mx, a.temps = m, 1
		a.phase = a.before()
	case again:
		if m != nil {
			a.mx = m
		}
		a.phase = probe
	case probe:
		if m != nil {
			a.compare(m)
		}
		a.phase = a.before()
		if a.iteration++; a.iteration == a.iterations {
			a.iteration = 0
			if a.tem *= a.cooling; a.tem > a.goal {
				a.temps++
			}
		}
	}
}

// before answers what comes first in an iteration.
func (a *Anneal) before() phase {
	if a.again {
		return again
	}
	return probe
}

// compare is lines 10 to 21.
func (a *Anneal) compare(my *Measurement) {
	fx, fy := a.Energy(a.mx), a.Energy(my)
	it := Iteration{Temperature: a.tem, Before: a.step, Worse: fy < fx}
	if !it.Worse {
		it.Taken = true
		a.step = max(a.step/2, a.least)
	} else {
		it.Taken = math.Exp((fy-fx)/a.tem) > a.rng.Float64()
		a.step = min(a.step*2, 1)
	}
	if it.Taken {
		a.x, a.mx = slices.Clone(a.y), my
	}
	it.Step = a.step
	a.last = it
}

// perturb moves parameters, each with a chance of one half and one at least, by up to a step of
// their ranges, at random; what would leave its range stops at its end, where the best watermarks
// often are. Then it moves to where Kmax is below XOFF. The paper does not say what its
// perturbation is.
func (a *Anneal) perturb() []place {
	y := slices.Clone(a.x)
	one := a.rng.IntN(axes * len(y))
	for i := range y {
		for j, n := range a.Layers[i].Space.sizes() {
			if coin := a.rng.IntN(2) == 0; !coin && i*axes+j != one {
				continue
			}
			by := (2*a.rng.Float64() - 1) * a.step * float64(n-1)
			if math.Abs(by) < 1 { // the least there is
				by = math.Copysign(1, by)
			}
			y[i][j] = max(0, min(y[i][j]+int(math.Round(by)), n-1))
		}
	}
	for i := range y {
		y[i] = a.Layers[i].project(y[i])
	}
	return y
}
