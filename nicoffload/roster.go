package nicoffload

import (
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Roster hands algorithms from the polling core, where flows begin, to the agent's, where they run: a
// queue with one producer and one consumer, which grows.
type Roster struct {
	head *recruit // the consumer's: the last one handed over
	tail *recruit // the producer's: the last one put in
}

type recruit struct {
	flow      Handle
	algorithm cc.Algorithm
	next      atomic.Pointer[recruit]
}

// NewRoster makes an empty one.
func NewRoster() *Roster {
	r := &recruit{}
	return &Roster{head: r, tail: r}
}

// Put hands over the algorithm of a flow, which has made its first decision; before anybody hears of the
// flow.
func (r *Roster) Put(f Handle, a cc.Algorithm, first cc.Decision) {
	n := &recruit{flow: f, algorithm: &begun{a, first}}
	r.tail.next.Store(n)
	r.tail = n
}

// Adopt answers the algorithm of a flow, for an Agent to run: see AgentConfig. Flows are asked for in the
// order in which they began; those that were passed over never will be.
func (r *Roster) Adopt(f Handle) (cc.Algorithm, error) {
	for n := r.head.next.Load(); n != nil; n = r.head.next.Load() {
		a := n.algorithm
		n.algorithm = nil
		r.head = n
		if n.flow == f {
			return a, nil
		}
	}
	return nil, fmt.Errorf("nicoffload: nobody began %v", f)
}

// begun is an algorithm that has made its first decision on the polling core, and is not to start twice.
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
