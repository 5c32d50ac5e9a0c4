package prioplus

import (
	"fmt"
	"slices"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Coflow scheduling (section 6.2) with the traffic of the artifact: shuffles of Hadoop jobs, and as
// much load of requests for files, each in eight classes of the same load. Smaller ones have higher
// priorities. Completion times are those of the shuffles; requests are background.

// coflowCell is a scheme under a load, with PFC or without.
type coflowCell struct {
	Scheme scheme
	Load   float64
	Lossy  bool
	// Alike has the ACKs of every scheme above all data. In the artifact only those of PrioPlus
	// are; those of other schemes are in the queue of their data.
	Alike bool
}

func (c coflowCell) name() string {
	name := fmt.Sprintf("%s, %.0f%%", c.label(), 100*c.Load)
	if c.Lossy {
		name += ", no PFC"
	}
	return name
}

// label is the name of the cell among those of one load.
func (c coflowCell) label() string {
	if c.Alike {
		return string(c.Scheme) + ", ACKs on top"
	}
	return string(c.Scheme)
}

func coflowCells(cells ...coflowCell) func(experiment.Scale) []experiment.Cell {
	return func(experiment.Scale) (out []experiment.Cell) {
		for _, c := range cells {
			out = append(out, experiment.Cell{Name: c.name(), Params: c})
		}
		return out
	}
}

// at returns the cell of a scheme under a load, as in the artifact.
func at(load float64, s scheme) coflowCell { return coflowCell{Scheme: s, Load: load} }

// fair returns the cell of physical priorities with ACKs where PrioPlus has them.
func fair(load float64) coflowCell {
	return coflowCell{Scheme: physical, Load: load, Alike: true}
}

const (
	load40, load70 = 0.4, 0.7
	coflowGroups   = 8
	// The top quarter of the priorities starts at line rate and has no limit, the next three start
	// with a quarter of a BDP, the others with an eighth. From the artifact.
	coflowStart = ",high=0.25,low=0.375,direct=0.25,free=0.25"
)

// coflowNetwork is the network, the time of arrivals, and by how much coflows are smaller.
type coflowNetwork struct {
	clos   fabric.Clos
	span   units.Duration
	buffer units.Bytes
	over   units.Bytes
}

// Full scale has fullPods pods of fullToRs ToR switches, of the paper's 5 of 4, and its 10 ms of
// arrivals at 40 % and 5 ms at 70 % times fullSpan: all of it takes 4.6 core-hours.
const (
	fullPods = 2
	fullToRs = 2
	fullSpan = 0.4
)

func coflowNetworkAt(s experiment.Scale, load float64) coflowNetwork {
	if s == experiment.Full {
		t := fabric.PrioPlusCoflow()
		// An aggregation switch has as much bandwidth upwards as downwards.
		t.Pods, t.ToRsPerPod, t.CoresPerAgg = fullPods, fullToRs, fullToRs
		span := 10 * units.Millisecond
		if load == load70 {
			span = 5 * units.Millisecond
		}
		return coflowNetwork{t, units.Duration(fullSpan * float64(span)), 32_000_000, 1}
	}
	host, up := fabric.Link{Rate: 25 * units.Gbps, Delay: units.Microsecond},
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	t := fabric.Clos{Pods: 2, ToRsPerPod: 2, AggsPerPod: 3, HostsPerToR: 10, CoresPerAgg: 2,
		Host: host, ToR: up, Core: up}
	return coflowNetwork{t, 5 * units.Millisecond, 8_000_000, 8}
}

func (n coflowNetwork) hosts() int {
	return n.clos.Pods * n.clos.ToRsPerPod * n.clos.HostsPerToR
}

// traffic returns coflows, in classes by size from 0 for the smallest, and requests, in the classes
// after these.
func (n coflowNetwork) traffic(load float64, seed uint64) (workload.Source, error) {
	var sources []workload.Source
	for class := range 2 * coflowGroups {
		c := workload.Coflows{Hosts: n.hosts(), Rate: n.clos.Host.Rate,
			Load: load / (2 * coflowGroups), Until: units.Time(n.span), Class: class,
			Seed: seed<<4 | uint64(class)}
		if class < coflowGroups {
			c.Sizes, c.Total = workload.FacebookCoflows[class].Over(n.over), true
		} else {
			// each of 20 hosts sends 0.5 to 4 MB
			half := units.Bytes(class - coflowGroups + 1)
			c.Sizes = workload.Fixed(half * 500_000 / n.over)
			c.Mappers, c.Reducers = workload.Fixed(20), workload.Fixed(1)
		}
		source, err := c.Source()
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	return workload.Merge(sources...), nil
}

// runCoflows simulates a cell and records the completion times of its coflows, by priority and in
// the order of their numbers, which are the same for all schemes.
func runCoflows(j *experiment.Job) error {
	c := j.Params.(coflowCell)
	r, err := runs.Of(j, c, func() (*outcome, error) { return c.run(j) })
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
		if f.Class >= coflowGroups {
			continue
		}
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

// run simulates the cell.
func (c coflowCell) run(j *experiment.Job) (*outcome, error) {
	n := coflowNetworkAt(j.Scale, c.Load)
	source, err := n.traffic(c.Load, j.Seed)
	if err != nil {
		return nil, err
	}
	acks := acksPublished
	if c.Alike {
		acks = acksOnTop
	}
	return large{
		Scheme: c.Scheme, Priorities: priorities{N: coflowGroups, Start: coflowStart, ACKs: acks},
		Seed: j.Seed, Build: n.clos.Build, Link: n.clos.Host,
		Ports: n.clos.HostsPerToR + n.clos.AggsPerPod, Buffer: n.buffer, Lossy: c.Lossy,
		Source: source, Priority: func(f workload.Flow) int {
			return coflowGroups - 1 - f.Class%coflowGroups
		}, Span: n.span,
	}.run(j)
}

func cct(priority int) string { return fmt.Sprintf("cct %d", priority) }

// smaller lists what the runs leave out.
func smaller(r *experiment.Results) string {
	n := coflowNetworkAt(r.Scale, load40)
	return experiment.At(r.Scale,
		fmt.Sprintf("%d of 320 hosts, %g of the time of arrivals", n.hosts(), fullSpan),
		"40 hosts at 25 Gb/s, 5 ms of arrivals, coflows an eighth of their size")
}
