package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// Figure 11: loads from 20 to 80 %.

// fig11Flows are the workloads, and the number of flows of each at full scale: about equal bytes.
var fig11Flows = []struct {
	Workload string
	Title    string
	Flows    int
}{
	{webServer, "web-server", 3000}, {cacheFollower, "cache-follower", 300}, {webSearch,
		"web-search", 150},
}

// fig11Few is the number at small scale.
const fig11Few = 500

func fig11Loads(s experiment.Scale) []float64 {
	return experiment.At(s, []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, []float64{0.2, 0.5, 0.8})
}

func fig11Setting(s experiment.Scale, workload string, load float64) setting {
	for _, w := range fig11Flows {
		if w.Workload == workload {
			return setting{networkAt(s, os100), flows(s, workload, load, w.Flows, fig11Few)}
		}
	}
	panic("tocc: fig11 has no workload " + workload)
}

// fig11Workloads are one at small scale.
func fig11Workloads(s experiment.Scale) int { return experiment.At(s, len(fig11Flows), 1) }

var fig11 = &experiment.Experiment{
	ID: "tocc/fig11",
	Cells: func(s experiment.Scale) (all []experiment.Cell) {
		for _, w := range fig11Flows[:fig11Workloads(s)] {
			for _, load := range fig11Loads(s) {
				all = append(all, fig11Setting(s, w.Workload, load).cells(compared...)...)
			}
		}
		return all
	},
	Run: serve,
	Judge: func(r *experiment.Results) {
		at := func(workload string, load float64) func(scheme) experiment.Values {
			return func(x scheme) experiment.Values {
				return fig11Setting(r.Scale, workload, load).row(r, x).fct()
			}
		}
		low, high := at(webServer, 0.2), at(webServer, 0.8)
		gap := func(of func(scheme) experiment.Values) float64 {
			least, most := math.Inf(1), 0.0
			for _, x := range compared {
				least, most = min(least, mean(of(x))), max(most, mean(of(x)))
			}
			return most / least
		}
		r.Claim("gap-grows", gap(high)-gap(low))
		r.Claim("unsch-flips",
			mean(high(scheduled))/mean(high(unscheduled))/
				(mean(low(scheduled))/mean(low(unscheduled))))
		r.Claim("light-tail", each([]scheme{hpcc, timely}, func(x scheme) float64 {
			return p99(low(x)) / p99(low(scheduled))
		}))
		if r.Scale == experiment.Small {
			return
		}
		apart := func(workload string) float64 {
			sum := 0.0
			for _, load := range fig11Loads(r.Scale) {
				of := at(workload, load)
				sum += math.Abs(math.Log(mean(of(scheduled)) / mean(of(unscheduled))))
			}
			return sum / float64(len(fig11Loads(r.Scale)))
		}
		r.Claim("closer-for-large", max(apart(cacheFollower), apart(webSearch))/apart(webServer))
	},
	Figures: func(r *experiment.Results) (figures []figure.Figure) {
		var settings []setting
		for _, w := range fig11Flows[:fig11Workloads(r.Scale)] {
			what := fmt.Sprintf(" by load, %s, about %d flows", w.Title,
				experiment.At(r.Scale, w.Flows, fig11Few))
			average := figure.Lines("mean-"+w.Title, "Mean completion time"+what, "load",
				"time (µs)")
			tail := figure.Lines("p99-"+w.Title, "99th percentile"+what, "load", "time (µs)")
			for _, x := range compared {
				var y, y99 []float64
				for _, load := range fig11Loads(r.Scale) {
					v := fig11Setting(r.Scale, w.Workload, load).row(r, x).fct().Scaled(1e6)
					y, y99 = append(y, v.Mean()), append(y99, v.Percentile(99))
				}
				average.Add(string(x), fig11Loads(r.Scale), y)
				tail.Add(string(x), fig11Loads(r.Scale), y99)
			}
			figures = append(figures, average, tail)
			for _, load := range fig11Loads(r.Scale) {
				settings = append(settings, fig11Setting(r.Scale, w.Workload, load))
			}
		}
		return append(figures, table(r, "schemes", "Loads from 20 to 80 %", compared, settings...))
	},
}
