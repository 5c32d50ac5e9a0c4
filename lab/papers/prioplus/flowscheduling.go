package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Flow scheduling (section 6.2): WebSearch in a fat tree, where smaller flows have higher
// priorities.

// schedulingCell is a scheme, a number of priorities, and the set-up of both.
type schedulingCell struct {
	Scheme     scheme
	Priorities int
	Traffic    traffic
	ACKs       acks
}

// noPriorities is their number where there are none.
const noPriorities = 1

func (c schedulingCell) name() string {
	name := fmt.Sprintf("%s, %d", c.Scheme, c.Priorities)
	if c.Traffic == trueSearch {
		name += ", " + string(c.Traffic)
	}
	if c.Traffic != groupsOfBytes && c.ACKs == acksOnTop {
		name += ", ACKs on top"
	}
	return name
}

func schedulingCells(cells ...schedulingCell) []experiment.Cell {
	out := make([]experiment.Cell, len(cells))
	for i, c := range cells {
		out[i] = experiment.Cell{Name: c.name(), Params: c}
	}
	return out
}

// fatTree is the network of flow scheduling. The published configuration has arrivals for 2 ms;
// about 300 flows arrive in the small one.
type fatTree struct {
	k    int
	rate units.BitRate
	span units.Duration // of arrivals
}

func fatTreeAt(s experiment.Scale) fatTree {
	return experiment.At(s, fatTree{6, 100 * units.Gbps, 2 * units.Millisecond},
		fatTree{4, 25 * units.Gbps, 16 * units.Millisecond})
}

// large sets what all runs in the network have in common.
func (t fatTree) large(seed uint64, s scheme, n int) large {
	link := fabric.Link{Rate: t.rate, Delay: units.Microsecond}
	return large{
		Scheme: s, Priorities: priorities{N: n}, Seed: seed,
		Build: fabric.FatTree(t.k, link).Build, Link: link, Ports: t.k,
		Buffer: units.Bytes(4.4e6 * float64(t.k) * float64(t.rate) / 1e9 / 1000), // 4.4 MB/Tbps
		Span:   t.span,
	}
}

func (t fatTree) hosts() int { return t.k * t.k * t.k / 4 }

// capacity is the payload that a link carries.
func (t fatTree) capacity() units.BitRate { return t.rate * payload / (payload + sim.Overhead) }

// runScheduling simulates a cell and records completion times by class of size.
func runScheduling(j *experiment.Job) error {
	c := j.Params.(schedulingCell)
	r, err := runs.Of(j, c, func() (*outcome, error) {
		t := fatTreeAt(j.Scale)
		l := t.large(j.Seed, c.Scheme, c.Priorities)
		l.Priorities.Start, l.Priorities.ACKs = c.Traffic.classes(c.Priorities), c.ACKs
		var err error
		l.Source, l.Priority, err = c.Traffic.source(j, t, c.Priorities)
		if err != nil {
			return nil, err
		}
		return l.run(j)
	})
	if err != nil {
		return err
	}
	for _, class := range []string{"all", "small", "middle", "large"} {
		j.Value(class)
	}
	for _, f := range r.Flows {
		j.Value("all", f.FCT.Seconds())
		j.Value(c.Traffic.class(f.Bytes), f.FCT.Seconds())
	}
	j.Value("pauses", r.PausesSent)
	j.Value("paused", r.PausedShare)
	return nil
}

// equalBytes divides sizes into n groups of equal total bytes, and returns the largest size of each
// but the last. The paper does not give its division.
func equalBytes(sizes *workload.Sizes, n int) []units.Bytes {
	const steps = 100_000
	total := 0.0
	for i := range steps {
		total += float64(sizes.Quantile((float64(i) + 0.5) / steps))
	}
	var bounds []units.Bytes
	sum := 0.0
	for i := range steps {
		size := sizes.Quantile((float64(i) + 0.5) / steps)
		if sum += float64(size); sum >= total*float64(len(bounds)+1)/float64(n) &&
			len(bounds) < n-1 {
			bounds = append(bounds, size)
		}
	}
	return bounds
}

// sizeGroup returns the group, from 0 for the smallest, of a size.
func sizeGroup(size units.Bytes, bounds []units.Bytes) int {
	for i, b := range bounds {
		if size <= b {
			return i
		}
	}
	return len(bounds)
}
