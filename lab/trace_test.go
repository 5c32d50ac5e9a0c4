package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/units"
)

// TestTrace checks that each job that runs has a log with the queue pairs of its simulation.
func TestTrace(t *testing.T) {
	x := *labtest.Dice
	x.Run = func(j *experiment.Job) error {
		control, err := cc.Parse("fixed:window=100KiB")
		require.NoError(t, err)
		b := sim.Bottleneck{Rate: 100 * units.Gbps, Delay: units.Microsecond,
			Until: units.Millisecond}
		flows := []sim.Flow{{Bytes: 100 * units.KiB, Control: control}}
		if _, err := b.Run(j.Context(), flows); err != nil {
			return err
		}
		return labtest.Dice.Run(j)
	}
	logs, out := t.TempDir(), t.TempDir()
	s := newShell(t, &x)
	code, _, errs := s.do(t.Context(), "run", "demo/dice", "--out", out, "--trace", logs)
	require.Equal(t, cli.OK, code, errs)
	files, err := filepath.Glob(filepath.Join(logs, "demo_dice_*.sqlog"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		r := analysis.New(file, analysis.EventLog)
		require.NoError(t, r.Log(f, func(int64) {}))
		require.NoError(t, f.Close())
		require.NotEmpty(t, r.Flows)
	}
	code, _, errs = s.do(t.Context(), "run", "demo/dice", "--out", out, "--trace", logs)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "--trace: no log was written")
}
