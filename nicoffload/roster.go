package nicoffload

import (
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Roster hands algorithms from the polling core, where flows begin, to the agent's, where they run:
// a queue with one producer and one consumer, which grows.
type Roster struct {
	head *node // the consumer's: the last one handed over
	// the consumer's: not asked for yet, though later ones were; by number of the flow
	passed map[uint32]recruit
	tail   *node // the producer's: the last one put in
}

type recruit struct {
	flow      Handle
	algorithm cc.Algorithm
}

type node struct {
	recruit
	next atomic.Pointer[node]
}

// NewRoster makes an empty one.
func NewRoster() *Roster {
	n := &node{}
	return &Roster{head: n, tail: n, passed: make(map[uint32]recruit)}
}

// Put hands over the algorithm of a flow, which has made its first decision; before anybody hears
// of the flow.
func (r *Roster) Put(f Handle, a cc.Algorithm, first cc.Decision) {
	n := &node{recruit: recruit{f, &begun{a, first}}}
	r.tail.next.Store(n)
	r.tail = n
}

// Adopt answers the algorithm of a flow, for an Agent to run: see AgentConfig. Flows are asked for
// once, in any order: a NIC that was started anew hears of them in none. Of several lives of a
// number the newest counts.
func (r *Roster) Adopt(f Handle) (cc.Algorithm, error) {
	if p := r.passed[f.Index()]; p.algorithm != nil && p.flow == f {
		delete(r.passed, f.Index())
		return p.algorithm, nil
	}
	for n := r.head.next.Load(); n != nil; n = r.head.next.Load() {
		r.head = n
		p := n.recruit
		n.algorithm = nil
		if p.flow == f {
			delete(r.passed, f.Index())
			return p.algorithm, nil
		}
		r.passed[p.flow.Index()] = p
	}
	return nil, fmt.Errorf("nicoffload: nobody began %v", f)
}

// begun is an algorithm that has made its first decision on the polling core, and is not to start
// twice.
type begun struct {
	cc.Algorithm
	first cc.Decision
}

// Start implements cc.Starter.
func (b *begun) Start(units.Time) cc.Decision { return b.first }

// Snapshot implements cc.Observable.
func (b *begun) Snapshot() cc.Snapshot {
	if o, ok := b.Algorithm.(cc.Observable); ok {
		return o.Snapshot()
	}
	return cc.Snapshot{Window: b.first.Window, Rate: b.first.Rate}
}
