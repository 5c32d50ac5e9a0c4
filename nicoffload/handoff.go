package nicoffload

import (
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Roster passes algorithms from the polling core, where flows begin, to the agent's core, where
// they run: an unbounded queue with one producer and one consumer.
type Roster struct {
	head *node // the consumer's: the last node taken
	// the consumer's: nodes passed while searching for later ones, by flow number
	passed map[uint32]recruit
	tail   *node // the producer's: the last node added
}

type recruit struct {
	flow      Handle
	algorithm cc.Algorithm
}

type node struct {
	recruit
	next atomic.Pointer[node]
}

// NewRoster returns an empty Handoff.
func NewRoster() *Roster {
	n := &node{}
	return &Roster{head: n, tail: n, passed: make(map[uint32]recruit)}
}

// Put adds the algorithm of a flow, which has made its first decision. It must be called before the
// agent can learn of the flow.
func (r *Roster) Put(f Handle, a cc.Algorithm, first cc.Decision) {
	n := &node{recruit: recruit{f, &begun{a, first}}}
	r.tail.next.Store(n)
	r.tail = n
}

// Adopt returns the algorithm of a flow, for AgentConfig.Adopt. It returns each algorithm once. The
// order of calls is arbitrary, since a restarted NIC reports flows in no particular order. Of
// several generations of a flow number only the newest is kept.
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
	return nil, fmt.Errorf("nicoffload: no algorithm for %v", f)
}

// begun is an algorithm that has made its first decision on the polling core, and must not start
// again.
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
