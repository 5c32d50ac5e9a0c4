package bytetuning

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// hill is a network whose energy is written in its measurement: highest, 1, at a place in the
// middle of the traversal.
func hill(w Watermark) *Measurement {
	s := Traversal()
	p := s.nearest(w)
	f := 1.
	for i, top := range (place{4, 0, 3, 2, 4}) {
		if n := s.sizes()[i]; n > 1 {
			d := float64(p[i]-top) / float64(n-1)
			f -= 0.2 * d * d
		}
	}
	return &Measurement{Switches: []Sample{{Throughput: units.BitRate(f * 1e9)}}}
}

func height(m *Measurement) float64 { return float64(m.Throughput()) / 1e9 }

func problem(seed uint64) Problem {
	l := Layer{Name: "tor", Space: Traversal(), Buffer: 64 * units.MiB, Ports: 16}
	return Problem{Layers: []Layer{l},
		Start:  Point{{Kmin: 0, Kmax: 500 * Cell, Pmax: 90, Headroom: 600 * Cell, Alpha: -6}},
		Energy: height, Seed: seed}
}

func tuner(t *testing.T, spec string, p Problem) Tuner {
	t.Helper()
	tn, err := New(spec, p)
	require.NoError(t, err)
	return tn
}

// TestAlgorithm1 plays the whole schedule of the paper: its counts, its steps, its rule, and the
// places it goes to.
func TestAlgorithm1(t *testing.T) {
	a := tuner(t, "anneal", problem(1)).(*Anneal)
	evaluations, best, steps := 0, 0., 0
	var worse, taken, early, earlyTaken int
	for {
		p, more := a.Propose()
		if !more {
			break
		}
		evaluations++
		require.NoError(t, p.Check(a.Layers))
		m := hill(p[0])
		best = max(best, height(m))
		probing := a.phase == probe
		a.Hear(m)
		if !probing {
			continue
		}
		it := a.Last()
		steps++
		if it.Worse {
			require.Equal(t, min(1, it.Before*2), it.Step)
			worse++
			if it.Taken {
				taken++
			}
			if it.Temperature > 0.5 {
				early++
				if it.Taken {
					earlyTaken++
				}
			}
		} else {
			require.True(t, it.Taken)
			require.Equal(t, max(1./64, it.Before/2), it.Step)
		}
	}
	assert.Equal(t, 917, a.Temperatures())
	assert.Equal(t, 9170, steps)
	assert.Equal(t, 18341, evaluations)
	assert.Equal(t, 1., best)
	assert.Greater(t, float64(earlyTaken)/float64(early), 0.8,
		"with energies of order one it is a random walk at first")
	assert.Less(t, taken, worse)
}

// TestTunersFindTheTop within a tenth of the grid.
func TestTunersFindTheTop(t *testing.T) {
	for _, c := range []struct {
		spec   string
		within float64
	}{{"anneal:tem=0.1", 0.03}, {"anneal:tem=0.1,again=false", 0.02}, {"greedy", 0.05},
		{"random", 0.02}} {
		for seed := uint64(1); seed <= 10; seed++ {
			tn := tuner(t, c.spec, problem(seed))
			best := 0.
			for range 330 {
				p, more := tn.Propose()
				if !more {
					break
				}
				m := hill(p[0])
				best = max(best, height(m))
				tn.Hear(m)
			}
			assert.Greater(t, best, 1-c.within, "%s, seed %d", c.spec, seed)
		}
	}
}

// TestTunersRepeat: the same seed and the same answers, the same proposals, also where a
// measurement is missing.
func TestTunersRepeat(t *testing.T) {
	for _, spec := range Tuners() {
		a, b := tuner(t, spec, problem(7)), tuner(t, spec, problem(7))
		for i := range 400 {
			p, more := a.Propose()
			q, moreToo := b.Propose()
			require.Equal(t, more, moreToo)
			require.Equal(t, p, q, "%s, proposal %d", spec, i)
			if !more {
				break
			}
			m := hill(p[0])
			if i%7 == 3 {
				m = nil
			}
			a.Hear(m)
			b.Hear(m)
		}
	}
}

