package workload

import (
	"cmp"
	"slices"

	"github.com/goroce/goroce/units"
)

// Result is a flow and what became of it.
type Result struct {
	Flow
	Done  units.Time     // of its last completion at the sender
	Ideal units.Duration // what it would take alone, see Ideal
}

// Ideal answers the completion time of a flow that has the network for itself: the base round trip
// of the pair, and size at the rate at which the slowest link of the path carries payload.
func Ideal(size units.Bytes, baseRTT units.Duration, payload units.BitRate) units.Duration {
	return min(units.Forever, payload.Duration(size)+baseRTT)
}

// FCT answers the flow's completion time.
func (r Result) FCT() units.Duration { return r.Done.Sub(r.At) }

// Slowdown answers the completion time in multiples of the ideal one; +Inf when that is 0.
func (r Result) Slowdown() float64 { return float64(r.FCT()) / float64(r.Ideal) }

// Group is all flows of a coflow or of a round together.
type Group struct {
	ID    int
	Flows int
	Bytes units.Bytes
	At    units.Time // of the first flow
	Done  units.Time // of the last to be done
}

// CCT answers the group's completion time, from its first flow to its last.
func (g Group) CCT() units.Duration { return g.Done.Sub(g.At) }

// Groups puts results of the same Group together, in the order of ID. Flows of none are left out.
func Groups(results []Result) []Group {
	index := make(map[int]int)
	var groups []Group
	for _, r := range results {
		if r.Group < 0 {
			continue
		}
		i, ok := index[r.Group]
		if !ok {
			i = len(groups)
			index[r.Group] = i
			groups = append(groups, Group{ID: r.Group, At: r.At, Done: r.Done})
		}
		g := &groups[i]
		g.Flows++
		g.Bytes += r.Bytes
		g.At = units.Earlier(g.At, r.At)
		if r.Done.After(g.Done) {
			g.Done = r.Done
		}
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.ID, b.ID) })
	return groups
}
