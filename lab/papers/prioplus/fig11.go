package prioplus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// Figure 11: completion times by the number of priorities, of all flows and by size. The four
// experiments share their runs. Claims are judged on the authors' set-up, in which the load is
// counted in flows, the highest priorities have no limit, and only PrioPlus's ACKs have a queue
// above all data. Set-ups that change one of these are beside it.

// setting is a traffic, and the queue of ACKs.
type setting struct {
	Traffic traffic
	ACKs    acks
}

var (
	authors   = setting{loadByFlows, acksPublished}
	webSearch = setting{trueSearch, acksPublished}
	equalACKs = setting{loadByFlows, acksOnTop}
)

func (s setting) cell(x scheme, n int) schedulingCell {
	return schedulingCell{x, n, s.Traffic, s.ACKs}
}

// fig11PrioPlus is the artifact's, whose highest priorities have no limit.
const fig11PrioPlus = virtualFree

var fig11a = &experiment.Experiment{
	ID: "prioplus/fig11a",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return fig11Cells(s, fig11PrioPlus, ideal, deadlines, physical, idealNoCC, virtualSwift)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		r.Claim("close-to-ideal", worst(toIdeal(r, "all", mean)))
		better := authors.ratios(r, "all", mean, deadlines, fig11PrioPlus, 8, 12)
		r.Claim("d2tcp-worse", slices.Min(better))
		if r.Scale == experiment.Small {
			r.Note("close-to-ideal", fewFlows)
			r.Note("d2tcp-worse", fewFlows)
			return
		}
		r.Note("close-to-ideal", "%s", beside(r, "all", mean))
		relative := authors.ratios(r, "all", mean, physical, ideal, 6, 8)
		at := func(n int) experiment.Pool { return r.Cell(authors.cell(physical, n).name()) }
		r.Claim("headroom-knee", relative[1]/relative[0])
		r.Note("headroom-knee", "both relative to Physical*, whose completion times also change "+
			"with the number of priorities: %.2f and %.2f. %.0f PAUSE frames with 6 priorities, "+
			"%.0f with 8, of all seeds; ports are paused for %.2g and %.2g of the time",
			relative[0], relative[1], at(6).Values("pauses").Sum(), at(8).Values("pauses").Sum(),
			at(6).Values("paused").Mean(), at(8).Values("paused").Mean())
		r.Claim("pfc", at(8).Values("paused").Mean()/at(4).Values("paused").Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure { return fig11Figures(r, "all") },
}

var fig11b = &experiment.Experiment{
	ID: "prioplus/fig11b",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return fig11Cells(s, fig11PrioPlus, ideal, idealNoCC, virtualSwift)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		r.Claim("mean", worst(toIdeal(r, "small", mean)))
		pauses := func(s scheme, n ...int) (sum float64) {
			for _, n := range n {
				sum += r.Cell(authors.cell(s, n).name()).Values("pauses").Sum()
			}
			return sum
		}
		few := experiment.At(r.Scale, []int{2, 4}, []int{2})
		r.Claim("fewer-pauses", (1+pauses(fig11PrioPlus, few...))/(1+pauses(ideal, few...)))
		r.Note("fewer-pauses", "with up to 4 priorities, of which the paper says it: %.0f PAUSE "+
			"frames with PrioPlus, %.0f with Physical*, of all seeds (one is added to both). With "+
			"8 and 12: %.0f and %.0f. The highest target of 12 priorities is a queue of 600 KB, "+
			"which exceeds the threshold of a port if most of it came in by one",
			pauses(fig11PrioPlus, few...), pauses(ideal, few...), pauses(fig11PrioPlus, 8, 12),
			pauses(ideal, 8, 12))
		if r.Scale == experiment.Small {
			r.Note("mean", fewFlows)
			return
		}
		r.Note("mean", "%s", beside(r, "small", mean)+waits)
		r.Claim("p99", worst(toIdeal(r, "small", p99)))
		r.Note("p99", "%s", beside(r, "small", p99)+waits)
		r.Claim("few-prios-better",
			slices.Min(authors.ratios(r, "small", mean, fig11PrioPlus, ideal, 2, 4)))
	},
	Figures: func(r *experiment.Results) []figure.Figure { return fig11Figures(r, "small") },
}

