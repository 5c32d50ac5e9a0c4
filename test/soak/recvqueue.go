package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// recvQueue is a receive queue, of one end or shared, and the memory posted to it.
type recvQueue struct {
	node      *node
	end       *peerEnd                      // owner; nil: shared
	srq       *transport.SharedReceiveQueue // if shared
	number    int                           // index in the node's list
	arena     *arena
	slots     []slot
	free      []int
	waiting   []int // slots that are posted, oldest first
	posted    int   // receives posted so far
	maxPosts  int   // receives to post in all
	depth     int
	sges      int
	postDelay units.Duration // maximum delay before a used receive is replaced
	scheduled int            // posts that are scheduled
}

// slot is the memory of one receive.
type slot struct {
	room   extent
	pieces pieces // as posted
}

// unlimited is a number of receives that no script reaches.
const unlimited = 1 << 30

// newRecvQueue returns a new receive queue of an end, or the shared one.
func newRecvQueue(end *peerEnd) (*recvQueue, error) {
	if end.shared {
		return end.node.sharedRecv, nil
	}
	q := &recvQueue{node: end.node, end: end, depth: end.recvDepth, sges: end.recvSGEs,
		postDelay: end.node.traits().postDelay}
	largest := 0
	for _, m := range end.peer.script {
		if m.consumesReceive() {
			q.maxPosts++
			largest = max(largest, m.receiveBytes())
		}
	}
	switch end.session.service {
	case transport.RC:
		q.maxPosts += end.session.sim.rng.IntN(3) // to be flushed
		for i, m := range end.consumers() {
			if m.mistake == mistakeNoReceive {
				q.maxPosts = i
				break
			}
		}
		if end.peer.rnrRetry != 7 {
			q.postDelay = 0
		}
	case transport.UC:
		q.maxPosts = unlimited
	case transport.UD:
		q.maxPosts = unlimited
		largest += datagramRoom
	}
	return q, q.make(largest)
}

// newSharedRecvQueue returns the shared receive queue of a node.
func newSharedRecvQueue(n *node) (*recvQueue, error) {
	t := n.traits()
	q := &recvQueue{node: n, depth: t.shared, sges: 3, postDelay: t.postDelay, maxPosts: unlimited}
	largest := 0
	for _, s := range n.sim.plan.sessions {
		for _, end := range s.ends {
			if end.host != n.index || !end.shared {
				continue
			}
			for _, m := range end.peer.script {
				largest = max(largest, m.receiveBytes())
			}
		}
	}
	if err := q.make(largest); err != nil {
		return nil, err
	}
	var err error
	q.srq, err = n.endpoint.CreateSRQ(n.domain, q.depth, q.sges)
	return q, err
}

// recvQueueMemory is the maximum memory of a receive queue, unless one message is longer.
const recvQueueMemory = 2 * units.MiB

// make creates slots for messages up to a size.
func (q *recvQueue) make(largest int) error {
	n := q.node
	room := max(8, largest+n.sim.rng.IntN(64))
	q.depth = max(1, min(q.depth, int(recvQueueMemory)/room))
	count := min(q.depth, q.maxPosts)
	q.number = len(n.recvQueues)
	n.recvQueues = append(n.recvQueues, q)
	q.arena = n.newArena("receive queue", count*(room+17))
	for i := range count {
		q.slots = append(q.slots, slot{room: q.arena.alloc(room, 17)})
		q.free = append(q.free, i)
	}
	var err error
	q.arena.mr, err = n.endpoint.RegisterMemory(n.domain, q.arena.region(), transport.LocalWrite)
	return err
}

// refill posts receives, at once or after a delay.
func (q *recvQueue) refill() {
	sim := q.node.sim
	for len(q.waiting)+q.scheduled < q.depth && q.posted+q.scheduled < q.maxPosts {
		if q.postDelay == 0 {
			q.post()
			continue
		}
		q.scheduled++
		sim.net.At(sim.net.Now().Add(uniform(sim.rng, 0, q.postDelay)), func() {
			q.scheduled--
			if q.end != nil && q.end.isOver() || q.node.endpoint == nil ||
				q.node.recvQueues[q.number] != q {
				return
			}
			q.post()
		})
	}
}

// post posts one receive.
func (q *recvQueue) post() {
	r := q.node.sim.rng
	last := len(q.free) - 1
	i := q.free[last]
	q.free = q.free[:last]
	at := &q.slots[i]
	size, badReceive := at.room.n, false
	if end := q.end; end != nil && end.session.service == transport.RC {
		if list := end.consumers(); q.posted < len(list) { // at least as large as the message
			m := list[q.posted]
			size = m.receiveBytes()
			if r.chance(0.5) {
				size = uniform(r, size, at.room.n)
			}
			if m.mistake == mistakeLength {
				size = m.size - 1
			}
			badReceive = m.mistake == mistakeReceive
		}
	}
	at.pieces = split(r, extent{at.room.in, at.room.off, size}, q.sges)
	rr := transport.RecvRequest{ID: receiveID(q.number, i), SGList: at.pieces.sges()}
	if badReceive {
		for i := range rr.SGList {
			rr.SGList[i].LKey ^= badKey
		}
	}
	q.posted++
	q.waiting = append(q.waiting, i)
	var err error
	if q.srq != nil {
		err = q.srq.PostRecv(&rr)
	} else {
		err = q.end.qp.PostRecv(&rr)
	}
	if err != nil {
		q.node.failf("%v", err)
	}
}

// split divides an extent into at most n pieces, some of which may be empty, in random order.
func split(r rng, whole extent, n int) pieces {
	var ps pieces
	for n = uniform(r, 1, n); n > 1; n-- {
		size := r.IntN(whole.n + 1)
		ps = append(ps, extent{whole.in, whole.off, size})
		whole.off, whole.n = whole.off+size, whole.n-size
	}
	ps = append(ps, whole)
	r.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	return ps
}

// received checks the completion of a receive.
func (q *recvQueue) received(i int, wc *transport.WorkCompletion) {
	end := q.node.ends[wc.QPN]
	at := -1
	for j, waiting := range q.waiting {
		if waiting == i {
			at = j
			break
		}
	}
	switch {
	case at < 0:
		q.node.failf("receive %+v completed, want one that is posted", *wc)
		return
	case end == nil || q.end != nil && q.end != end:
		q.node.failf("receive %+v completed for the wrong queue pair", *wc)
		return
	case q.end != nil && at != 0:
		end.failf(nil, "receive %+v completed before an older one", *wc)
	}
	q.waiting = append(q.waiting[:at], q.waiting[at+1:]...)
	held := &q.slots[i]
	switch {
	case wc.Status != transport.StatusSuccess:
		end.receiveFailed(held, wc)
	case end.session.service == transport.RC:
		end.received(held, wc)
	default:
		end.receivedUnreliable(held, wc)
	}
	fillIdle(held.room.bytes())
	q.free = append(q.free, i)
	// A receive posted after a flush would be flushed again.
	if q.end == nil || !end.isOver() && wc.Status != transport.StatusWRFlushErr {
		q.refill()
	}
}

// fillIdle resets the memory of posted receives, which messages may have begun to fill.
func (q *recvQueue) fillIdle() {
	for _, i := range q.waiting {
		fillIdle(q.slots[i].room.bytes())
	}
}

// checkFlushed checks, after a flush, that no receive is left.
func (q *recvQueue) checkFlushed() {
	if end := q.end; end != nil && len(q.waiting) > 0 {
		end.failf(nil, "%d receives were not flushed", len(q.waiting))
	}
}
