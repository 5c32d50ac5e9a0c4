package bytetuning

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// network is a target with scripted failures.
type network struct {
	layers   []Layer
	now      Point
	applied  int
	measured int
	refuse   func(n int) bool // the n-th Apply fails, partly applied
	blind    func(n int) (*Measurement, bool)
	half     bool
}

func (n *network) Layers() []Layer { return n.layers }

func (n *network) Apply(_ context.Context, p Point) error {
	n.applied++
	if n.refuse != nil && n.refuse(n.applied) {
		n.half = true
		return errors.New("the second switch refuses")
	}
	n.now, n.half = p, false
	return nil
}

func (n *network) Measure(context.Context) (*Measurement, error) {
	n.measured++
	if n.blind != nil {
		if m, blind := n.blind(n.measured); blind {
			return m, nil
		}
	}
	return hill(n.now[0]), nil
}

func search(t *testing.T, n *network, budget int) *Search {
	t.Helper()
	o := NewObjective()
	o.Beta = 1
	p := problem(1)
	p.Energy = o.Energy
	n.layers = p.Layers
	return &Search{Target: n, Tuner: tuner(t, "anneal:tem=0.1", p), Objective: o, Start: p.Start,
		Budget: budget}
}

func TestSearchEndsOnTheBest(t *testing.T) {
	n := &network{}
	s := search(t, n, 300)
	best := 0.
	s.Each = func(p Progress) {
		best = max(best, height(p.Measurement))
		assert.InDelta(t, best, height(hill(p.Best[0])), 1e-9, "best so far")
	}
	o, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "budget spent", o.StopReason)
	assert.Equal(t, 300, o.Evaluations)
	assert.Equal(t, o.Best, n.now, "the best point is applied")
	assert.InDelta(t, best, height(o.BestMeasurement), 1e-12)
	assert.Greater(t, o.BestEnergy, o.StartEnergy)
}

// TestNoisyNetwork checks that points are ranked by their mean energy, not by one high measurement.
func TestNoisyNetwork(t *testing.T) {
	n := &network{}
	n.blind = func(i int) (*Measurement, bool) {
		f := 1.2
		if i > 1 {
			f = 0.5
		}
		// start, start again
		return &Measurement{Switches: []Sample{{Throughput: units.BitRate(f * 1e9)}}}, i <= 3
	}
	s := search(t, n, 200)
	o, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, o.Start, o.Best, "the start's mean is 0.85")
}

func TestSearchSkips(t *testing.T) {
	for name, n := range map[string]*network{
		"refused":   {refuse: func(i int) bool { return i%5 == 3 }},
		"nothing":   {blind: func(i int) (*Measurement, bool) { return nil, i%5 == 3 }},
		"no switch": {blind: func(i int) (*Measurement, bool) { return &Measurement{}, i%5 == 3 }},
	} {
		s := search(t, n, 200)
		var reasons []string
		s.Each = func(p Progress) {
			if p.Skipped != "" {
				reasons = append(reasons, p.Skipped)
			}
		}
		o, err := s.Run(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, len(reasons), o.Skipped)
		assert.Greater(t, o.Skipped, 20, name)
		assert.Equal(t, o.Best, n.now, name)
		assert.False(t, n.half, name)
		if name == "refused" {
			assert.Equal(t, "not applied: the second switch refuses", reasons[0])
		} else {
			assert.Contains(t, reasons[0], "returned no switch samples")
		}
	}
}

// TestSearchStops checks that a search ends on the best point after consecutive failures, and at
// once when the start cannot be measured.
func TestSearchStops(t *testing.T) {
	n := &network{blind: func(i int) (*Measurement, bool) { return nil, i > 50 }}
	o, err := search(t, n, 200).Run(t.Context())
	assert.ErrorContains(t, err, "stopped after 5 consecutive failures")
	require.NotNil(t, o)
	assert.Equal(t, 55, o.Evaluations)
	assert.Equal(t, o.Best, n.now)

	n = &network{blind: func(int) (*Measurement, bool) { return nil, true }}
	s := search(t, n, 200)
	o, err = s.Run(t.Context())
	assert.ErrorIs(t, err, ErrTelemetry)
	assert.Nil(t, o)
	assert.Equal(t, s.Start, n.now)

	// When a switch also refuses the old configuration, the search ends.
	n = &network{refuse: func(i int) bool { return i >= 10 }}
	o, err = search(t, n, 200).Run(t.Context())
	assert.ErrorContains(t, err, "inspect it")
	assert.Equal(t, 10, o.Evaluations)
	assert.Equal(t, 12, n.applied, "the point, the best, and the best at the end")
}

func TestSearchAppliesNothingUnchecked(t *testing.T) {
	n := &network{}
	s := search(t, n, 0)
	s.Tuner = tuner(t, "grid", problem(1))
	n.layers[0].Buffer, n.layers[0].Ports = 16*units.MiB, 16
	s.Failures = 1000
	refused := 0
	s.Each = func(p Progress) {
		if p.Skipped != "" {
			assert.Contains(t, p.Skipped, "case I")
			refused++
		} else {
			require.NoError(t, p.Point.Check(n.layers))
		}
	}
	s.Start = Point{{Kmin: 1, Kmax: 2, Pmax: 1, Alpha: -3}}
	o, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "search complete", o.StopReason)
	assert.Greater(t, refused, 100)
	assert.Equal(t, n.applied-1, n.measured, "the best point is applied once more at the end")
	assert.Equal(t, 3301-refused, n.measured)
}

func TestInterrupt(t *testing.T) {
	n := &network{}
	s := search(t, n, 0)
	ctx, cancel := context.WithCancel(t.Context())
	s.Each = func(p Progress) {
		if p.N == 40 {
			cancel()
		}
	}
	o, err := s.Run(ctx)
	require.NoError(t, err)
	assert.Equal(t, "interrupted", o.StopReason)
	assert.Equal(t, o.Best, n.now)
}

