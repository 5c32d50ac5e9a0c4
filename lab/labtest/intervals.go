package labtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Intervals returns from when to when at least one of the flows runs, and from when to when all do.
// Every flow must have ended or been stopped.
func Intervals(t testing.TB, flows []*sim.Trace) (first, last, joined, left units.Duration) {
	t.Helper()
	first, left = flows[0].Start, units.Forever
	for _, f := range flows {
		require.True(t, f.Ended || f.Stop > 0, "a flow did not end")
		end := f.Finish
		if f.Stop > 0 {
			end = f.Stop
		}
		first, last = min(first, f.Start), max(last, end)
		joined, left = max(joined, f.Start), min(left, end)
	}
	return first, last, joined, left
}
