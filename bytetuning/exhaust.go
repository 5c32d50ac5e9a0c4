package bytetuning

import (
	"errors"
	"math/rand/v2"
)

var errTooMany = errors.New("more than 2^30 points in the space")

// Grid measures every point of the space, or with every=N each N-th. The paper calls this
// traversal.
type Grid struct {
	Problem
	next, stride, size int
}

func newGrid(p Problem, k *knobs) Tuner {
	g := &Grid{Problem: p, stride: k.integer("every", 1, 1, 1e9), size: 1}
	const maxSize = 1 << 30
	for i := range p.Layers {
		n := p.Layers[i].Space.Size()
		if n > maxSize/g.size {
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
	gridPoints := make([]gridPoint, len(g.Layers))
	n := g.next
	for i := len(gridPoints) - 1; i >= 0; i-- {
		size := g.Layers[i].Space.Size()
		gridPoints[i], n = g.Layers[i].Space.numbered(n%size), n/size
	}
	return g.point(gridPoints), true
}

// Observe implements Tuner.
func (g *Grid) Observe(*Measurement) { g.next += g.stride }

// Random measures points drawn uniformly at random: the baseline that a search has to beat.
type Random struct {
	Problem
	rng       *rand.Rand
	remaining int
}

func newRandom(p Problem, k *knobs) Tuner {
	return &Random{Problem: p, rng: p.newRand(), remaining: k.integer("points", 1000, 1, 1e9)}
}

// Propose implements Tuner.
func (r *Random) Propose() (Point, bool) {
	if r.remaining == 0 {
		return nil, false
	}
	gridPoints := make([]gridPoint, len(r.Layers))
	for i := range gridPoints {
		s := &r.Layers[i].Space
		gridPoints[i] = r.Layers[i].project(s.numbered(r.rng.IntN(s.Size())))
	}
	return r.point(gridPoints), true
}

// Observe implements Tuner.
func (r *Random) Observe(*Measurement) { r.remaining-- }
