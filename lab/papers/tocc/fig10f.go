package tocc

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig10f: an incast alone, in which the bandwidth reserved for tokens is lost.
var fig10f = &experiment.Experiment{
	ID: "tocc/fig10f",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return testbedCells(s, testbed{Pattern: incast})
	},
	Run: runTestbed,
	Judge: func(r *experiment.Results) {
		goodputs := func(s testbedScheme) (all []float64) {
			for _, bytes := range incastSizes {
				all = append(all, testbedOf(r, s, incast).of(bytes).mean("goodput"))
			}
			return all
		}
		tocc := goodputs(testbedToCC)
		r.Claim("stable", (slices.Max(tocc)-slices.Min(tocc))/slices.Max(tocc))
		r.Claim("ceiling", tocc[len(tocc)-1]/(testbedCap*(1-testbedShare())))
		if r.Scale == experiment.Full {
			r.Note("dcqcn-lower", "DCQCN begins at line rate, and with PFC the link is never "+
				"idle, whatever its rates do meanwhile (%.0f PAUSEs). ToCC reserves %.1f %% for "+
				"tokens",
				testbedOf(r, testbedDCQCN, incast).pauses(), 100*testbedShare())
			r.Claim("dcqcn-lower", testbedOf(r, testbedDCQCN, incast).mean("early")/testbedOf(r,
				testbedToCC, incast).mean("early"))
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var groups []string
		for _, bytes := range incastSizes {
			groups = append(groups, bytes.String())
		}
		bars := figure.Bars("goodput", "Incast on a link of 25 Gb/s", "goodput (Gb/s)", groups...)
		rate := figure.Lines("rate", "Incast of 1 MiB messages", "time (ms)", "goodput (Gb/s)")
		for _, s := range testbedSchemes {
			var m experiment.Measures
			for _, bytes := range incastSizes {
				m.Add(testbedOf(r, s, incast).of(bytes).first(), func(c experiment.Pool) float64 {
					return c.Values("goodput").Mean() / 1e9
				})
			}
			m.Bars(bars, string(s))
			first := testbedOf(r, s, incast).of(units.MiB).first().Seeds()[0]
			first.Series("rate").Scaled(1e3, 1e-9).Draw(rate, string(s))
		}
		return []figure.Figure{bars, rate}
	},
}

var incastSizes = []units.Bytes{8 * units.KiB, 64 * units.KiB, units.MiB}

func sizeName(b units.Bytes) string { return fmt.Sprint(int64(b/units.KiB)) + "k" }
