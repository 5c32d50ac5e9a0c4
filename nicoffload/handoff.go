package nicoffload

import (
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Handoff passes algorithms from the polling core, where flows begin, to the agent's core, where
// they run: an unbounded queue with one producer and one consumer.
type Handoff struct {
	head *handoffNode // the consumer's: the last node taken
	// skipped belongs to the consumer: nodes passed while searching for later ones, by flow number
	skipped map[uint32]handoffFlow
	tail    *handoffNode // the producer's: the last node added
}

type handoffFlow struct {
	flow      Handle
	algorithm cc.Algorithm
}

type handoffNode struct {
	handoffFlow
	next atomic.Pointer[handoffNode]
}

// NewHandoff returns an empty Handoff.
func NewHandoff() *Handoff {
	n := &handoffNode{}
	return &Handoff{head: n, tail: n, skipped: make(map[uint32]handoffFlow)}
}

// Put adds the algorithm of a flow, which has made its first decision. It must be called before the
// agent can learn of the flow.
func (r *Handoff) Put(f Handle, a cc.Algorithm, first cc.Decision) {
	n := &handoffNode{handoffFlow: handoffFlow{f, &startedAlgorithm{a, first}}}
	r.tail.next.Store(n)
	r.tail = n
}

// Adopt returns the algorithm of a flow, for AgentConfig.Adopt. It returns each algorithm once. The
// order of calls is arbitrary, since a restarted NIC reports flows in no particular order. Of
// several generations of a flow number only the newest is kept.
func (r *Handoff) Adopt(f Handle) (cc.Algorithm, error) {
	if p := r.skipped[f.Index()]; p.algorithm != nil && p.flow == f {
		delete(r.skipped, f.Index())
		return p.algorithm, nil
	}
	for n := r.head.next.Load(); n != nil; n = r.head.next.Load() {
		r.head = n
		p := n.handoffFlow
		n.algorithm = nil
		if p.flow == f {
			delete(r.skipped, f.Index())
			return p.algorithm, nil
		}
		r.skipped[p.flow.Index()] = p
	}
	return nil, fmt.Errorf("nicoffload: no algorithm for %v", f)
}

// startedAlgorithm is an algorithm that has made its first decision on the polling core, and must
// not start again.
type startedAlgorithm struct {
	cc.Algorithm
	first cc.Decision
}

// Start implements cc.Starter.
func (b *startedAlgorithm) Start(units.Time) cc.Decision { return b.first }

// Snapshot implements cc.Observable.
func (b *startedAlgorithm) Snapshot() cc.Snapshot {
	if o, ok := b.Algorithm.(cc.Observable); ok {
		return o.Snapshot()
	}
	return cc.Snapshot{Window: b.first.Window, Rate: b.first.Rate}
}
