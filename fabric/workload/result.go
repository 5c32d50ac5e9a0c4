package workload

import (
	"cmp"
	"slices"

	"github.com/goroce/goroce/units"
)

// Result is a completed flow.
type Result struct {
	Flow
	Done  units.Time     // time of its last completion at the sender
	Ideal units.Duration // completion time in an empty network, see Ideal
}

// Ideal returns the completion time of a flow in an empty network: the base round-trip time of the
// pair plus size at the payload rate of the path's slowest link.
func Ideal(size units.Bytes, baseRTT units.Duration, payload units.BitRate) units.Duration {
	return min(units.Forever, payload.Duration(size)+baseRTT)
}

// FCT returns the flow's completion time.
func (r Result) FCT() units.Duration { return r.Done.Sub(r.At) }

// Slowdown returns the ratio of the completion time to the ideal one, +Inf if that is 0.
func (r Result) Slowdown() float64 { return float64(r.FCT()) / float64(r.Ideal) }

// Group summarises the flows of a coflow or round.
type Group struct {
	ID    int
	Flows int
	Bytes units.Bytes
	At    units.Time // of the first flow
	Done  units.Time // of the last flow
}

// CCT returns the completion time from the start of the first flow to the completion of the last.
func (g Group) CCT() units.Duration { return g.Done.Sub(g.At) }

// Groups summarises results by Group, in the order of ID. It omits flows without a Group.
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
