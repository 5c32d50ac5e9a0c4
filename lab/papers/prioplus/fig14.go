package prioplus

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// fig14: all sizes in every priority, which separates the effects of size and priority.
var fig14 = &experiment.Experiment{
	ID: "prioplus/fig14",
	Cells: func(s experiment.Scale) []experiment.Cell {
		n := experiment.At(s, 12, 6)
		schemes := []scheme{virtualSwift, ideal, deadlines}
		if s == experiment.Full {
			schemes = append(schemes, virtualFree)
		}
		var cells []schedulingCell
		for _, x := range schemes {
			cells = append(cells, fig14Setting.cell(x, n))
		}
		if s == experiment.Full {
			cells = append(cells, fig14EqualACKs.cell(ideal, n))
		}
		return schedulingCells(cells...)
	},
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 5, 1) },
	Run: func(j *experiment.Job) error {
		c := j.Params.(schedulingCell)
		t := fatTreeAt(j.Scale)
		// about 730 flows and 400
		t.span = experiment.At(j.Scale, 4*units.Millisecond, 30*units.Millisecond)
		sources := make([]workload.Source, c.Priorities)
		for p := range sources {
			var err error
			sources[p], err = workload.Poisson{
				Hosts: t.hosts(), Rate: t.capacity(), Load: 0.5 / float64(c.Priorities),
				Sizes: workload.WebSearch,
				Seed:  j.Seed<<8 | uint64(p), Until: units.Time(t.span), Class: p,
			}.Source()
			if err != nil {
				return err
			}
		}
		// one high priority, and as many middle and low ones as the paper's
		l := t.large(j.Seed, c.Scheme, c.Priorities)
		l.Priorities.ACKs = c.ACKs
		l.Source, l.Priority = workload.Merge(sources...), func(f workload.Flow) int {
			return f.Class
		}
		r, err := l.run(j)
		if err != nil {
			return err
		}
		for _, class := range startClasses {
			for _, size := range fig14Sizes {
				j.Value(class + " " + size)
			}
		}
		for _, f := range r.Flows {
			size := c.Traffic.class(f.Bytes)
			switch {
			case f.Bytes <= f.BDP:
				size = subRTT
			case size == "small":
				size = "middle" // there are only three sizes
			}
			j.Value(startClass(f.Priority, c.Priorities)+" "+size, f.FCT.Seconds())
		}
		j.Value("pauses", r.PausesSent)
		return nil
	},
	Judge: func(r *experiment.Results) {
		n := experiment.At(r.Scale, 12, 6)
		of := func(s scheme, class, size string) experiment.Values {
			return fig14Pool(r, s).Values(class + " " + size)
		}
		// D_target of the highest priority, as the paper counts it
		target := 12e-6 + float64(4*n)*1e-6
		r.Claim("top-subrtt", of(virtualSwift, high, subRTT).Mean()/target)
		within, least, cells := 0.0, 1e9, ""
		for _, class := range startClasses {
			for _, size := range fig14Sizes {
				if x := of(virtualSwift, class, size).Mean() / of(ideal, class,
					size).Mean(); x > within {
					within, cells = x, class+" "+size
				}
				if x := of(deadlines, class, size).Mean() / of(ideal, class,
					size).Mean(); class == high && x < least {
					least = x
				}
			}
		}
		r.Claim("within", within)
		r.Note("within", "most for %s flows: %s", cells, exceeds)
		if r.Scale == experiment.Small {
			r.Note("top-subrtt", "D_target is 36 µs only with 6 priorities, and a packet takes "+
				"four times as long at 25 Gb/s")
			return
		}
		free := of(virtualFree, high, "middle").Mean() / of(ideal, high, "middle").Mean()
		topped := r.Cell(fig14EqualACKs.cell(ideal, n).name())
		r.Note("within", "most for %s flows, %s by seed: %s. Where the two highest priorities "+
			"have no limit, as in the artifact, %.2f for the highest's middle flows. With all "+
			"ACKs above all data in both, %.2f for its sub-RTT flows", cells, fig14Spread(r,
			cells), exceeds, free, of(virtualSwift, high, subRTT).Mean()/topped.Values(high+" "+
			subRTT).Mean())
		cost := func(class string) claims.Value {
			return claims.Number(of(virtualSwift, class, subRTT).Mean() / of(ideal, class,
				subRTT).Mean())
		}
		r.Claim("probe-cost", experiment.With("middle", cost(middle)).With("low", cost(low)))
		r.Claim("d2tcp-high", least)
		largest := func(s scheme) float64 {
			var all experiment.Values
			for _, class := range startClasses {
				all = append(all, of(s, class, "large")...)
			}
			return all.Mean()
		}
		r.Note("large-vs-d2tcp", "D2TCP's deadlines hardly separate priorities: large flows of "+
			"the highest take %.1f times as long as under PrioPlus, those of the low ones, which "+
			"are more and longer, %.1f times",
			of(deadlines, high, "large").Mean()/of(virtualSwift, high, "large").Mean(),
			of(deadlines, low, "large").Mean()/of(virtualSwift, low, "large").Mean())
		r.Claim("large-vs-d2tcp", 1-largest(virtualSwift)/largest(deadlines))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		var groups []string
		for _, class := range startClasses {
			for _, size := range fig14Sizes {
				groups = append(groups, class+" "+size)
			}
		}
		bars := figure.Bars("fct", "Mean completion time by priority and size, 4 ms of arrivals",
			"of Physical*'s", groups...)
		for _, s := range []scheme{virtualSwift, deadlines} {
			var heights []float64
			for _, g := range groups {
				heights = append(heights,
					fig14Pool(r, s).Values(g).Mean()/fig14Pool(r, ideal).Values(g).Mean())
			}
			bars.Heights(string(s), heights...)
		}
		return []figure.Figure{bars}
	},
}

// The artifact has no configuration of this figure. Bounds of sizes and the queue of ACKs are those
// of its others.
var (
	fig14Setting   = webSearch
	fig14EqualACKs = setting{trueSearch, acksOnTop}
)

func fig14Pool(r *experiment.Results, s scheme) experiment.Pool {
	return r.Cell(fig14Setting.cell(s, experiment.At(r.Scale, 12, 6)).name())
}

const exceeds = "a flow of the highest priority that begins with a BDP into a queue at a target " +
	"below exceeds its own D_limit and stops according to Algorithm 1"

// The classes of priorities, by how PrioPlus's flows start, and the sizes of flows.
const (
	high, middle, low = "high", "middle", "low"
	subRTT            = "sub-RTT"
)

var (
	startClasses = []string{high, middle, low}
	fig14Sizes   = []string{subRTT, "middle", "large"}
)

// fig14Spread returns the range of the seeds' ratios to Physical*.
func fig14Spread(r *experiment.Results, class string) string {
	ours, theirs := fig14Pool(r, virtualSwift).Seeds(), fig14Pool(r, ideal).Seeds()
	least, most := math.Inf(1), 0.0
	for i := range ours {
		x := ours[i].Values(class).Mean() / theirs[i].Values(class).Mean()
		least, most = min(least, x), max(most, x)
	}
	return fmt.Sprintf("%.2f to %.2f", least, most)
}

// startClass returns the class of a priority: the highest one, those above the lower half, and the
// others.
func startClass(priority, n int) string {
	switch {
	case priority == n-1:
		return high
	case priority >= n/2:
		return middle
	}
	return low
}
