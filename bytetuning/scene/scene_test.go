package scene

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

const ms = units.Millisecond

func short(t *testing.T, name string) *Target {
	t.Helper()
	target, err := New(name)
	require.NoError(t, err)
	target.Settle, target.Period = 2*ms, 3*ms
	return target
}

func measure(t *testing.T, target *Target, p ...bytetuning.Watermark) *bytetuning.Measurement {
	t.Helper()
	require.NoError(t, target.Apply(t.Context(), p))
	m, err := target.Measure(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Validate(len(target.Layers())))
	return m
}

func baseline(t *testing.T, name string) bytetuning.Watermark {
	w, err := bytetuning.Baseline(name,
		bytetuning.Path{Rate: 25 * units.Gbps, RTT: 10 * units.Microsecond})
	require.NoError(t, err)
	return w
}

// TestMeasure: a watermark gives the same measurement twice, another one a different measurement;
// the flows' throughputs add up to that of the switch.
func TestMeasure(t *testing.T) {
	target := short(t, "2to1")
	a := measure(t, target, baseline(t, "experience"))
	assert.Equal(t, a, measure(t, target, baseline(t, "experience")))
	b := measure(t, target, baseline(t, "dcqcn"))
	assert.Less(t, b.Queue(), a.Queue(), "marks from 5 KB on in place of 256 KB")
	require.Len(t, a.Flows, 20)
	var sum units.BitRate
	for _, f := range a.Flows {
		sum += f.Throughput
	}
	assert.InEpsilon(t, float64(a.Throughput())*1024/1086, float64(sum), 0.02, "but for headers")
	assert.Less(t, a.Throughput(), 25*units.Gbps)
	assert.Zero(t, a.Lost)
}

// TestPFC pauses earlier with a smaller α. It loses nothing, except with a headroom that links of
// 100 Gb/s and 1 µs fill: 28 KB, where the paper's grid begins with 25.6.
func TestPFC(t *testing.T) {
	race.OneGoroutine(t)
	run := func(alpha bytetuning.Alpha, headroom units.Bytes) (pauses, lost uint64) {
		target := short(t, "23to1")
		var r *Run
		target.Watch = func(run *Run) { r = run }
		w := baseline(t, "hpcc")
		w.Alpha, w.Headroom = alpha, headroom
		lost = measure(t, target, w).Lost
		return r.Pauses(), lost
	}
	few, lost := run(0, 200*bytetuning.Cell)
	assert.Zero(t, lost)
	many, lost := run(-7, 200*bytetuning.Cell)
	assert.Zero(t, lost)
	assert.Less(t, few, many)
	_, lost = run(-7, 100*bytetuning.Cell)
	assert.Positive(t, lost)
}

// TestTelemetry: the throughput that INT infers from reports, and that polls count, is the actual
// one; the queue is sampled.
func TestTelemetry(t *testing.T) {
	race.OneGoroutine(t)
	target := short(t, "2to1")
	exact := measure(t, target, baseline(t, "experience")).Switches[0]
	// Reports of packets sample the queue only while it is not empty; polls sample it also when it
	// is.
	busy := float64(exact.Throughput) * (1024 + 86) / (1024 + 66) / 25e9
	for name, seen := range map[string]float64{"int": float64(exact.Queue) / busy,
		"ont": float64(exact.Queue)} {
		s, err := telemetry.Named(name)
		require.NoError(t, err)
		target.Telemetry = s.Compressed(100 * units.Microsecond)
		got := measure(t, target, baseline(t, "experience")).Switches[0]
		t.Logf("%s: %v, %v; exact %v, %v", name, got.Throughput, got.Queue, exact.Throughput,
			exact.Queue)
		assert.InEpsilon(t, float64(exact.Throughput), float64(got.Throughput), 0.02, name)
		assert.InEpsilon(t, seen, float64(got.Queue), 0.05, name)
	}
	target.Telemetry, _ = telemetry.Named("snmp")
	_, err := target.Measure(t.Context())
	assert.ErrorIs(t, err, bytetuning.ErrTelemetry, "a poll each 30 s sees nothing of 3 ms")
	target.Telemetry, _ = telemetry.Named("sflow")
	_, err = target.Measure(t.Context())
	assert.ErrorIs(t, err, bytetuning.ErrTelemetry, "nor one packet of 16384")
}

func TestLayers(t *testing.T) {
	race.OneGoroutine(t)
	target := short(t, "2to1/layers")
	layers := target.Layers()
	require.Len(t, layers, 2)
	assert.Equal(t, "tor", layers[0].Name)
	assert.Equal(t, "leaf", layers[1].Name)
	a := measure(t, target, baseline(t, "dcqcn"), baseline(t, "experience"))
	for name, want := range map[string]int{"layers": 2, "switches": 6, "path": 5, "receiver": 1} {
		assert.Len(t, short(t, "2to1/"+name).Layers(), want, name)
	}
	one := short(t, "2to1/receiver")
	require.Len(t, a.Switches, 2)
	assert.Equal(t, 1, a.Switches[1].Layer)
	assert.InEpsilon(t, float64(a.Switches[0].Throughput), float64(a.Switches[1].Throughput), 0.05,
		"what the leaves send goes there")
	assert.Equal(t, a.Switches[:1], measure(t, one, baseline(t, "dcqcn")).Switches,
		"two senders do not queue in the leaves")
}

func TestErrors(t *testing.T) {
	for _, name := range []string{"", "3to1", "2to1/ports", "2to1/"} {
		_, err := New(name)
		assert.ErrorContains(t, err, "23to1, 2to1")
	}
	target := short(t, "2to1")
	_, err := target.Measure(t.Context())
	assert.ErrorContains(t, err, "nothing was applied")
	assert.ErrorContains(t, target.Apply(t.Context(), nil), "watermarks for 0 layers")
	assert.ErrorContains(t, target.Apply(t.Context(), bytetuning.Point{{}}), "Kmin 0B, Kmax 0B")

	require.NoError(t, target.Apply(t.Context(), bytetuning.Point{baseline(t, "dcqcn")}))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = target.Measure(over)
	assert.ErrorIs(t, err, context.Canceled)

	target.Senders = 24
	_, err = target.Measure(t.Context())
	assert.ErrorContains(t, err, "more than there are hosts")
	target.Senders, target.Control = 2, "dcqcm"
	_, err = target.Measure(t.Context())
	assert.Error(t, err)
}

// TestTuned: forty evaluations find a better point than the first.
func TestTuned(t *testing.T) {
	race.OneGoroutine(t)
	target := short(t, "2to1")
	start := bytetuning.Point{baseline(t, "experience")}
	o := bytetuning.NewObjective()
	tuner, err := bytetuning.New("anneal:tem=0.1,again=false",
		bytetuning.Problem{Layers: target.Layers(), Start: start, Energy: o.Energy, Seed: 1})
	require.NoError(t, err)
	s := &bytetuning.Search{Target: target, Tuner: tuner, Objective: o, Start: start, Budget: 40}
	out, err := s.Run(t.Context())
	require.NoError(t, err)
	t.Logf("%v: %.3f, %v: %.3f", out.Start, out.StartEnergy, out.Best, out.BestEnergy)
	assert.Greater(t, out.BestEnergy, out.StartEnergy)
}
