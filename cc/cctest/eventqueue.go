package cctest

import (
	"container/heap"

	"github.com/goroce/goroce/units"
)

// EventQueue is a queue of the events of a model in virtual time. Events of one moment run in the
// order of their scheduling.
type EventQueue struct {
	Now    units.Time
	events eventHeap
	n      int
}

// At schedules do at a time, or now when that is past.
func (q *EventQueue) At(at units.Time, do func()) {
	q.n++
	heap.Push(&q.events, event{max(at, q.Now), q.n, do})
}

// Run runs the events until a time, and sets Now to it.
func (q *EventQueue) Run(until units.Time) {
	for len(q.events) > 0 && !q.events[0].at.After(until) {
		e := heap.Pop(&q.events).(event)
		q.Now = e.at
		e.do()
	}
	q.Now = until
}

type event struct {
	at units.Time
	n  int
	do func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].n < h[j].n
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