// TestAProposalIsAllowed: whatever a tuner that searches is told, what it proposes breaks no rule.
func TestAProposalIsAllowed(t *testing.T) {
	for _, spec := range []string{"anneal", "anneal:least=1,step=1", "greedy", "random", "acc"} {
		p := problem(3)
		p.Layers[0].Buffer, p.Layers[0].Ports = 8*units.MiB, 8 // case I is near
		p.Layers = append(p.Layers, p.Layers[0])
		p.Start = append(p.Start, p.Start[0])
		tn := tuner(t, spec, p)
		for range 2000 {
			point, more := tn.Propose()
			if !more {
				break
			}
			require.NoError(t, point.Check(p.Layers), spec)
			tn.Hear(hill(point[0]))
		}
	}
}

func TestGrid(t *testing.T) {
	g := tuner(t, "grid", problem(1))
	seen := map[Watermark]bool{}
	for {
		p, more := g.Propose()
		if !more {
			break
		}
		seen[p[0]] = true
		g.Hear(nil)
	}
	assert.Len(t, seen, 3300)

	g = tuner(t, "grid:every=100", problem(1))
	n := 0
	for _, more := g.Propose(); more; _, more = g.Propose() {
		n++
		g.Hear(nil)
	}
	assert.Equal(t, 33, n)

	p := problem(1)
	for range 6 {
		p.Layers = append(p.Layers, p.Layers[0])
		p.Start = append(p.Start, p.Start[0])
	}
	_, err := New("grid", p)
	assert.ErrorContains(t, err, "more than 2^30 points", "3300^7")
}

// TestACC: an agent learns which setting of ECN is best for its own layer.
func TestACC(t *testing.T) {
	p := problem(1)
	tn := tuner(t, "acc", p)
	var last Point
	good := 0
	for i := range 300 {
		last, _ = tn.Propose()
		m := &Measurement{Switches: []Sample{{Throughput: units.Gbps,
			Queue: last[0].Kmin + units.Bytes(last[0].Pmax)}}}
		if i >= 200 && last[0].Kmin == 0 {
			good++
		}
		tn.Hear(m)
	}
	assert.Greater(t, good, 80, "of the last 100, but for what is tried out")
}

func TestSpecs(t *testing.T) {
	for want, spec := range map[string]string{
		`no tuner "bayes"`:                     "bayes",
		`no knob "temp"; there are iterations`: "anneal:temp=1",
		`tem="hot": want 1e-09 to 1e+09`:       "anneal:tem=hot",
		`cooling="1": want 0.01 to 0.9999`:     "anneal:cooling=1",
		`tem="NaN"`:                            "anneal:tem=NaN",
		`iterations=1.5: want a whole number`:  "anneal:iterations=1.5",
		`again="perhaps": want true or false`:  "anneal:again=perhaps",
		`tem=0.01, goal=0.01: want a goal`:     "anneal:tem=0.01",
		`tem is given twice`:                   "anneal:tem=1,tem=2",
	} {
		_, err := New(spec, problem(1))
		assert.ErrorContains(t, err, want)
	}
	_, err := New("anneal", Problem{})
	assert.ErrorContains(t, err, "no layers")
	_, err = New("anneal", Problem{Layers: problem(1).Layers})
	assert.ErrorContains(t, err, "watermarks for 0 layers")
}

func FuzzSpec(f *testing.F) {
	for _, s := range []string{"", "anneal", "anneal:tem=1", "grid:every=2", "acc:eps=0,beat=3",
		"greedy:epochs=1e5", "a:=,="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		tn, err := New(spec, problem(1))
		if err != nil {
			return
		}
		for range 10 {
			p, more := tn.Propose()
			if !more {
				return
			}
			require.Len(t, p, 1)
			tn.Hear(hill(p[0]))
		}
	})
}
