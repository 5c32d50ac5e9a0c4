package workload

import (
	"container/heap"
	"fmt"

	"github.com/goroce/goroce/units"
)

// MaxFlow is the largest flow that readers of traffic accept: 1 PiB.
const MaxFlow units.Bytes = 1 << 50

// Task is a flow or a delay that begins when others have ended.
type Task struct {
	After []int          // indices of the tasks that have to end before
	Delay units.Duration // from their end to the start of the flow, such as computation
	Bytes units.Bytes    // of the flow; 0 for a task that is only a delay
	// Src, Dst, Group and Class are those of the flow.
	Src, Dst     int
	Group, Class int
}

// Graph is traffic with dependencies, such as the collective operations of a training task. The ID
// of a flow is the index of its task.
type Graph []Task

// Source returns the flows. It returns an error if a task waits for itself.
func (g Graph) Source() (Reactive, error) {
	d := &dag{tasks: g, next: make([][]int32, len(g)), left: make([]int32, len(g)),
		at: make([]units.Time, len(g))}
	for i := range g {
		if err := g.check(i); err != nil {
			return nil, fmt.Errorf("workload: task %d: %w", i, err)
		}
		d.left[i] = int32(len(g[i].After))
		for _, before := range g[i].After {
			d.next[before] = append(d.next[before], int32(i))
		}
		if g[i].Bytes > 0 {
			d.flows++
		}
	}
	if i := g.Cycle(); i >= 0 {
		return nil, fmt.Errorf("workload: task %d waits for itself: want tasks without a cycle", i)
	}
	for i := range g {
		if len(g[i].After) == 0 {
			d.start(int32(i))
		}
	}
	return d, nil
}

func (g Graph) check(i int) error {
	s := &g[i]
	for _, before := range s.After {
		if before < 0 || before >= len(g) {
			return fmt.Errorf("waits for task %d, out of range [0, %d)", before, len(g))
		}
	}
	switch {
	case s.Delay < 0:
		return fmt.Errorf("delay %v is negative", s.Delay)
	case s.Bytes < 0 || s.Bytes > MaxFlow:
		return fmt.Errorf("size %d out of range [0, %d]", int64(s.Bytes), int64(MaxFlow))
	case s.Bytes > 0 && (s.Src < 0 || s.Dst < 0 || s.Src == s.Dst):
		return fmt.Errorf("flow from host %d to host %d: want two different hosts", s.Src, s.Dst)
	}
	return nil
}

// Cycle returns a task that waits for itself, or -1. The indices in After must be in range.
func (g Graph) Cycle() int {
	left, next := make([]int, len(g)), make([][]int, len(g))
	var order []int
	for i := range g {
		if left[i] = len(g[i].After); left[i] == 0 {
			order = append(order, i)
		}
		for _, before := range g[i].After {
			next[before] = append(next[before], i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, i := range next[order[at]] {
			if left[i]--; left[i] == 0 {
				order = append(order, i)
			}
		}
	}
	if len(order) == len(g) {
		return -1
	}
	at := 0
	for left[at] == 0 {
		at++
	}
	// Every task that is left waits for another one that is left: their trail ends in a cycle.
	for seen := map[int]bool{}; !seen[at]; {
		seen[at] = true
		for _, before := range g[at].After {
			if left[before] > 0 {
				at = before
				break
			}
		}
	}
	return at
}

// dag is the state of a Graph.
type dag struct {
	tasks Graph
	next  [][]int32    // by task: those that wait for it
	left  []int32      // by task: how many it waits for
	at    []units.Time // by task: the latest end of those it waited for
	ready flowHeap
	flows int // not Done
}

// start starts a task whose predecessors have ended, and all tasks that only waited for delays.
func (d *dag) start(first int32) {
	for todo := []int32{first}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s, at := &d.tasks[i], d.at[i].Add(d.tasks[i].Delay)
		if s.Bytes > 0 {
			heap.Push(&d.ready, Flow{ID: uint64(i), At: at, Src: s.Src, Dst: s.Dst, Bytes: s.Bytes,
				Group: s.Group, Class: s.Class})
			continue
		}
		todo = append(todo, d.end(i, at)...)
	}
}

// end records the end of a task, and returns the tasks that it lets start.
func (d *dag) end(i int32, at units.Time) (free []int32) {
	for _, next := range d.next[i] {
		if d.at[next].Before(at) {
			d.at[next] = at
		}
		if d.left[next]--; d.left[next] == 0 {
			free = append(free, next)
		}
	}
	return free
}

// Next implements Source.
func (d *dag) Next() (Flow, bool) {
	if len(d.ready) == 0 {
		return Flow{}, false
	}
	return heap.Pop(&d.ready).(Flow), true
}

// Peek implements Reactive.
func (d *dag) Peek() (units.Time, bool) {
	if len(d.ready) == 0 {
		return 0, false
	}
	return d.ready[0].At, true
}

// Done implements Reactive.
func (d *dag) Done(f Flow, at units.Time) {
	if f.ID >= uint64(len(d.tasks)) {
		return
	}
	d.flows--
	for _, i := range d.end(int32(f.ID), at) {
		d.start(i)
	}
}

// Pending implements Reactive.
func (d *dag) Pending() bool { return d.flows > 0 }
