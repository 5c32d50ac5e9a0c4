package workload

import (
	"container/heap"
	"fmt"

	"github.com/goroce/goroce/units"
)

// RingAllReduce is hosts in a ring that add up their vectors of Bytes: every host sends one n-th of
// them to the next, in 2(n-1) steps. What it sends in a step is what it received in the one before,
// so that a step begins with the flow of the step before, from the host before, being Done.
// Its Group is the round.
type RingAllReduce struct {
	Hosts  []int // in the order of the ring; at least 2, all different
	Bytes  units.Bytes
	Start  units.Time
	Rounds int            // how many; 0 for no end
	Gap    units.Duration // computation of a host between a round's last chunk and the next round
	Class  int
}

type ring struct {
	RingAllReduce
	n     int // hosts
	steps int // of a round

	next    []int           // by host: its next step, counted over all rounds
	last    []units.Time    // by host: when the step before that began
	arrived map[uint64]bool // flows Done whose successor still waits for something else
	ready   flowHeap
}

// Source begins the traffic.
func (r RingAllReduce) Source() (Reactive, error) {
	n := len(r.Hosts)
	if n < 2 {
		return nil, fmt.Errorf("workload: ring all-reduce: %d hosts, fewer than 2", n)
	}
	if r.Bytes < units.Bytes(n) {
		return nil, fmt.Errorf("workload: ring all-reduce: %d B for %d hosts, less than one each",
			r.Bytes, n)
	}
	seen := make(map[int]bool)
	for _, h := range r.Hosts {
		if seen[h] {
			return nil, fmt.Errorf("workload: ring all-reduce: host %d twice", h)
		}
		seen[h] = true
	}
	s := &ring{RingAllReduce: r, n: n, steps: 2 * (n - 1), next: make([]int, n),
		last:    make([]units.Time, n),
		arrived: make(map[uint64]bool)}
	for h := range n {
		s.begin(h, r.Start)
	}
	return s, nil
}

// begin lets host h take its next step, at the earliest at the time given.
func (r *ring) begin(h int, at units.Time) {
	step := r.next[h]
	if at.Before(r.last[h]) && step > 0 {
		at = r.last[h]
	}
	if step > 0 && step%r.steps == 0 {
		at = at.Add(r.Gap)
	}
	r.next[h]++
	r.last[h] = at
	heap.Push(&r.ready, Flow{
		ID: r.id(h, step), At: at, Src: r.Hosts[h], Dst: r.Hosts[(h+1)%r.n],
		Bytes: r.chunk(h, step%r.steps), Group: step / r.steps, Class: r.Class,
	})
}

func (r *ring) id(h, step int) uint64 { return uint64(step)*uint64(r.n) + uint64(h) }

// chunk answers the size of what host h sends in a step of a round: in step 0 its own part of the
// vector, in each following one the part before. The first Bytes%n parts are a byte longer.
func (r *ring) chunk(h, step int) units.Bytes {
	n := units.Bytes(r.n)
	part := units.Bytes((h + 2*r.n - step) % r.n)
	if part < r.Bytes%n {
		return r.Bytes/n + 1
	}
	return r.Bytes / n
}

// Next implements Source.
func (r *ring) Next() (Flow, bool) {
	if len(r.ready) == 0 {
		return Flow{}, false
	}
	return heap.Pop(&r.ready).(Flow), true
}

// Peek implements Reactive.
func (r *ring) Peek() (units.Time, bool) {
	if len(r.ready) == 0 {
		return 0, false
	}
	return r.ready[0].At, true
}

// Done implements Reactive. Flows of one host may be done out of their order: a host takes its
// steps in order all the same.
func (r *ring) Done(f Flow, at units.Time) {
	src, step := int(f.ID%uint64(r.n)), int(f.ID/uint64(r.n))
	h := (src + 1) % r.n
	if step >= r.next[src] {
		return // no flow of this ring
	}
	r.arrived[f.ID] = true
	for r.wants(r.next[h]) {
		before := r.id(src, r.next[h]-1)
		if !r.arrived[before] {
			return
		}
		delete(r.arrived, before)
		r.begin(h, at)
	}
}

// wants says whether there is such a step.
func (r *ring) wants(step int) bool { return r.Rounds <= 0 || step < r.Rounds*r.steps }

// Pending implements Reactive.
func (r *ring) Pending() bool {
	for _, step := range r.next {
		if r.wants(step) {
			return true
		}
	}
	return false
}

// flowHeap has the earliest flow first.
type flowHeap []Flow

func (h flowHeap) Len() int { return len(h) }
func (h flowHeap) Less(i, j int) bool {
	if h[i].At != h[j].At {
		return h[i].At.Before(h[j].At)
	}
	return h[i].ID < h[j].ID
}
func (h flowHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *flowHeap) Push(f any)   { *h = append(*h, f.(Flow)) }
func (h *flowHeap) Pop() any {
	f := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return f
}
