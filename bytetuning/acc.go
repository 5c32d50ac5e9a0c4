package bytetuning

import (
	"math/rand/v2"
	"slices"
)

// ACC is a simplified form of ACC (Yan et al., SIGCOMM 2021), which tunes ECN with a learner on
// every switch. Each layer has an agent that sees only the measurements of its own switches. The
// agent keeps an exponentially weighted mean reward for each of up to twelve ECN settings. It
// applies the best setting so far, or with probability eps a random one. Deep learning and its
// state inputs are left out, because the measured network is stationary. PFC parameters do not
// change.
//
// With beat=K, each agent decides in a round with probability 1/K, independently of the others,
// like switches without a common clock. Between decisions its setting stays, and rewards are
// credited to that setting.
type ACC struct {
	Problem
	agents   []agent
	rng      *rand.Rand
	eps      float64
	decay    float64
	floor    float64
	rate     float64
	interval int
	rounds   int
}

type agent struct {
	settings      []gridPoint
	value         []float64
	tried         []bool
	current       int
	maxThroughput float64 // T_max of this layer
	minQueue      float64 // Q_min of this layer, in cells; negative before the first measurement
}

func newACC(p Problem, k *knobs) Tuner {
	a := &ACC{
		Problem: p, rng: p.newRand(),
		eps:      k.number("eps", 0.5, 0, 1),
		decay:    k.number("decay", 0.95, 0, 1),
		floor:    k.number("floor", 0.05, 0, 1),
		rate:     k.number("rate", 0.3, 0.001, 1),
		interval: k.integer("beat", 1, 1, 1000),
		rounds:   k.integer("rounds", 1000, 1, 1e9),
	}
	for i, start := range p.nearest(p.Start) {
		l := &p.Layers[i]
		sizes := l.Space.sizes()
		g := agent{settings: []gridPoint{start}, minQueue: -1}
		for _, kmin := range evenIndices(sizes[0], 4) {
			for _, pmax := range evenIndices(sizes[2], 3) {
				at := start
				at[0], at[1], at[2] = kmin, min(kmin, sizes[1]-1), pmax
				if at = l.project(at); !slices.Contains(g.settings, at) {
					g.settings = append(g.settings, at)
				}
			}
		}
		g.value, g.tried = make([]float64, len(g.settings)), make([]bool, len(g.settings))
		a.agents = append(a.agents, g)
	}
	return a
}

// evenIndices returns up to k evenly spaced indices in [0, n), including both ends.
func evenIndices(n, k int) (at []int) {
	k = min(n, k)
	for i := range k {
		at = append(at, i*(n-1)/max(1, k-1))
	}
	return at
}

// Propose implements Tuner.
func (a *ACC) Propose() (Point, bool) {
	if a.rounds == 0 {
		return nil, false
	}
	gridPoints := make([]gridPoint, len(a.agents))
	for i := range a.agents {
		gridPoints[i] = a.agents[i].settings[a.agents[i].current]
	}
	return a.point(gridPoints), true
}

// Observe implements Tuner.
func (a *ACC) Observe(m *Measurement) {
	a.rounds--
	for i := range a.agents {
		g := &a.agents[i]
		if m != nil {
			g.learn(i, m, a.rate)
		}
		if a.interval > 1 && a.rng.IntN(a.interval) > 0 {
			continue
		}
		if explore := a.rng.Float64() < a.eps; explore {
			g.current = a.rng.IntN(len(g.settings))
		} else {
			g.current = g.best()
		}
	}
	a.eps = max(a.floor, a.eps*a.decay)
}

// learn credits the reward of the layer's switches to the current setting. Throughput and queue
// length contribute one half each.
func (g *agent) learn(layer int, m *Measurement, rate float64) {
	var throughput, queue float64
	n := 0
	for _, s := range m.Switches {
		if s.Layer == layer {
			throughput += float64(s.Throughput)
			queue += cells(s)
			n++
		}
	}
	if n == 0 {
		return
	}
	g.maxThroughput = max(g.maxThroughput, throughput)
	if g.minQueue < 0 || queue < g.minQueue {
		g.minQueue = queue
	}
	reward := 0.5 * (g.minQueue + 1) / (queue + 1)
	if g.maxThroughput > 0 {
		reward += 0.5 * throughput / g.maxThroughput
	}
	v := &g.value[g.current]
	if !g.tried[g.current] {
		*v, g.tried[g.current] = reward, true
		return
	}
	*v += rate * (reward - *v)
}

func (g *agent) best() int {
	best := g.current
	for i, v := range g.value {
		if g.tried[i] && (!g.tried[best] || v > g.value[best]) {
			best = i
		}
	}
	return best
}
