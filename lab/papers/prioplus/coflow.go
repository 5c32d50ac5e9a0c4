package prioplus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// Coflow scheduling (section 6.2): requests for files on 20 hosts, and shuffles of Hadoop jobs,
// each half of the load. Smaller coflows have higher priorities.

// coflowCell is a scheme under a load, with PFC or without.
type coflowCell struct {
	Scheme scheme
	Load   float64
	Lossy  bool
}

func (c coflowCell) name() string {
	name := fmt.Sprintf("%s, %.0f%%", c.Scheme, 100*c.Load)
	if c.Lossy {
		name += ", no PFC"
	}
	return name
}

func coflowCells(cells ...coflowCell) func(experiment.Scale) []experiment.Cell {
	return func(experiment.Scale) (out []experiment.Cell) {
		for _, c := range cells {
			out = append(out, experiment.Cell{Name: c.name(), Params: c})
		}
		return out
	}
}

// coflowSeeds is one, also at full scale: each run takes minutes.
func coflowSeeds(experiment.Scale) int { return 1 }

// The network has two of the paper's five pods, and flows arrive for 4 ms of its 10: the whole
// takes too long.
func coflowNetwork(s experiment.Scale) (t fabric.Clos, span units.Duration, buffer units.Bytes) {
	if s == experiment.Full {
		t = fabric.PrioPlusCoflow()
		t.Pods = 2
		return t, 4 * units.Millisecond, 32_000_000
	}
	host, up := fabric.Link{Rate: 25 * units.Gbps, Delay: units.Microsecond},
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	return fabric.Clos{Pods: 2, ToRsPerPod: 2, AggsPerPod: 3, HostsPerToR: 10, CoresPerAgg: 2,
		Host: host, ToR: up, Core: up}, 10 * units.Millisecond, 8_000_000
}

const coflowGroups = 8

// coflows returns the traffic, and the priority of each coflow.
func coflows(j *experiment.Job, hosts int, rate units.BitRate, load float64,
	span units.Duration) ([]workload.Flow, map[int]int, error) {
	// The paper gives no sizes of flows, but says that almost all are middle and large ones.
	sizes := workload.Uniform[units.Bytes](100_000, 1_000_001)
	all := workload.Coflows{Hosts: hosts, Rate: rate * payload / (payload + sim.Overhead),
		Load: load / 2, Sizes: sizes, Until: units.Time(span)}
	shuffles, requests := all, all
	shuffles.Seed = j.Seed << 1
	requests.Seed = j.Seed<<1 | 1
	requests.Mappers, requests.Reducers = workload.Fixed(20), workload.Fixed(1)
	a, err := shuffles.Source()
	if err != nil {
		return nil, nil, err
	}
	b, err := requests.Source()
	if err != nil {
		return nil, nil, err
	}
	var flows []workload.Flow
	bytes := map[int]units.Bytes{}
	for source := workload.Merge(a, b); ; {
		f, ok := source.Next()
		if !ok {
			break
		}
		flows = append(flows, f)
		bytes[f.Group] += f.Bytes
	}
	var ids []int
	for id := range bytes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int) int {
		if bytes[a] != bytes[b] {
			return int(bytes[a] - bytes[b])
		}
		return a - b
	})
	priority := map[int]int{}
	for rank, id := range ids { // as many coflows in each group
		priority[id] = coflowGroups - 1 - rank*coflowGroups/len(ids)
	}
	return flows, priority, nil
}

// list is a source of given flows.
type list []workload.Flow

// Next implements workload.Source.
func (l *list) Next() (workload.Flow, bool) {
	if len(*l) == 0 {
		return workload.Flow{}, false
	}
	f := (*l)[0]
	*l = (*l)[1:]
	return f, true
}

