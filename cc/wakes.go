package cc

import (
	"container/heap"

	"github.com/goroce/goroce/units"
)

// wakes is a heap of the times at which flows want a TIMER, at most one each, the earliest first,
// and of equal times that of the lowest flow.
type wakes struct {
	entries []wake
	place   []int32 // of each flow in entries, from 1 on; 0: it has no time
}

type wake struct {
	at   units.Time
	flow Flow
}

// set sets the time of a flow; 0 removes it.
func (w *wakes) set(f Flow, at units.Time) {
	for int(f) >= len(w.place) {
		w.place = append(w.place, 0)
	}
	i := int(w.place[f]) - 1
	switch {
	case at == 0 && i < 0:
	case at == 0:
		w.remove(i)
	case i < 0:
		w.entries = append(w.entries, wake{at, f})
		w.place[f] = int32(len(w.entries))
		heap.Fix(w, len(w.entries)-1)
	default:
		w.entries[i].at = at
		heap.Fix(w, i)
	}
}

func (w *wakes) remove(i int) {
	last := len(w.entries) - 1
	w.Swap(i, last)
	w.place[w.entries[last].flow] = 0
	w.entries = w.entries[:last]
	if i < last {
		heap.Fix(w, i)
	}
}

// any reports whether a time has come.
func (w *wakes) any(now units.Time) bool {
	return len(w.entries) > 0 && !w.entries[0].at.After(now)
}

// due returns the flow of the first time that has come, and false if there is none.
func (w *wakes) due(now units.Time) (Flow, bool) {
	if !w.any(now) {
		return 0, false
	}
	return w.entries[0].flow, true
}

// next returns the first time, or units.Forever from now if there is none.
func (w *wakes) next(now units.Time) units.Time {
	if len(w.entries) == 0 {
		return now.Add(units.Forever)
	}
	return w.entries[0].at
}

// Len implements heap.Interface.
func (w *wakes) Len() int { return len(w.entries) }

// Less implements heap.Interface.
func (w *wakes) Less(i, j int) bool {
	a, b := w.entries[i], w.entries[j]
	return a.at.Before(b.at) || a.at == b.at && a.flow < b.flow
}

// Swap implements heap.Interface.
func (w *wakes) Swap(i, j int) {
	e := w.entries
	e[i], e[j] = e[j], e[i]
	w.place[e[i].flow], w.place[e[j].flow] = int32(i+1), int32(j+1)
}

// Push implements heap.Interface. set appends instead, which does not allocate.
func (w *wakes) Push(any) { panic("not called") }

// Pop implements heap.Interface. remove truncates instead.
func (w *wakes) Pop() any { panic("not called") }