// TestResume checks that a search that is interrupted and resumed, once after a crash in the middle
// of a line, has the outcome of an uninterrupted one.
func TestResume(t *testing.T) {
	whole, err := search(t, &network{}, 200).Run(t.Context())
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "log.jsonl")
	header := Header{Target: "hill", Tuner: "anneal:tem=0.1", Seed: 1,
		Objective: Objective{Beta: 1}, Start: problem(1).Start}
	var got *Outcome
	for _, budget := range []int{1, 60, 61, 200, 200} {
		n := &network{}
		s := search(t, n, budget)
		s.Log, err = OpenLog(path, header)
		require.NoError(t, err)
		before := len(s.Log.Evaluations)
		got, err = s.Run(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Log.Close())
		assert.Equal(t, budget-before, n.measured, "replayed points are not measured again")
		assert.Equal(t, got.Best, n.now, "the best point is applied after a replay")
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"point":[{"kmi`)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	assert.Equal(t, whole, got)

	other := header
	other.Seed = 2
	_, err = OpenLog(path, other)
	assert.ErrorContains(t, err, "is the log of another search: its seed is 1, want 2")
	s := search(t, &network{}, 300)
	p := problem(9)
	p.Energy = s.Objective.Energy
	s.Tuner = tuner(t, "anneal:tem=0.1", p)
	s.Log, err = OpenLog(path, header)
	require.NoError(t, err)
	_, err = s.Run(t.Context())
	assert.ErrorContains(t, err, "the log does not match this search")
}

func TestInvalidLog(t *testing.T) {
	for want, text := range map[string]string{
		"line 1: version 0": "{}\n",
		"line 2":            `{"version":1,"objective":{"beta":0.5},"start":[{}]}` + "\n{}\n",
		"unknown field":     `{"version":1,"rats":2}` + "\n",
		"beta 2":            `{"version":1,"objective":{"beta":2}}` + "\n",
		"no header":         "something else without a line",
	} {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := OpenLog(path, Header{})
		assert.ErrorContains(t, err, want)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(left), "a file that is not a log is left unchanged")
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"version":1,"target":"fluid:8x40G","tuner":"anneal","seed":1,` +
		`"objective":{"beta":0.5},"start":[{"kmin":1,"kmax":2,"pmax":3,"headroom":4,"alpha":-3}]}
{"point":[{"kmin":1,"kmax":2,"pmax":3,"headroom":4,"alpha":-3}],` +
		`"measurement":{"switches":[{"throughput":1,"queue":2}]}}
{"point":[{"kmin":1,"kmax":2,"pmax":3,"headroom":4,"alpha":-3}],"skipped":"no"}
`))
	f.Add([]byte("\n"))
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, whole, err := ParseLog(bytes.NewReader(text))
		if err != nil {
			return
		}
		require.LessOrEqual(t, whole, int64(len(text)))
		again, same, err := ParseLog(bytes.NewReader(text[:whole]))
		require.NoError(t, err)
		require.Equal(t, whole, same)
		require.Equal(t, l, again)
	})
}

// TestFluidTarget checks that annealing on the model improves on DCQCN's published watermark.
func TestFluidTarget(t *testing.T) {
	f, err := NewFluid("8x40G")
	require.NoError(t, err)
	f.Config.Horizon = 10 * units.Millisecond
	start, err := Baseline("dcqcn", Path{})
	require.NoError(t, err)
	o := NewObjective()
	tn := tuner(t, "anneal:tem=1,again=false", Problem{Layers: f.Layers(), Start: Point{start},
		Energy: o.Energy, Seed: 1})
	s := &Search{Target: f, Tuner: tn, Objective: o, Start: Point{start}, Budget: 200}
	out, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.Greater(t, out.BestEnergy, out.StartEnergy)
	t.Logf("%v: %.3f, %v: %.3f", out.Start, out.StartEnergy, out.Best, out.BestEnergy)
	assert.Len(t, out.BestMeasurement.Flows, 8)

	for _, scene := range []string{"", "8", "0x40G", "8x", "8x50G", "x40G", "2x40Gx3"} {
		_, err := NewFluid(scene)
		assert.Error(t, err, scene)
	}
	assert.ErrorContains(t, f.Apply(t.Context(), Point{}), "watermarks for 0 layers")
}

// TestBestNeverGetsWorse checks each change of the best point: by the records at that time it is
// better than the one before, although the energies of all points fall with every new record.
func TestBestNeverGetsWorse(t *testing.T) {
	for seed := range uint64(5) {
		f, err := NewFluid("8x40G")
		require.NoError(t, err)
		start := Point{{Kmin: 5000, Kmax: 200_000, Pmax: 1, Headroom: 20_000, Alpha: 3}}
		o := NewObjective()
		tuner, err := New("random", Problem{Layers: f.Layers(), Start: start, Energy: o.Energy,
			Seed: seed})
		require.NoError(t, err)
		var before *Measurement
		changes, fell := 0, false
		energy := 0.
		s := &Search{Target: f, Tuner: tuner, Objective: o, Start: start, Budget: 60,
			Each: func(p Progress) {
				if before != nil && p.BestMeasurement != before {
					changes++
					require.Greater(t, o.Energy(p.BestMeasurement), o.Energy(before))
				}
				fell = fell || p.BestEnergy < energy
				before, energy = p.BestMeasurement, p.BestEnergy
			}}
		out, err := s.Run(t.Context())
		require.NoError(t, err)
		require.NotZero(t, changes)
		require.GreaterOrEqual(t, out.BestEnergy, out.StartEnergy)
		require.True(t, fell, "records were found")
	}
}