// runCoflows simulates a cell and records the completion times of its coflows, by priority and in
// the order of their numbers, which are the same for all schemes.
func runCoflows(j *experiment.Job) error {
	c := j.Params.(coflowCell)
	r, err := runs.Of(j, c, func() (*outcome, error) {
		t, span, buffer := coflowNetwork(j.Scale)
		flows, priority, err := coflows(j, t.Pods*t.ToRsPerPod*t.HostsPerToR, t.Host.Rate, c.Load,
			span)
		if err != nil {
			return nil, err
		}
		source := list(flows)
		return large{
			// The artifact's table for coflows.
			Scheme: c.Scheme, Priorities: priorities{N: coflowGroups,
				Start: ",high=0.5,low=0,w_middle=0.2BDP"}, Seed: j.Seed,
			Build: t.Build, Link: t.Host, Ports: t.HostsPerToR + t.AggsPerPod, Buffer: buffer,
			Lossy:  c.Lossy,
			Source: &source, Priority: func(f workload.Flow) int {
				return priority[f.Group]
			}, Span: span,
		}.run(j)
	})
	if err != nil {
		return err
	}
	type group struct {
		priority    int
		begin, done units.Time
	}
	groups := map[int]*group{}
	var ids []int
	for _, f := range r.Flows {
		g := groups[f.Group]
		if g == nil {
			g = &group{priority: f.Priority, begin: f.At}
			groups[f.Group] = g
			ids = append(ids, f.Group)
		}
		if done := f.At.Add(f.FCT); done.After(g.done) {
			g.done = done
		}
	}
	slices.Sort(ids)
	for p := range coflowGroups {
		j.Value(cct(p))
	}
	for _, id := range ids {
		g := groups[id]
		j.Value(cct(g.priority), g.done.Sub(g.begin).Seconds())
	}
	j.Value("pauses", r.PausesSent)
	j.Value("drops", r.Drops/r.Sent)
	return nil
}

func cct(priority int) string { return fmt.Sprintf("cct %d", priority) }

// speedups returns the speedups of a priority's coflows, relative to Swift without priorities.
func speedups(r *experiment.Results, c coflowCell, priority int) (out experiment.Values) {
	with, without := r.Cell(c.name()).Seeds(),
		r.Cell(coflowCell{baseline, c.Load, false}.name()).Seeds()
	for i := range with {
		a, b := with[i].Values(cct(priority)), without[i].Values(cct(priority))
		for k := range a {
			out = append(out, b[k]/a[k])
		}
	}
	return out
}

// speedup returns the mean of the priorities' mean speedups.
func speedup(r *experiment.Results, c coflowCell, of []int) float64 {
	sum := 0.0
	for _, p := range of {
		sum += speedups(r, c, p).Mean()
	}
	return sum / float64(len(of))
}

// tailSpeedup returns the mean of the priorities' speedups of the 99th percentile.
func tailSpeedup(r *experiment.Results, c coflowCell, of []int) float64 {
	sum := 0.0
	for _, p := range of {
		sum += p99(r.Cell(coflowCell{baseline, c.Load, false}.name()).Values(cct(p))) /
			p99(r.Cell(c.name()).Values(cct(p)))
	}
	return sum / float64(len(of))
}

// The groups of priorities.
var (
	lowerFour  = []int{0, 1, 2, 3}
	higherFour = []int{4, 5, 6, 7}
	allEight   = []int{0, 1, 2, 3, 4, 5, 6, 7}
)

// gain returns the excess of a's speedup over b's.
func gain(r *experiment.Results, of func(*experiment.Results, coflowCell, []int) float64, a,
	b coflowCell, priorities []int) float64 {
	return of(r, a, priorities)/of(r, b, priorities) - 1
}

// speedupBars draws speedups of cells for the groups of priorities.
func speedupBars(name, title string, r *experiment.Results, of func(*experiment.Results, coflowCell,
	[]int) float64, cells ...coflowCell) figure.Figure {
	title += experiment.At(r.Scale, ", 128 hosts, 4 ms", "")
	bars := figure.Bars(name, title, "speedup", "high", "low", "all")
	for _, c := range cells {
		label := string(c.Scheme)
		if c.Lossy {
			label += ", no PFC"
		}
		bars.Heights(label, of(r, c, higherFour), of(r, c, lowerFour), of(r, c, allEight))
	}
	return bars
}

