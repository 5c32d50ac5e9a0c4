package scene

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

// TestMultiHost: one queue pair to a host whose PCIe is idle. Behind one queue it waits for the
// other host, with VoQ for the pauses that the queue of the other host causes, and with NIC-ECN
// below XOFF for nothing.
func TestMultiHost(t *testing.T) {
	race.OneGoroutine(t)
	run := func(change func(*MultiHost, *bytetuning.Watermark)) *MultiHostRun {
		m := MultiHostLab(20)
		m.Settle, m.Period = 5*ms, 5*ms
		w := m.SwitchProfile()
		change(m, &w)
		require.NoError(t, m.Apply(t.Context(), bytetuning.Point{w}))
		r, err := m.Run(t.Context())
		require.NoError(t, err)
		t.Logf("%v: A %v, B %v, victim %v, %d pauses, %v", w, r.A, r.B, r.Victim, r.Pauses,
			r.Paused)
		assert.Zero(t, r.Lost)
		return r
	}
	below := func(_ *MultiHost, w *bytetuning.Watermark) {
		w.Kmin, w.Kmax = 64*bytetuning.Cell, 320*bytetuning.Cell
	}
	m := MultiHostLab(20)
	assert.Error(t, m.Layers()[0].Check(m.SwitchProfile()), "Kmax is above XOFF")
	assert.NoError(t, m.Layers()[0].Check(m.Default()))
	pcie := 50e9 * 1024 / (1024 + 86)

	alone := run(func(m *MultiHost, _ *bytetuning.Watermark) { m.QPs = 0 })
	assert.InEpsilon(t, pcie, float64(alone.Total()), 0.05)

	asIs := run(func(*MultiHost, *bytetuning.Watermark) {})
	assert.Positive(t, asIs.Pauses)
	assert.Greater(t, asIs.ToR, 0.)
	assert.Less(t, asIs.Victim, alone.Victim/2)
	assert.Less(t, asIs.NICMarked, asIs.Marked, "paused, the switch has a queue, and marks")

	tuned := run(below)
	assert.Zero(t, tuned.Pauses)
	assert.Zero(t, tuned.Paused)
	assert.Greater(t, tuned.Victim, alone.Victim*8/10)
	assert.InEpsilon(t, pcie, float64(tuned.A+tuned.B), 0.1)

	one := run(func(m *MultiHost, w *bytetuning.Watermark) { m.OneQueue = true; below(m, w) })
	assert.Less(t, one.Victim, tuned.Victim/2, "not for a pause, but for those before it")
}

func TestMultiHostErrors(t *testing.T) {
	m := MultiHostLab(1)
	_, err := m.Measure(t.Context())
	assert.ErrorContains(t, err, "nothing was applied")
	assert.ErrorContains(t, m.Apply(t.Context(), nil), "watermarks for 0 layers")
	assert.ErrorContains(t, m.Apply(t.Context(), bytetuning.Point{{}}), "Kmin 0B, Kmax 0B")
	require.NoError(t, m.Apply(t.Context(), bytetuning.Point{m.Default()}))
	m.Control = "dcqcm"
	_, err = m.Measure(t.Context())
	assert.Error(t, err)
	m.Cut(units.Microsecond)
	m.Many = "dcqcm"
	_, err = m.Measure(t.Context())
	assert.Error(t, err)
}
