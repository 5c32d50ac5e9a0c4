package carclab

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
)

// fig5bc: short requests and ever more threads with long flows, under hostCC. What is measured is eRPC, which copies long messages
// out of their receive buffers, so that they are copied here as in figure 8b.
var fig5bc = &experiment.Experiment{
	ID:    "carc/fig5bc",
	Seeds: oneSeed,
	Cells: mixCells(mixLongs, hostCC, hostFour),
	Run:   runMix(mixTime, hostCC, hostFour),
	Judge: func(r *experiment.Results) {
		longs := mixLongs(r.Scale)
		most := longs[len(longs)-1]
		all, none := mixAt(r, hostCC, most), mixAt(r, hostCC, 0)
		r.Claim("short-down", 1-all.Values("rate")[0]/none.Values("rate")[0])
		r.Claim("long-down", 1-perCore(r, hostCC, most)/perCore(r, hostCC, 1))
		r.Claim("long-misses", all.Values("long miss")[0])
		r.Claim("short-misses", all.Values("miss")[0]-none.Values("miss")[0])
		four, fourNone := mixAt(r, hostFour, most), mixAt(r, hostFour, 0)
		why := fmt.Sprintf("a thread that waits for each line takes %.1f Gb/s of a flow, so that the lines of short requests are used again before a cache of others went by; with four lines at a time it is %.1f Gb/s (the paper has about 11 at 8:8, by its FCT), short requests are %.2f slower and miss %.2f more",
			perCore(r, hostCC, most), perCore(r, hostFour, most), 1-four.Values("rate")[0]/fourNone.Values("rate")[0], four.Values("miss")[0]-fourNone.Values("miss")[0])
		r.Note("short-down", "%s", why)
		r.Note("short-misses", "%s", why)
	},
	Figures: func(r *experiment.Results) []figure.Figure { return mixFigures(r, mixLongs(r.Scale), hostCC, hostFour) },
}

var (
	carcMix     = carcOf("oneway")
	mixVariants = []variant{hostCC, carcMix, hostLIFO, carcMix.inFIFO(), hostFour, carcMix.four()}
)

// A flow takes a thread that waits for each line 14 to 23 ms: the table sees four of each thread at least.
const (
	mixTime    = 15 * ms
	table1Time = 100 * ms
)

var table1Variants = []variant{hostCC, carcMix, hostFour, carcMix.four()}

// someLong leaves out the server without long flows.
func someLong(longs func(experiment.Scale) []int) func(experiment.Scale) []int {
	return func(s experiment.Scale) []int { return slices.DeleteFunc(longs(s), func(n int) bool { return n == 0 }) }
}

// fig8b: the same with credits.
var fig8b = &experiment.Experiment{
	ID:    "carc/fig8b",
	Seeds: oneSeed,
	Cells: mixCells(someLong(mixLongs), mixVariants...),
	Run:   runMix(mixTime, mixVariants...),
	Judge: func(r *experiment.Results) {
		longs := someLong(mixLongs)(r.Scale)
		faster, fewer := 0., 0.
		for _, n := range longs {
			faster = max(faster, perCore(r, carcMix, n)/perCore(r, hostCC, n))
			fewer += (mixAt(r, hostCC, n).Values("long miss")[0] - mixAt(r, carcMix, n).Values("long miss")[0]) / float64(len(longs))
		}
		most := longs[len(longs)-1]
		r.Claim("throughput", faster)
		r.Note("throughput", "at 8:%d: CARC with eRPC's FIFO rings %.2f, hostCC with LIFO buffers %.2f; with four lines at a time CARC %.2f", most,
			perCore(r, carcMix.inFIFO(), most)/perCore(r, hostCC, most), perCore(r, hostLIFO, most)/perCore(r, hostCC, most), perCore(r, carcMix.four(), most)/perCore(r, hostFour, most))
		r.Claim("misses", fewer)
		r.Claim("not-zero", mixAt(r, carcMix, most).Values("long miss")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return mixFigures(r, someLong(mixLongs)(r.Scale), mixVariants...)
	},
}

// back is the largest step down, in parts of the range.
func back(series []float64) (step float64) {
	for i, y := range series[1:] {
		step = max(step, series[i]-y)
	}
	return step / (slices.Max(series) - slices.Min(series))
}

func table1Longs(s experiment.Scale) []int { return experiment.At(s, []int{2, 4, 6, 8}, []int{1, 4}) }

// table1: how long the flows take.
var table1 = &experiment.Experiment{
	ID:    "carc/table1",
	Seeds: oneSeed,
	Cells: mixCells(table1Longs, table1Variants...),
	Run:   runMix(table1Time, table1Variants...),
	Judge: func(r *experiment.Results) {
		var host, withCARC []float64
		faster, tails := claims.Value{}, claims.Value{}
		for _, n := range table1Longs(r.Scale) {
			h, c := mixAt(r, hostCC, n).Values("long fct"), mixAt(r, carcMix, n).Values("long fct")
			ratio := mix{Variant: "r", Long: n}.String()[2:]
			for _, p := range []float64{50, 99} {
				faster = faster.With(fmt.Sprintf("%s p%g", ratio, p), claims.Number(h.Percentile(p)/c.Percentile(p)))
			}
			tails = tails.With(ratio, claims.Number(c.Percentile(99)/c.Percentile(50)))
			host, withCARC = append(host, h.Percentile(50)), append(withCARC, c.Percentile(50))
		}
		r.Claim("speedup", faster)
		most := table1Longs(r.Scale)[len(table1Longs(r.Scale))-1]
		r.Note("speedup", "with four lines at a time 8:%d takes %.0f us with hostCC and %.0f with CARC (P50); the paper 5983 and 4341 at 8:8", most,
			mixAt(r, hostFour, most).Values("long fct").Percentile(50)*1e6, mixAt(r, carcMix.four(), most).Values("long fct").Percentile(50)*1e6)
		// One series for both: that which goes back more.
		grows := host
		if back(withCARC) > back(host) {
			grows = withCARC
		}
		r.Claim("grows", grows)
		longs := table1Longs(r.Scale)
		first := mixAt(r, hostCC, longs[0])
		r.Note("grows", "P50 in s: hostCC %.3g, CARC %.3g; judged is the one that goes back more. With %d threads of flows already %.2f of hostCC's reads miss, a miss costs the same however many there are, and the link is not full; what else grows in the paper, in both systems alike, the model does not have",
			host, withCARC, longs[0], first.Values("long miss")[0])
		r.Claim("tail-close", tails)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "fct", Title: "7.9 MB flows beside 8 threads of short requests", Header: []string{"run", "flows", "P50 (us)", "P99 (us)", "reads that miss (%)"}}
		for _, c := range r.Cells() {
			fct := c.Values("long fct").Scaled(1e6)
			t.Row(c.Name, len(fct), int(fct.Percentile(50)), int(fct.Percentile(99)), int(100*c.Values("long miss")[0]))
		}
		return []figure.Figure{t, statesTable(r)}
	},
}
