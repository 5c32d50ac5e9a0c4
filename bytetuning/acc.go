package bytetuning

import (
	"math/rand/v2"
	"slices"
)

// ACC stands in for ACC (Yan et al., SIGCOMM 2021), which tunes ECN by a learner on every switch.
// Here each layer has an agent that knows what its own switches measured and nothing of the others:
// for each of up to twelve settings of ECN the mean reward, with newer ones weighing more. It takes
// the best so far, or with probability eps another one. Deep learning and the states it learns from
// are left out: the network that we measure stands still. PFC stays as it was.
//
// With beat=K an agent decides in each K-th round on average, whenever it likes, as switches
// without a common beat do; until then its setting stays and what it measures is put down to that.
type ACC struct {
	Problem
	agents []agent
	rng    *rand.Rand
	eps    float64
	decay  float64
	floor  float64
	rate   float64
	beat   int
	rounds int
}

type agent struct {
	settings []place
	value    []float64
	tried    []bool
	now      int
	most     float64 // T_max, Q_min of its own
	least    float64
}

func newACC(p Problem, k *knobs) Tuner {
	a := &ACC{
		Problem: p, rng: p.random(),
		eps:    k.number("eps", 0.5, 0, 1),
		decay:  k.number("decay", 0.95, 0, 1),
		floor:  k.number("floor", 0.05, 0, 1),
		rate:   k.number("rate", 0.3, 0.001, 1),
		beat:   k.whole("beat", 1, 1, 1000),
		rounds: k.whole("rounds", 1000, 1, 1e9),
	}
	for i, start := range p.nearest(p.Start) {
		l := &p.Layers[i]
		sizes := l.Space.sizes()
		g := agent{settings: []place{start}, least: -1}
		for _, kmin := range spread(sizes[0], 4) {
			for _, pmax := range spread(sizes[2], 3) {
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

// spread answers up to k indices of n, evenly apart, the ends among them.
func spread(n, k int) (at []int) {
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
	places := make([]place, len(a.agents))
	for i := range a.agents {
		places[i] = a.agents[i].settings[a.agents[i].now]
	}
	return a.point(places), true
}

// Hear implements Tuner.
func (a *ACC) Hear(m *Measurement) {
	a.rounds--
	for i := range a.agents {
		g := &a.agents[i]
		if m != nil {
			g.learn(i, m, a.rate)
		}
		if a.beat > 1 && a.rng.IntN(a.beat) > 0 {
			continue
		}
		if explore := a.rng.Float64() < a.eps; explore {
			g.now = a.rng.IntN(len(g.settings))
		} else {
			g.now = g.best()
		}
	}
	a.eps = max(a.floor, a.eps*a.decay)
}

// learn puts what the agent's switches did down to its setting: half for throughput, half for a
// short queue.
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
	g.most = max(g.most, throughput)
	if g.least < 0 || queue < g.least {
		g.least = queue
	}
	reward := 0.5 * (g.least + 1) / (queue + 1)
	if g.most > 0 {
		reward += 0.5 * throughput / g.most
	}
	v := &g.value[g.now]
	if !g.tried[g.now] {
		*v, g.tried[g.now] = reward, true
		return
	}
	*v += rate * (reward - *v)
}

func (g *agent) best() int {
	best := g.now
	for i, v := range g.value {
		if g.tried[i] && (!g.tried[best] || v > g.value[best]) {
			best = i
		}
	}
	return best
}
