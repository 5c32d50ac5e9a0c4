package prioplus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/bench/lab/claims"
	"github.com/goroce/goroce/bench/lab/experiment"
	"github.com/goroce/goroce/bench/lab/figure"
)

// Figure 11: completion times by how many priorities there are, of all flows and by size. The four
// experiments look at the same runs.

var fig11a = &experiment.Experiment{
	ID: "prioplus/fig11a",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return fig11Cells(s, virtualSwift, ideal, deadlines, physical, idealNoCC, virtualFree)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		r.Claim("close-to-ideal", worst(ratios(r, "all", mean, virtualSwift, ideal, counts(r.Scale)...)))
		better := ratios(r, "all", mean, deadlines, virtualSwift, 8, 12)
		r.Claim("d2tcp-worse", slices.Min(better))
		r.Note("d2tcp-worse", fifo)
		if r.Scale == experiment.Small {
			return
		}
		r.Claim("headroom-knee", scheduled(r, physical, 8).Values("all").Mean()/scheduled(r, physical, 6).Values("all").Mean())
		r.Claim("pfc", scheduled(r, physical, 8).Values("paused").Mean()/scheduled(r, physical, 4).Values("paused").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure { return fig11Figures(r, "all") },
}

var fig11b = &experiment.Experiment{
	ID: "prioplus/fig11b",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return fig11Cells(s, virtualSwift, ideal, idealNoCC, virtualFree)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		r.Claim("mean", worst(ratios(r, "small", mean, virtualSwift, ideal, counts(r.Scale)...)))
		r.Note("mean", shared)
		pauses := func(s scheme) (sum float64) {
			for _, n := range counts(r.Scale) {
				sum += scheduled(r, s, n).Values("pauses").Sum()
			}
			return sum
		}
		r.Claim("fewer-pauses", claims.Number(pauses(virtualSwift)/pauses(ideal)))
		r.Note("fewer-pauses", "%.0f pauses with PrioPlus, %.0f with Physical*, all runs added up", pauses(virtualSwift), pauses(ideal))
		if r.Scale == experiment.Full {
			r.Claim("p99", worst(ratios(r, "small", p99, virtualSwift, ideal, counts(r.Scale)...)))
			r.Note("p99", shared)
			r.Claim("few-prios-better", slices.Min(ratios(r, "small", mean, virtualSwift, ideal, 2, 4)))
			r.Note("few-prios-better", shared)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure { return fig11Figures(r, "small") },
}

var fig11c = &experiment.Experiment{
	ID: "prioplus/fig11c",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return fig11Cells(s, virtualSwift, ideal, idealNoCC, virtualFree)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		r.Claim("mean", worst(ratios(r, "middle", mean, virtualSwift, ideal, counts(r.Scale)...)))
		r.Note("mean", scaling)
		if r.Scale == experiment.Full {
			r.Claim("p99", worst(ratios(r, "middle", p99, virtualSwift, ideal, counts(r.Scale)...)))
			r.Note("p99", scaling)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure { return fig11Figures(r, "middle") },
}

var fig11d = &experiment.Experiment{
	ID: "prioplus/fig11d",
	Cells: func(s experiment.Scale) []experiment.Cell {
		if s == experiment.Small {
			return schedulingCells(schedulingCell{virtualSwift, 8}, schedulingCell{ideal, 8})
		}
		return fig11Cells(s, virtualSwift, ideal, idealNoCC)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		many := experiment.At(r.Scale, []int{8, 10, 12}, []int{8})
		gain := func(of func(experiment.Values) float64) (v claims.Value) {
			for i, x := range ratios(r, "large", of, virtualSwift, ideal, many...) {
				v = v.With(fmt.Sprint(many[i]), claims.Number(1-x))
			}
			return v
		}
		r.Claim("gain-mean", gain(mean))
		r.Note("gain-mean", restart)
		if r.Scale == experiment.Small {
			return
		}
		r.Claim("gain-p99", gain(p99))
		r.Note("gain-p99", restart)
		over := func(class string, a, b scheme) claims.Value {
			sum := 0.0
			for _, x := range ratios(r, class, mean, a, b, many...) {
				sum += x / float64(len(many))
			}
			return claims.Number(sum)
		}
		r.Claim("nocc", claims.Value{}.With("large", over("large", idealNoCC, ideal)).With("small", over("small", virtualSwift, idealNoCC)))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		if r.Scale == experiment.Small {
			cdf := figure.CDF("large", "Large flows, 8 priorities", "completion time (ms)")
			for _, s := range []scheme{virtualSwift, ideal} {
				cdf.Samples(string(s), scheduled(r, s, 8).Values("large").Scaled(1e3))
			}
			return []figure.Figure{cdf}
		}
		return fig11Figures(r, "large")
	},
}

// Why ours differs from the paper.
const (
	shared  = "not settled"
	scaling = "not settled"
	restart = "not settled"
	fifo    = "not settled"
)

// counts are how many priorities there are.
func counts(s experiment.Scale) []int {
	return experiment.At(s, []int{2, 4, 6, 8, 10, 12}, []int{2, 6, 8, 12})
}

// onlyWith are the numbers of priorities that a scheme is run with, where not all: headroom of more
// than eight queues leaves no buffer, and the claims ask for no more of the others.
var onlyWith = map[scheme][]int{
	physical: {2, 4, 6, 8}, deadlines: {8, 12}, idealNoCC: {8, 10, 12}, virtualFree: {2, 8, 12},
}

// fig11Cells are schemes with every number of priorities. At small scale headroom of eight queues
// leaves no buffer either.
func fig11Cells(s experiment.Scale, schemes ...scheme) []experiment.Cell {
	var cells []schedulingCell
	for _, x := range schemes {
		if s == experiment.Small && (x == physical || x == idealNoCC || x == virtualFree) {
			continue
		}
		for _, n := range counts(s) {
			if there := onlyWith[x]; there == nil || slices.Contains(there, n) {
				cells = append(cells, schedulingCell{x, n})
			}
		}
	}
	return schedulingCells(cells...)
}

func scheduled(r *experiment.Results, s scheme, n int) experiment.Pool {
	if s == telemetry {
		n = noPriorities
	}
	return r.Cell(schedulingCell{s, n}.name())
}

func mean(v experiment.Values) float64 { return v.Mean() }
func p99(v experiment.Values) float64  { return v.Percentile(99) }

// ratios compares a class of flows under two schemes, for each number of priorities.
func ratios(r *experiment.Results, class string, of func(experiment.Values) float64, a, b scheme, counts ...int) []float64 {
	out := make([]float64, len(counts))
	for i, n := range counts {
		out[i] = of(scheduled(r, a, n).Values(class)) / of(scheduled(r, b, n).Values(class))
	}
	return out
}

func worst(x []float64) float64 { return slices.Max(x) }

func fig11Figures(r *experiment.Results, class string) []figure.Figure {
	average := figure.Lines("mean", "Mean completion time, "+class+" flows", "priorities", "time (µs)")
	tail := figure.Lines("p99", "99th percentile, "+class+" flows", "priorities", "time (µs)")
	for _, s := range []scheme{virtualSwift, ideal, physical, idealNoCC, deadlines, virtualFree} {
		var x, y, y99 []float64
		for _, c := range r.Cells() {
			if p := c.Params.(schedulingCell); p.Scheme == s {
				v := c.Values(class).Scaled(1e6)
				x, y, y99 = append(x, float64(p.Priorities)), append(y, v.Mean()), append(y99, v.Percentile(99))
			}
		}
		if len(x) > 0 {
			average.Add(string(s), x, y)
			tail.Add(string(s), x, y99)
		}
	}
	return []figure.Figure{average, tail}
}
