package transport

import (
	"fmt"

	"github.com/goroce/goroce/internal/endpoint"
)

// receiveQueue is a ring of posted receives, of one queue pair or shared by many. It grows to what
// is posted at once.
type receiveQueue struct {
	ring    []recvWQE
	sges    []SGE // elements 1.. of each, perSlot a slot
	perSlot uint32
	limit   uint32
	head    uint32
	tail    uint32
	onEmpty func() // called when a message finds no receive; nil: none
}

func newReceiveQueue(depth, maxSGE int) *receiveQueue {
	return &receiveQueue{limit: uint32(depth), perSlot: uint32(maxSGE - 1)}
}

func (q *receiveQueue) clear() { q.head, q.tail = 0, 0 }

func (q *receiveQueue) len() uint32 { return q.tail - q.head }

// room returns how many more receives fit.
func (q *receiveQueue) room() int { return int(q.limit) - int(q.len()) }

func (q *receiveQueue) post(rr *RecvRequest) error {
	if q.len() == q.limit {
		return fmt.Errorf("transport: post receive: all %d are posted: %w", q.limit, ErrQueueFull)
	}
	if len(rr.SGList) > int(q.perSlot)+1 {
		return fmt.Errorf("transport: post receive: %d elements, the queue takes %d: %w",
			len(rr.SGList), q.perSlot+1, ErrInvalid)
	}
	if int(q.len()) == len(q.ring) {
		q.grow()
	}
	slot := q.tail & uint32(len(q.ring)-1)
	w := &q.ring[slot]
	w.id, w.slot, w.sges, w.total = rr.ID, slot, uint8(len(rr.SGList)), 0
	for i, s := range rr.SGList {
		if uint64(w.total)+uint64(s.Length) > maxMessage {
			return fmt.Errorf("transport: post receive: elements add up to more than %d bytes: %w",
				maxMessage, ErrInvalid)
		}
		w.total += s.Length
		if i == 0 {
			w.sge = s
		} else {
			q.sges[slot*q.perSlot+uint32(i-1)] = s
		}
	}
	q.tail++
	return nil
}

// grow doubles the ring.
func (q *receiveQueue) grow() {
	size := max(4, 2*len(q.ring))
	ring, sges := make([]recvWQE, size), make([]SGE, size*int(q.perSlot))
	for i := q.head; i != q.tail; i++ {
		w := &q.ring[i&uint32(len(q.ring)-1)]
		slot := i & uint32(size-1)
		copy(sges[slot*q.perSlot:][:q.perSlot], q.sges[w.slot*q.perSlot:])
		ring[slot] = *w
		ring[slot].slot = slot
	}
	q.ring, q.sges = ring, sges
}

// pop removes and returns the oldest receive, or nil if there is none. It is valid until the next
// post.
func (q *receiveQueue) pop() *recvWQE {
	if q.head == q.tail {
		return nil
	}
	w := &q.ring[q.head&uint32(len(q.ring)-1)]
	q.head++
	return w
}

// SharedReceiveQueue is a receive queue from which many queue pairs take receives (ibv_srq).
type SharedReceiveQueue struct {
	pd    *ProtectionDomain
	queue receiveQueue
	low   uint32 // armed limit
	users int
	ended bool // destroyed
}

// CreateSRQ creates a shared receive queue of depth entries, maxSGE elements each (0 means 1).
func (e *Endpoint) CreateSRQ(pd *ProtectionDomain, depth, maxSGE int) (*SharedReceiveQueue, error) {
	maxSGE = max(maxSGE, 1)
	if !pd.serves(e) {
		return nil, fmt.Errorf("transport: create SRQ: "+noPD+": %w", ErrInvalid)
	}
	if depth < 1 || depth > endpoint.MaxQueueDepth || maxSGE > endpoint.MaxSGE {
		return nil, fmt.Errorf("transport: create SRQ: depth %d is not in 1..%d or %d elements "+
			"are more than %d: %w", depth, endpoint.MaxQueueDepth, maxSGE, endpoint.MaxSGE,
			ErrInvalid)
	}
	s := &SharedReceiveQueue{pd: pd, queue: *newReceiveQueue(depth, maxSGE)}
	pd.users++
	return s, nil
}

