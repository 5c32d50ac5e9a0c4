package prioplus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// The artifact's metrics of coflows.

// The groups of priorities.
var (
	lowerFour  = []int{0, 1, 2, 3}
	higherFour = []int{4, 5, 6, 7}
	allEight   = []int{0, 1, 2, 3, 4, 5, 6, 7}
)

// cctMetric is a completion time, in seconds, of the coflows of some priorities.
type cctMetric func(p experiment.Pool, priorities []int) float64

// meanCCT is the mean over all coflows of the priorities together.
func meanCCT(p experiment.Pool, priorities []int) float64 {
	var all experiment.Values
	for _, i := range priorities {
		all = append(all, p.Values(cct(i))...)
	}
	return all.Mean()
}

// tailCCT is the mean of the priorities' 99th percentiles.
func tailCCT(p experiment.Pool, priorities []int) float64 {
	var tails experiment.Values
	for _, i := range priorities {
		if v := p.Values(cct(i)); len(v) > 0 {
			tails = append(tails, p99(v))
		}
	}
	return tails.Mean()
}

// speedup is relative to Swift without priorities.
func speedup(r experiment.Pool, of cctMetric, c coflowCell, priorities []int) float64 {
	return of(r.Cell(at(c.Load, baseline).name()), priorities) / of(r.Cell(c.name()), priorities)
}

// gain returns the excess of a's speedup over b's. Both are relative to the same runs.
func gain(r experiment.Pool, of cctMetric, a, b coflowCell, priorities []int) float64 {
	return of(r.Cell(b.name()), priorities)/of(r.Cell(a.name()), priorities) - 1
}

// split is the gain for the higher four priorities and for the lower four.
func split(r *experiment.Results, of cctMetric, a, b coflowCell) claims.Value {
	return claims.Value{}.With("high", claims.Number(gain(r.Pool, of, a, b, higherFour))).With(
		"low", claims.Number(gain(r.Pool, of, a, b, lowerFour)))
}

// bySeed returns a value for each seed.
func bySeed(r *experiment.Results, of func(experiment.Pool) float64) (v experiment.Values) {
	for _, seed := range r.Seeds() {
		v = append(v, of(seed))
	}
	return v
}

// spread describes a value's least and largest among the seeds.
func spread(r *experiment.Results, of func(experiment.Pool) float64) string {
	v := bySeed(r, of)
	if len(v) < 2 {
		return "one seed"
	}
	return fmt.Sprintf("%.3g to %.3g by seed", v.Min(), v.Max())
}

// ackFinding compares PrioPlus with physical priorities under both assignments of ACKs.
func ackFinding(r *experiment.Results, of cctMetric, load float64) string {
	published := gain(r.Pool, of, at(load, virtualSwift), at(load, physical), allEight)
	alike := gain(r.Pool, of, at(load, virtualSwift), fair(load), allEight)
	return fmt.Sprintf("ACKs above all data for PrioPlus only, as published: %+.3f; for both "+
		"schemes: %+.3f. Where ACKs travel accounts for %+.3f, which virtual priorities do not "+
		"cause", published, alike, published-alike)
}

// speedupBars draws speedups of cells for the groups of priorities.
func speedupBars(name, title string, r *experiment.Results, of cctMetric,
	cells ...coflowCell) figure.Figure {
	bars := figure.Bars(name, title, "speedup", "high", "low", "all")
	for _, c := range cells {
		label := c.label()
		if c.Lossy {
			label += ", no PFC"
		}
		s := func(priorities []int) float64 { return speedup(r.Pool, of, c, priorities) }
		bars.Heights(label, s(higherFour), s(lowerFour), s(allEight))
	}
	return bars
}

// gainBars draws PrioPlus's gain over physical priorities, by seed, under both assignments of ACKs.
func gainBars(name string, r *experiment.Results, load float64) figure.Figure {
	title := fmt.Sprintf("PrioPlus's gain and the class of ACKs, load %.0f %%", 100*load)
	bars := figure.Bars(name, title, "gain over physical priorities",
		"ACKs as published", "ACKs alike")
	for i, seed := range slices.Concat([]experiment.Pool{r.Pool}, r.Seeds()) {
		label := "all seeds"
		if i > 0 {
			label = fmt.Sprintf("seed %d", i)
		}
		bars.Heights(label,
			gain(seed, meanCCT, at(load, virtualSwift), at(load, physical), allEight),
			gain(seed, meanCCT, at(load, virtualSwift), fair(load), allEight))
	}
	return bars
}