// behind explains why PrioPlus is not ahead, as far as it is known.
const behind = ". Physical priorities complete the coflows of the highest priority a third " +
	"sooner (0.66 ms, and PrioPlus 0.92 ms, at 40 %). Part of the reason is that a request is an " +
	"incast: 20 flows of 550 KB to one host, alone in the network, take 0.96 ms with Swift, " +
	"which is line rate, and with PrioPlus 1.23, 1.16 and 1.11 ms at a high, middle and low " +
	"priority, since all stop after their start. None of these improves it by more than a few " +
	"per cent at small scale: hosts that send in strict priority, no limit for the highest ones, " +
	"smaller first windows, no probes before the start, room and patience"

// smaller lists what the runs leave out.
func smaller(r *experiment.Results) string {
	return experiment.At(r.Scale, smallerFull,
		"40 hosts at 25 Gb/s, 10 ms of arrivals; sizes of flows, 100 KB to 1 MB, are ours")
}

const (
	load40, load70 = 0.4, 0.7
	smallerFull    = "128 hosts of 320, 4 ms of arrivals of 10, one seed; sizes of flows, 100 KB " +
		"to 1 MB, are ours"
)

var fig12a = &experiment.Experiment{
	ID: "prioplus/fig12a", Seeds: coflowSeeds,
	Cells: coflowCells(coflowCell{baseline, load40, false}, coflowCell{virtualSwift, load40, false},
		coflowCell{physical, load40, false},
		coflowCell{virtualLEDBAT, load40, false}, coflowCell{physicalLEDBAT, load40, false}),
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		a, b := coflowCell{virtualSwift, load40, false}, coflowCell{physical, load40, false}
		r.Claim("overall", gain(r, speedup, a, b, allEight))
		r.Note("overall", "%s", smaller(r)+behind)
		r.Claim("ledbat", gain(r, speedup, coflowCell{virtualLEDBAT, load40, false},
			coflowCell{physicalLEDBAT, load40, false}, allEight))
		r.Note("ledbat", "%s", smaller(r)+behind)
		if r.Scale == experiment.Full {
			r.Claim("split", split(r, speedup, a, b))
			r.Note("split", "%s", smaller(r)+behind)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup", "Mean speedup of coflows, load 40 %", r,
			speedup, coflowCell{virtualSwift, load40, false},
			coflowCell{physical, load40, false}, coflowCell{virtualLEDBAT, load40, false},
			coflowCell{physicalLEDBAT, load40, false})}
	},
}

// split is the gain for the higher four priorities and for the lower four.
func split(r *experiment.Results, of func(*experiment.Results, coflowCell, []int) float64, a,
	b coflowCell) claims.Value {
	return claims.Value{}.With("high", claims.Number(gain(r, of, a, b, higherFour))).With("low",
		claims.Number(gain(r, of, a, b, lowerFour)))
}

// swiftAt returns the cells that figures 12b and 15 compare.
func swiftAt(loads ...float64) func(experiment.Scale) []experiment.Cell {
	var cells []coflowCell
	for _, l := range loads {
		cells = append(cells, coflowCell{baseline, l, false}, coflowCell{virtualSwift, l, false},
			coflowCell{physical, l, false})
	}
	return coflowCells(cells...)
}

var fig12b = &experiment.Experiment{
	ID: "prioplus/fig12b", Seeds: coflowSeeds,
	Cells: func(s experiment.Scale) []experiment.Cell {
		if s == experiment.Small {
			return swiftAt(load70)(s)
		}
		return swiftAt(load40, load70)(s)
	},
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		at := func(load float64) float64 {
			return gain(r, speedup, coflowCell{virtualSwift, load, false},
				coflowCell{physical, load, false}, allEight)
		}
		r.Claim("overall", at(load70))
		r.Note("overall", "%s", smaller(r)+behind)
		if r.Scale == experiment.Full {
			r.Claim("grows", at(load70)-at(load40))
			r.Note("grows", "%s", smaller(r)+behind)
		}
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup", "Mean speedup of coflows, load 70 %", r,
			speedup,
			coflowCell{virtualSwift, load70, false}, coflowCell{physical, load70, false})}
	},
}