var fig11c = &experiment.Experiment{
	ID: "prioplus/fig11c",
	Cells: func(s experiment.Scale) []experiment.Cell {
		return fig11Cells(s, fig11PrioPlus, ideal, idealNoCC, virtualSwift)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		r.Claim("mean", worst(toIdeal(r, "middle", mean)))
		if r.Scale == experiment.Small {
			r.Note("mean", fewFlows)
			return
		}
		r.Note("mean", "%s", beside(r, "middle", mean))
		r.Claim("p99", worst(toIdeal(r, "middle", p99)))
		r.Note("p99", "%s", beside(r, "middle", p99))
	},
	Figures: func(r *experiment.Results) []figure.Figure { return fig11Figures(r, "middle") },
}

var fig11d = &experiment.Experiment{
	ID: "prioplus/fig11d",
	Cells: func(s experiment.Scale) []experiment.Cell {
		if s == experiment.Small {
			return schedulingCells(authors.cell(fig11PrioPlus, 8), authors.cell(ideal, 8))
		}
		return fig11Cells(s, fig11PrioPlus, ideal, idealNoCC, virtualSwift)
	},
	Run: runScheduling,
	Judge: func(r *experiment.Results) {
		many := experiment.At(r.Scale, []int{8, 10, 12}, []int{8})
		gain := func(of func(experiment.Values) float64) (v claims.Value) {
			for i, x := range authors.ratios(r, "large", of, fig11PrioPlus, ideal, many...) {
				v = v.With(fmt.Sprint(many[i]), claims.Number(1-x))
			}
			return v
		}
		r.Claim("gain-mean", gain(mean))
		if r.Scale == experiment.Small {
			r.Note("gain-mean", fewFlows)
			return
		}
		r.Note("gain-mean", "as completion times, %s", beside(r, "large", mean))
		r.Claim("gain-p99", gain(p99))
		over := func(class string, a, b scheme) float64 {
			return experiment.Values(authors.ratios(r, class, mean, a, b, many...)).Mean()
		}
		r.Claim("nocc", experiment.With("large", over("large", idealNoCC, ideal)).
			With("small", over("small", fig11PrioPlus, idealNoCC)))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		if r.Scale == experiment.Small {
			cdf := figure.CDF("large", "Large flows, 8 priorities", "completion time (ms)")
			for _, s := range []scheme{fig11PrioPlus, ideal} {
				large := r.Cell(authors.cell(s, 8).name()).Values("large")
				cdf.Samples(string(s), large.Scaled(1e3))
			}
			return []figure.Figure{cdf}
		}
		return fig11Figures(r, "large")
	},
}

const (
	waits = ". Small flows wait in the queue that lower priorities hold at their targets, the " +
		"longer the more priorities there are and the more bytes they have; in queues of their " +
		"own they wait only for each other"
	fewFlows = "about 300 flows and one seed"
)

// counts are the numbers of priorities.
func counts(s experiment.Scale) []int {
	return experiment.At(s, []int{2, 4, 6, 8, 10, 12}, []int{2, 6, 8, 12})
}

// onlyWith are the numbers of priorities of schemes that do not run with all of them: headroom of
// more than eight queues leaves no buffer, and the claims need no more of the others.
var onlyWith = map[scheme][]int{
	physical: {2, 4, 6, 8}, deadlines: {8, 12}, idealNoCC: {8, 10, 12}, virtualSwift: {2, 8, 12},
}

// The numbers of priorities of the set-ups beside the authors'.
var (
	searchCounts = []int{4, 8, 12}
	acksCounts   = []int{8, 12}
)

// fig11Cells are schemes with every number of priorities, and at full scale the set-ups beside. At
// small scale headroom of eight queues leaves no buffer either.
func fig11Cells(s experiment.Scale, schemes ...scheme) []experiment.Cell {
	var cells []schedulingCell
	for _, x := range schemes {
		if s == experiment.Small && (x == physical || x == idealNoCC || x == virtualSwift) {
			continue
		}
		for _, n := range counts(s) {
			if there := onlyWith[x]; there == nil || slices.Contains(there, n) {
				cells = append(cells, authors.cell(x, n))
			}
		}
	}
	if s == experiment.Full {
		for _, x := range []scheme{fig11PrioPlus, ideal} {
			for _, n := range searchCounts {
				cells = append(cells, webSearch.cell(x, n))
			}
		}
		for _, n := range acksCounts { // PrioPlus's are on top anyway
			cells = append(cells, equalACKs.cell(ideal, n))
		}
	}
	return schedulingCells(cells...)
}

// ratios compares a class of flows under two schemes, for each number of priorities.
func (s setting) ratios(r *experiment.Results, class string, of func(experiment.Values) float64, a,
	b scheme, counts ...int) []float64 {
	out := make([]float64, len(counts))
	for i, n := range counts {
		out[i] = of(r.Cell(s.cell(a, n).name()).Values(class)) /
			of(r.Cell(s.cell(b, n).name()).Values(class))
	}
	return out
}