// Room returns how many more receives PostRecv accepts now.
func (s *SharedReceiveQueue) Room() int { return s.queue.room() }

// OnEmpty sets a function that is called when a message finds no receive in the queue. It may post
// some, which the message then uses.
func (s *SharedReceiveQueue) OnEmpty(f func()) { s.queue.onEmpty = f }

// PostRecv adds a receive (ibv_post_srq_recv).
func (s *SharedReceiveQueue) PostRecv(rr *RecvRequest) error {
	if s.ended {
		return fmt.Errorf("transport: post receive: the shared queue is destroyed: %w", ErrInvalid)
	}
	return s.queue.post(rr)
}

// Arm requests one AsyncSRQLimit event when fewer than limit receives are left.
func (s *SharedReceiveQueue) Arm(limit int) { s.low = uint32(max(limit, 0)) }

// Resize changes the depth of the queue, and keeps the receives in it (ibv_modify_srq with
// IBV_SRQ_MAX_WR). It returns ErrInvalid if they do not fit.
func (s *SharedReceiveQueue) Resize(depth int) error {
	switch {
	case s.ended:
		return fmt.Errorf("transport: resize SRQ: it is destroyed: %w", ErrInvalid)
	case depth < 1 || depth > endpoint.MaxQueueDepth:
		return fmt.Errorf("transport: resize SRQ: depth %d is not in 1..%d: %w", depth,
			endpoint.MaxQueueDepth, ErrInvalid)
	case depth < int(s.queue.len()):
		return fmt.Errorf("transport: resize SRQ: depth %d, but %d receives are posted: %w", depth,
			s.queue.len(), ErrInvalid)
	}
	s.queue.limit = uint32(depth) // post grows the ring
	return nil
}

// Destroy destroys the queue (ibv_destroy_srq). It returns ErrBusy while queue pairs use it.
func (s *SharedReceiveQueue) Destroy() error {
	switch {
	case s.ended:
		return fmt.Errorf("transport: destroy SRQ: it was destroyed before: %w", ErrInvalid)
	case s.users > 0:
		return fmt.Errorf("transport: destroy SRQ: %d queue pairs use it; destroy them first: %w",
			s.users, ErrBusy)
	}
	s.ended = true
	s.pd.users--
	return nil
}

// serves reports whether queue pairs of a domain can take receives from the queue.
func (s *SharedReceiveQueue) serves(pd *ProtectionDomain) bool { return s.pd == pd && !s.ended }

// takeRecv takes the next receive for an incoming message.
func (rcv *receiver) takeRecv() bool {
	qp := rcv.conn()
	if rcv.hasReceive {
		return true
	}
	w := rcv.queue.pop()
	if w == nil && rcv.queue.onEmpty != nil {
		rcv.queue.onEmpty()
		w = rcv.queue.pop()
	}
	if w == nil {
		return false
	}
	rcv.wqe, rcv.hasReceive = *w, true
	if w.sges > 1 { // its slot may be posted to again before the message ends
		copy(rcv.sges, rcv.queue.sges[w.slot*rcv.queue.perSlot:][:w.sges-1])
	}
	if s := rcv.srq; s != nil && s.low > s.queue.len() {
		s.low = 0
		qp.ep.async(AsyncEvent{Kind: AsyncSRQLimit, SRQ: s})
	}
	return true
}

// room returns how many more receives fit into the queue.
func (rcv *receiver) room() int { return rcv.queue.room() }

func (rcv *receiver) onNoReceive(f func()) { rcv.queue.onEmpty = f }

// canComplete reports whether the completion queue has room.
func (rcv *receiver) canComplete() bool { return !rcv.cq.isFull() }

// completeRecv adds the completion of a receive that holds no message.
func (rcv *receiver) completeRecv(id uint64, s Status, solicited bool) {
	qp := rcv.conn()
	wc := rcv.cq.next()
	if wc == nil {
		qp.cqOverran()
		return
	}
	wc.set(id, s, OpRecv, qp.Num)
	rcv.cq.add(wc, solicited)
}