// fig15: tails of the same runs.
var fig15 = &experiment.Experiment{
	ID: "prioplus/fig15", Seeds: coflowSeeds,
	Cells: func(s experiment.Scale) []experiment.Cell {
		if s == experiment.Small {
			return swiftAt(load40)(s)
		}
		return swiftAt(load40, load70)(s)
	},
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		a, b := coflowCell{virtualSwift, load40, false}, coflowCell{physical, load40, false}
		r.Claim("tail-close", gain(r, tailSpeedup, a, b, allEight))
		r.Note("tail-close", "%s", smaller(r)+behind)
		if r.Scale == experiment.Full {
			r.Claim("split", split(r, tailSpeedup, a, b))
			r.Note("split", "%s", smaller(r)+behind)
		}
	},
	Figures: func(r *experiment.Results) (figures []figure.Figure) {
		for _, load := range experiment.At(r.Scale, []float64{load40, load70}, []float64{load40}) {
			figures = append(figures, speedupBars(fmt.Sprintf("tail-%.0f", 100*load),
				fmt.Sprintf("Speedup of the 99th percentile, load %.0f %%", 100*load),
				r, tailSpeedup, coflowCell{virtualSwift, load, false}, coflowCell{physical, load,
					false}))
		}
		return figures
	},
}

// fig17: without PFC.
var fig17 = &experiment.Experiment{
	ID: "prioplus/fig17", Seeds: coflowSeeds,
	Cells: coflowCells(coflowCell{baseline, load70, false}, coflowCell{virtualSwift, load70, false},
		coflowCell{virtualSwift, load70, true}, coflowCell{physical, load70, true}),
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		lossy := coflowCell{virtualSwift, load70, true}
		r.Claim("same-as-lossless",
			speedup(r, lossy, allEight)/speedup(r, coflowCell{virtualSwift, load70, false},
				allEight))
		r.Note("same-as-lossless", "%s", smaller(r))
		drops := func(c coflowCell) float64 {
			return r.Cell(c.name()).Values("drops").Mean() + 1e-6
		}
		r.Claim("few-drops", drops(lossy)/drops(coflowCell{physical, load70, true}))
		r.Note("few-drops", "dropped of what was forwarded: %.2g with PrioPlus, %.2g with "+
			"physical priorities; %s", drops(lossy)-1e-6,
			drops(coflowCell{physical, load70, true})-1e-6, smaller(r))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup",
			"Mean speedup of coflows without PFC, load 70 %", r, speedup,
			coflowCell{virtualSwift, load70, false}, coflowCell{virtualSwift, load70, true},
			coflowCell{physical, load70, true})}
	},
}

// fig18: HPCC, and physical priorities without congestion control.
var fig18 = &experiment.Experiment{
	ID: "prioplus/fig18", Seeds: coflowSeeds,
	Cells: coflowCells(coflowCell{baseline, load70, false}, coflowCell{virtualSwift, load70, false},
		coflowCell{telemetry, load70, false}, coflowCell{physicalNoCC, load70, false}),
	Run: runCoflows,
	Judge: func(r *experiment.Results) {
		all := func(s scheme) (v experiment.Values) {
			for _, p := range allEight {
				v = append(v, r.Cell(coflowCell{s, load70, false}.name()).Values(cct(p))...)
			}
			return v
		}
		over := func(s scheme, of func(experiment.Values) float64) claims.Value {
			return claims.Number(of(all(s)) / of(all(virtualSwift)))
		}
		r.Claim("hpcc",
			experiment.With("mean", over(telemetry, mean)).With("p99", over(telemetry, p99)))
		r.Note("hpcc", "%s", "the largest shuffles, of the lowest priority, determine the 99th "+
			"percentile of all coflows, and HPCC does not make them wait; "+smaller(r))
		r.Claim("nocc", over(physicalNoCC, mean))
		r.Note("nocc", "%s", "32 MB of buffer hold everything sent at line rate, and pauses act "+
			"on single priorities: the highest half gains what the lowest ones lose; "+smaller(r))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		return []figure.Figure{speedupBars("speedup", "Mean speedup of coflows, load 70 %", r,
			speedup,
			coflowCell{virtualSwift, load70, false}, coflowCell{telemetry, load70, false},
			coflowCell{physicalNoCC, load70, false})}
	},
}
