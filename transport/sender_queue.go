package transport

import "github.com/goroce/goroce/transport/wire"

// sendQueue is the memory of a send queue: a ring of requests, and, slot by slot, what only some of
// them need. A queue pair borrows one while something is posted. So connections cost memory as they
// send, not as they exist, and the few that send have rings that are in the cache.
type sendQueue struct {
	wqes      []sendWQE
	pd        *ProtectionDomain
	sges      []SGE  // elements 1.. of each request, MaxSendSGE-1 a slot
	inline    []byte // MaxInline a slot
	atomics   []atomicArgs
	datagrams []datagramArgs
	locals    []localArgs // nil before the first
}

type atomicArgs struct{ compareAdd, swap uint64 }

type datagramArgs struct {
	ah   *AddressHandle
	qpn  wire.QPN
	qkey uint32
}

// noRequests is the queue of a sender of which nothing is posted. It is only read.
var noRequests = &sendQueue{wqes: make([]sendWQE, 1)}

// sendQueueShape is what the memory of a send queue depends on.
type sendQueueShape struct {
	kind                QPType
	depth, sges, inline int // ring slots; elements and bytes a slot
}

func newSendQueueShape(init *QPInit) sendQueueShape {
	depth := ringSize(max(init.MaxSendWR, 1))
	return sendQueueShape{init.Type, depth, init.MaxSendSGE - 1, init.MaxInline}
}

func (s sendQueueShape) make() *sendQueue {
	q := &sendQueue{
		wqes: make([]sendWQE, s.depth), sges: make([]SGE, s.depth*s.sges),
		inline: make([]byte, s.depth*s.inline),
	}
	switch s.kind {
	case RC:
		q.atomics = make([]atomicArgs, s.depth)
	case UD:
		q.datagrams = make([]datagramArgs, s.depth)
	}
	return q
}

// sendQueuesOf returns the endpoint's send queues of a shape.
func (e *Endpoint) sendQueuesOf(shape sendQueueShape) *pool[sendQueue] {
	queues := e.sendQueues[shape]
	if queues == nil {
		queues = &pool[sendQueue]{make: shape.make}
		e.sendQueues[shape] = queues
	}
	return queues
}

// borrowQueue gets the memory for what is posted now.
func (snd *sender) borrowQueue() {
	qp := snd.conn()
	qp.prefetch()
	snd.q = snd.cold().queues.get()
	snd.q.pd = qp.pd
}

// returnQueue returns the memory of the send queue if nothing is posted. The next request has index
// 0 again, and so a slot that was used lately.
func (snd *sender) returnQueue() {
	if snd.isIdle() && snd.q != noRequests {
		snd.cold().queues.put(snd.q)
		snd.q = noRequests
		snd.done, snd.next, snd.begun, snd.posted, snd.packet = 0, 0, 0, 0, 0
	}
}
