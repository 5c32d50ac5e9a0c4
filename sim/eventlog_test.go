package sim_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/trace/sqlog"
)

// TestEventLog checks that a log changes nothing, that the same seed writes the same file, and that
// its analysis has the marks of the switches and what limited the flows.
func TestEventLog(t *testing.T) {
	s := leafSpine(t, "dctcp")
	plain, err := s.Run(t.Context())
	require.NoError(t, err)
	logged := func() (*sim.Result, []byte) {
		var file bytes.Buffer
		log, err := sqlog.New(&file, sqlog.Options{Sample: 0.1, Virtual: true})
		require.NoError(t, err)
		s.Trace = log
		r, err := s.Run(t.Context())
		require.NoError(t, err)
		require.Zero(t, log.Lost())
		require.NoError(t, log.Close())
		return r, file.Bytes()
	}
	r, file := logged()
	require.Equal(t, plain.Simulation.Net.Digest(), r.Simulation.Net.Digest())
	require.Equal(t, plain.Flows, r.Flows)
	_, again := logged()
	require.Equal(t, file, again)

	report := analysis.New("sim", analysis.EventLog)
	require.NoError(t, report.Log(bytes.NewReader(file), func(int64) {}))
	marks := uint64(0)
	for _, sw := range r.Simulation.Net.Switches() {
		for _, p := range sw.Ports() {
			for q := range 8 {
				marks += p.QueueStats(q).Marked
			}
		}
	}
	require.Positive(t, marks)
	require.Equal(t, marks, report.SwitchMarks)
	require.NotEmpty(t, report.Flows)
	for _, f := range report.Flows {
		if f.Packets > 0 {
			require.NotEmpty(t, f.Shares(), f.Name)
		}
	}
}
