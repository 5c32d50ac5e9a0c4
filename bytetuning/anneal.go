package bytetuning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Anneal is algorithm 1. It measures the current point again before each proposal, because networks
// are noisy. It halves the step after a better point and doubles it after a worse one, which it
// accepts with the Metropolis probability. The Search keeps the best of all measured points (lines
// 13 to 15 keep the best of the accepted ones).
//
// The paper runs ten iterations at each temperature, from 100 down to 0.01 by a factor of 0.99, and
// starts with a step of 0.5: 917 temperatures, 18341 measurements. Energies of equation 14 differ
// by hundredths, so the first 690 temperatures accept nearly everything; tem=1 starts where that
// ends. The paper's step is unbounded; here it stays in [least, 1].
type Anneal struct {
	Problem
	iterations        int
	goal, cooling     float64
	minStep           float64
	again             bool
	rng               *rand.Rand
	x, y              []gridPoint
	mx                *Measurement // of x
	phase             phase
	temperature, step float64
	iteration         int // at this temperature
	temperatures      int
	last              Iteration
}

// phase is the purpose of the next proposal of an Anneal.
type phase int

const (
	measureStart     phase = iota // line 2
	remeasure                     // line 7
	measureNeighbour              // line 9
)

// Iteration is the outcome of one proposal: lines 10 to 21.
type Iteration struct {
	Temperature float64
	Worse       bool // f(x') < f(x)
	Accepted    bool
	StepBefore  float64 // step that x' was drawn with
	Step        float64 // step of the next iteration
}

func newAnneal(p Problem, k *knobs) Tuner {
	a := &Anneal{
		Problem: p, rng: p.newRand(),
		iterations:  k.integer("iterations", 10, 1, 1e6),
		temperature: k.number("tem", 100, 1e-9, 1e9),
		goal:        k.number("goal", 0.01, 1e-12, 1e9),
		cooling:     k.number("cooling", 0.99, 0.01, 0.9999),
		step:        k.number("step", 0.5, 1e-6, 1),
		minStep:     k.number("least", 1./64, 1e-6, 1),
		again:       k.bool("again", true),
	}
	if a.goal >= a.temperature && k.err == nil {
		k.err = fmt.Errorf("tem=%v, goal=%v: want goal < tem", a.temperature, a.goal)
	}
	a.x = p.nearest(p.Start)
	return a
}

// Temperatures returns the number of temperatures so far, including the current one.
func (a *Anneal) Temperatures() int { return a.temperatures }

// Last returns the iteration that Observe completed last.
func (a *Anneal) Last() Iteration { return a.last }

// Propose implements Tuner.
func (a *Anneal) Propose() (Point, bool) {
	switch a.phase {
	case measureStart, remeasure:
		if a.temperature <= a.goal {
			return nil, false
		}
		return a.point(a.x), true
	}
	if a.temperature <= a.goal {
		return nil, false
	}
	a.y = a.perturb()
	return a.point(a.y), true
}

// Observe implements Tuner.
func (a *Anneal) Observe(m *Measurement) {
	switch a.phase {
	case measureStart:
		if m == nil {
			return // measure the start again: there is nothing to compare with
		}
		a.mx, a.temperatures = m, 1
		a.phase = a.nextPhase()
	case remeasure:
		if m != nil {
			a.mx = m
		}
		a.phase = measureNeighbour
	case measureNeighbour:
		if m != nil {
			a.compare(m)
		}
		a.phase = a.nextPhase()
		if a.iteration++; a.iteration == a.iterations {
			a.iteration = 0
			if a.temperature *= a.cooling; a.temperature > a.goal {
				a.temperatures++
			}
		}
	}
}

// nextPhase returns the first phase of an iteration.
func (a *Anneal) nextPhase() phase {
	if a.again {
		return remeasure
	}
	return measureNeighbour
}

// compare accepts or rejects y and adapts the step: lines 10 to 21.
func (a *Anneal) compare(my *Measurement) {
	fx, fy := a.Energy(a.mx), a.Energy(my)
	it := Iteration{Temperature: a.temperature, StepBefore: a.step, Worse: fy < fx}
	if !it.Worse {
		it.Accepted = true
		a.step = max(a.step/2, a.minStep)
	} else {
		it.Accepted = math.Exp((fy-fx)/a.temperature) > a.rng.Float64()
		a.step = min(a.step*2, 1)
	}
	if it.Accepted {
		a.x, a.mx = slices.Clone(a.y), my
	}
	it.Step = a.step
	a.last = it
}

// perturb returns a random neighbour of x. Each parameter changes with probability 1/2, and at
// least one always does. The change is uniform within ±step of the parameter's range and at least
// one grid step. Values are clamped to the range, because the best watermarks are often at its
// ends. The result is then projected to where Kmax is below XOFF. The paper does not define its
// perturbation.
func (a *Anneal) perturb() []gridPoint {
	y := slices.Clone(a.x)
	forced := a.rng.IntN(axes * len(y))
	for i := range y {
		for j, n := range a.Layers[i].Space.sizes() {
			if coin := a.rng.IntN(2) == 0; !coin && i*axes+j != forced {
				continue
			}
			delta := (2*a.rng.Float64() - 1) * a.step * float64(n-1)
			if math.Abs(delta) < 1 { // at least one grid step
				delta = math.Copysign(1, delta)
			}
			y[i][j] = max(0, min(y[i][j]+int(math.Round(delta)), n-1))
		}
	}
	for i := range y {
		y[i] = a.Layers[i].project(y[i])
	}
	return y
}