// toIdeal compares PrioPlus with Physical* in the authors' set-up.
func toIdeal(r *experiment.Results, class string, of func(experiment.Values) float64) []float64 {
	return authors.ratios(r, class, of, fig11PrioPlus, ideal, counts(r.Scale)...)
}

// beside describes the seeds' range in the authors' set-up, and the results of those beside it.
func beside(r *experiment.Results, class string, of func(experiment.Values) float64) string {
	most := counts(r.Scale)[slices.Index(toIdeal(r, class, of), worst(toIdeal(r, class, of)))]
	ours := r.Cell(authors.cell(fig11PrioPlus, most).name()).Seeds()
	theirs := r.Cell(authors.cell(ideal, most).name()).Seeds()
	var seeds []float64
	for i := range ours {
		seeds = append(seeds, of(ours[i].Values(class))/of(theirs[i].Values(class)))
	}
	sameACKs := make([]float64, len(acksCounts))
	for i, n := range acksCounts {
		sameACKs[i] = of(r.Cell(authors.cell(fig11PrioPlus, n).name()).Values(class)) /
			of(r.Cell(equalACKs.cell(ideal, n).name()).Values(class))
	}
	return fmt.Sprintf("of Physical*: most at %d priorities, %.2f to %.2f by seed. With a limit "+
		"for the highest priorities, as in the paper's text, %s at 2, 8 and 12 priorities. With "+
		"all ACKs above all data in both %s at 8 and 12. On true WebSearch, of which small flows "+
		"are a smaller part of the bytes, %s at 4, 8 and 12", most, slices.Min(seeds),
		slices.Max(seeds),
		twoDigits(authors.ratios(r, class, of, virtualSwift, ideal, 2, 8, 12)), twoDigits(sameACKs),
		twoDigits(webSearch.ratios(r, class, of, fig11PrioPlus, ideal, searchCounts...)))
}

// twoDigits lists numbers.
func twoDigits(x []float64) string {
	text := make([]string, len(x))
	for i := range x {
		text[i] = fmt.Sprintf("%.2f", x[i])
	}
	last := len(text) - 1
	return strings.Join(text[:last], ", ") + " and " + text[last]
}

func mean(v experiment.Values) float64 { return v.Mean() }
func p99(v experiment.Values) float64  { return v.Percentile(99) }
func worst(x []float64) float64        { return slices.Max(x) }

// scheduled returns the cell of a scheme on WebSearch in groups of equal bytes.
func scheduled(r *experiment.Results, s scheme, n int) experiment.Pool {
	if s == telemetry {
		n = noPriorities
	}
	return r.Cell(setting{}.cell(s, n).name())
}

// ratios compares a class of flows under two schemes, for each number of priorities, on WebSearch
// in groups of equal bytes.
func ratios(r *experiment.Results, class string, of func(experiment.Values) float64, a, b scheme,
	counts ...int) []float64 {
	out := make([]float64, len(counts))
	for i, n := range counts {
		out[i] = of(scheduled(r, a, n).Values(class)) / of(scheduled(r, b, n).Values(class))
	}
	return out
}

func fig11Figures(r *experiment.Results, class string) []figure.Figure {
	average := figure.Lines("mean", "Mean completion time, "+class+" flows, 2 ms of arrivals",
		"priorities", "time (µs)")
	tail := figure.Lines("p99", "99th percentile, "+class+" flows, 2 ms of arrivals", "priorities",
		"time (µs)")
	draw := func(label string, s setting, x scheme) {
		var at, y, y99 []float64
		for _, c := range r.Cells() {
			p := c.Params.(schedulingCell)
			if p.Scheme == x && p == s.cell(x, p.Priorities) {
				v := c.Values(class).Scaled(1e6)
				at, y, y99 = append(at, float64(p.Priorities)), append(y, v.Mean()), append(y99,
					v.Percentile(99))
			}
		}
		if len(at) > 0 {
			average.Add(label, at, y)
			tail.Add(label, at, y99)
		}
	}
	draw("PrioPlus", authors, fig11PrioPlus)
	for _, s := range []scheme{ideal, physical, idealNoCC, deadlines} {
		draw(string(s), authors, s)
	}
	draw("PrioPlus with limits", authors, virtualSwift)
	draw("PrioPlus, true WebSearch", webSearch, fig11PrioPlus)
	draw("Physical*, true WebSearch", webSearch, ideal)
	draw("Physical*, ACKs on top", equalACKs, ideal)
	return []figure.Figure{average, tail}
}
