package prioplus

import (
	"bytes"
	"fmt"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// The public ns-3 model of PrioPlus (github blueroaring/PrioPlus, snapshot e3d2a8905) with four
// adjacent priorities of two flows each: one more begins each millisecond, upward, and from 4 ms on
// one stops each millisecond, downward. Goodput of each class in the second half of each
// millisecond, Gb/s, the lowest first; payload is 0.949 of what a link carries there.
var ns3Stairs = [7][4]float64{
	{94.9, 0, 0, 0},
	{46.6, 48.3, 0, 0},
	{0, 77.7, 17.1, 0},
	{0, 0, 84.1, 10.7},
	{0, 0, 94.8, 0},
	{12.2, 78.9, 0, 0},
	{83.7, 0, 0, 0},
}

// TestAgainstNS3Stairs: in at least one of five draws of starts and probes ours leaves no more of
// the link unused than the model in its one, and gives the highest class no smaller share, within a
// tenth.
func TestAgainstNS3Stairs(t *testing.T) {
	labtest.OneGoroutine(t)
	var flows []sim.Flow
	for class := range 4 {
		control, err := virtual("n=8,high=0,low=1,direct=0", class+1, wai)
		require.NoError(t, err)
		flows = append(flows,
			sim.Many(2, sim.Flow{Control: control, Start: units.Duration(class) * units.Millisecond,
				Stop: units.Duration(7-class) * units.Millisecond})...)
	}
	var mean [7][4]float64
	var used, first [7]float64 // the maximum of the draws
	const draws = 5
	for seed := range uint64(draws) {
		config := micro(seed+1, 7*units.Millisecond)
		config.Jitter = 5 * units.Microsecond
		r, err := config.Run(t.Context(), flows)
		require.NoError(t, err)
		for phase := range mean {
			end := units.Duration(phase+1) * units.Millisecond
			var g [4]float64
			for class := range g {
				g[class] = group(r.Traces[2*class:2*class+2], end-units.Millisecond/2, end) / 1e9
				mean[phase][class] += g[class] / draws
			}
			used[phase] = max(used[phase], sum(g)/config.Capacity()*1e9)
			first[phase] = max(first[phase], g[highest(phase)]/sum(g))
		}
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "millisecond\tours, mean, lowest first (Gb/s)\tns-3")
	for phase, there := range ns3Stairs {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\n", phase, mean[phase], there)
		assert.Greater(t, used[phase], 0.9*sum(there)/94.9, "millisecond %d: of the link", phase)
		assert.Greater(t, first[phase], 0.9*there[highest(phase)]/sum(there),
			"millisecond %d: of the highest", phase)
	}
	w.Flush()
	t.Log("\n" + table.String())
}

// highest returns the highest class whose flows run for a whole millisecond.
func highest(phase int) int { return min(phase, 6-phase) }

func sum(g [4]float64) (all float64) {
	for _, x := range g {
		all += x
	}
	return all
}
