package transport

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// qpList is a queue of queue pairs, linked through themselves.
type qpList struct{ head, tail *QueuePair }

// activate gives the queue pair a turn to send.
func (e *Endpoint) activate(qp *QueuePair) {
	if qp.queuedSend {
		return
	}
	qp.queuedSend, qp.nextSend = true, nil
	if e.senders.tail == nil {
		e.senders.head = qp
	} else {
		e.senders.tail.nextSend = qp
	}
	e.senders.tail = qp
}

// owe gives the queue pair a turn to answer its peer.
func (e *Endpoint) owe(qp *QueuePair) {
	if qp.queuedAnswer {
		return
	}
	qp.queuedAnswer, qp.nextAnswer = true, nil
	if e.answerers.tail == nil {
		e.answerers.head = qp
	} else {
		e.answerers.tail.nextAnswer = qp
	}
	e.answerers.tail = qp
}

// transmit lets the queue pairs fill bursts: first those that owe an answer, then those that have
// requests, a quantum each in turn. It answers whether something was left for the next round that
// only needs another turn.
func (e *Endpoint) transmit(now units.Time) (more bool) {
	e.emitNeighbors()
	budget := pollBudget
	for budget > 0 && e.answerers.head != nil {
		qp := e.answerers.head
		sent, again := qp.respond(min(budget, sendQuantum))
		budget -= sent
		if e.answerers.head = qp.nextAnswer; e.answerers.head == nil {
			e.answerers.tail = nil
		}
		qp.queuedAnswer = false
		if again {
			e.owe(qp)
			if sent == 0 {
				break // no room, or nobody knows the way yet
			}
		}
	}
	for budget > 0 && e.senders.head != nil {
		qp := e.senders.head
		sent, again := qp.transmit(now, min(budget, sendQuantum))
		budget -= sent
		if e.senders.head = qp.nextSend; e.senders.head == nil {
			e.senders.tail = nil
		}
		qp.queuedSend = false
		if again {
			e.activate(qp)
			if sent == 0 {
				break
			}
		}
	}
	for c := range e.out {
		e.flush(packet.Class(c))
	}
	return budget <= 0
}

// outQueue collects the frames of one class into a burst. Packets are built where they stand: the
// places behind n already hold empty buffers.
type outQueue struct {
	bufs  [packet.Burst]packet.Buf
	n     int // built
	ready int // built, or empty and allocated
}

// frame answers an empty buffer to build a packet of class c in, nil when the port has no room.
func (e *Endpoint) frame(c packet.Class) *packet.Buf {
	q := &e.out[c]
	if q.n == q.ready && !e.prepare(c) {
		return nil
	}
	return &q.bufs[q.n]
}

// prepare makes room for another packet of class c.
func (e *Endpoint) prepare(c packet.Class) bool {
	q := &e.out[c]
	if q.n == packet.Burst && !e.flush(c) {
		return false
	}
	if q.n < q.ready {
		return true
	}
	got := e.port.Alloc(q.bufs[q.ready:])
	if got == 0 {
		e.counters.NoBuffers++
		e.short = true
	}
	q.ready += got
	return got > 0
}

// push queues the packet that was built in the buffer frame answered.
func (e *Endpoint) push(c packet.Class) {
	q := &e.out[c]
	e.counters.TxFrames++
	e.counters.TxBytes += uint64(q.bufs[q.n].Len())
	q.n++
}

// flush hands the collected frames of a class to the port. It answers whether there is room again.
func (e *Endpoint) flush(c packet.Class) bool {
	q := &e.out[c]
	if q.n == 0 {
		return true
	}
	sent := e.port.Send(c, q.bufs[:q.n])
	if sent < q.n {
		e.counters.PortFull++
		e.short = true
	}
	copy(q.bufs[:], q.bufs[sent:q.ready])
	q.n -= sent
	q.ready -= sent
	return sent > 0
}

// emitNeighbors sends what the neighbour table wants to say.
func (e *Endpoint) emitNeighbors() {
	for e.neighbors.Pending() {
		b := e.frame(packet.ClassControl)
		if b == nil {
			return
		}
		n := e.neighbors.Emit(b.Room())
		if n == 0 {
			return
		}
		b.SetLen(n)
		e.push(packet.ClassControl)
	}
}
