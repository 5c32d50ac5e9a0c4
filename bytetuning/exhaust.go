package bytetuning

import (
	"errors"
	"math/rand/v2"
)

var errTooMany = errors.New("more than 2^30 points")

// Grid measures every point of the space, or with every=N each N-th. It is what the paper calls
// traversal.
type Grid struct {
	Problem
	next, every, size int
}

func newGrid(p Problem, k *knobs) Tuner {
	g := &Grid{Problem: p, every: k.whole("every", 1, 1, 1e9), size: 1}
	const most = 1 << 30
	for i := range p.Layers {
		n := p.Layers[i].Space.Size()
		if n > most/g.size {
			if k.err == nil {
				k.err = errTooMany
			}
			return g
		}
		g.size *= n
	}
	return g
}

// Propose implements Tuner.
func (g *Grid) Propose() (Point, bool) {
	if g.next >= g.size {
		return nil, false
	}
	places := make([]place, len(g.Layers))
	n := g.next
	for i := len(places) - 1; i >= 0; i-- {
		size := g.Layers[i].Space.Size()
		places[i], n = g.Layers[i].Space.numbered(n%size), n/size
	}
	return g.point(places), true
}

// Hear implements Tuner.
func (g *Grid) Hear(*Measurement) { g.next += g.every }

// Random measures points that it draws, with equal chances: what a search has to be better than.
type Random struct {
	Problem
	rng  *rand.Rand
	left int
}

func newRandom(p Problem, k *knobs) Tuner {
	return &Random{Problem: p, rng: p.random(), left: k.whole("points", 1000, 1, 1e9)}
}

// Propose implements Tuner.
func (r *Random) Propose() (Point, bool) {
	if r.left == 0 {
		return nil, false
	}
	places := make([]place, len(r.Layers))
	for i := range places {
		s := &r.Layers[i].Space
		places[i] = r.Layers[i].project(s.numbered(r.rng.IntN(s.Size())))
	}
	return r.point(places), true
}

// Hear implements Tuner.
func (r *Random) Hear(*Measurement) { r.left-- }
