package workload

import (
	"container/heap"
	"fmt"

	"github.com/goroce/goroce/units"
)

// RingAllReduce is the ring all-reduce of vectors of Bytes: in each of 2(n-1) steps every host
// sends one n-th of its vector to the next. A host sends in a step what it received in the previous
// one, so a step of a host starts when the flow of the previous step from the previous host is
// Done. The Group of a flow is its round.
type RingAllReduce struct {
	Hosts  []int // in the order of the ring; at least 2, all different
	Bytes  units.Bytes
	Start  units.Time
	Rounds int            // number of rounds; 0 for no limit
	Gap    units.Duration // computation time of a host between rounds
	// OneFlow makes a round one step: a host sends its 2(n-1) parts as one flow.
	OneFlow bool
	Class   int
}

type ring struct {
	RingAllReduce
	n     int // number of hosts
	steps int // steps per round

	next    []int           // by host: its next step, counted over all rounds
	last    []units.Time    // by host: start of its previous step
	arrived map[uint64]bool // flows Done whose successor has not started
	ready   flowHeap
}

// Source returns the flows.
func (r RingAllReduce) Source() (Reactive, error) {
	n := len(r.Hosts)
	if n < 2 {
		return nil, fmt.Errorf("workload: ring all-reduce: %d hosts, want at least 2", n)
	}
	if r.Bytes < units.Bytes(n) {
		return nil, fmt.Errorf(
			"workload: ring all-reduce: %d B for %d hosts, want at least 1 B each",
			r.Bytes, n)
	}
	seen := make(map[int]bool)
	for _, h := range r.Hosts {
		if seen[h] {
			return nil, fmt.Errorf("workload: ring all-reduce: duplicate host %d", h)
		}
		seen[h] = true
	}
	steps := 2 * (n - 1)
	if r.OneFlow {
		steps = 1
	}
	s := &ring{RingAllReduce: r, n: n, steps: steps, next: make([]int, n),
		last:    make([]units.Time, n),
		arrived: make(map[uint64]bool)}
	for h := range n {
		s.begin(h, r.Start)
	}
	return s, nil
}

// begin starts the next step of host h, not before the given time.
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

// chunk returns the size of the part that host h sends in a step of a round: in step 0 part h of
// the vector, in each following step the preceding part. The first Bytes%n parts are one byte
// longer.
func (r *ring) chunk(h, step int) units.Bytes {
	n := units.Bytes(r.n)
	if r.OneFlow {
		return 2 * (n - 1) * r.Bytes / n
	}
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

// Done implements Reactive. Flows of one host may complete out of order; steps start in order.
func (r *ring) Done(f Flow, at units.Time) {
	src, step := int(f.ID%uint64(r.n)), int(f.ID/uint64(r.n))
	h := (src + 1) % r.n
	if step >= r.next[src] {
		return // not a flow of this ring
	}
	r.arrived[f.ID] = true
	for r.hasStep(r.next[h]) {
		before := r.id(src, r.next[h]-1)
		if !r.arrived[before] {
			return
		}
		delete(r.arrived, before)
		r.begin(h, at)
	}
}

// hasStep reports whether the step, counted over all rounds, exists.
func (r *ring) hasStep(step int) bool { return r.Rounds <= 0 || step < r.Rounds*r.steps }

// Pending implements Reactive.
func (r *ring) Pending() bool {
	for _, step := range r.next {
		if r.hasStep(step) {
			return true
		}
	}
	return false
}

// flowHeap is a min-heap by time, then by ID.
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
