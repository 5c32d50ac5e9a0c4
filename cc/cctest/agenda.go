package cctest

import (
	"container/heap"

	"github.com/goroce/goroce/units"
)

// Agenda is what is to happen in a model, in virtual time; at one moment in the order in which it
// was asked for.
type Agenda struct {
	Now  units.Time
	todo todo
	n    int
}

// At has do happen at a moment, or now when that is past.
func (a *Agenda) At(at units.Time, do func()) {
	a.n++
	heap.Push(&a.todo, event{max(at, a.Now), a.n, do})
}

// Run lets all happen up to a moment, and goes there.
func (a *Agenda) Run(until units.Time) {
	for len(a.todo) > 0 && !a.todo[0].at.After(until) {
		e := heap.Pop(&a.todo).(event)
		a.Now = e.at
		e.do()
	}
	a.Now = until
}

type event struct {
	at units.Time
	n  int
	do func()
}

type todo []event

func (t todo) Len() int { return len(t) }
func (t todo) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].n < t[j].n
}
func (t todo) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *todo) Push(x any)   { *t = append(*t, x.(event)) }
func (t *todo) Pop() any {
	last := len(*t) - 1
	e := (*t)[last]
	*t = (*t)[:last]
	return e
}
