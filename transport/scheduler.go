package transport

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// serviceKind is a kind of turn that queue pairs wait for, each kind in a list of its own.
type serviceKind uint8

const (
	serviceAnswers  serviceKind = iota // to acknowledge and to send READ responses
	serviceRequests                    // to send requests; those of lower classes of data follow
	serviceKinds
)

// serviceLists is how many lists of turns there are: answers, and requests by their class of data,
// the
// highest first, ClassData last.
const serviceLists = int(serviceKinds) + packet.MaxClasses - int(packet.Classes)

// list is the index of the list that a queue pair waits in for a turn.
func (e *Endpoint) list(t serviceKind, qp *QueuePair) int {
	switch {
	case t == serviceAnswers:
		return int(t)
	case qp.class < packet.Classes:
		return e.lastServiceList
	}
	return int(serviceRequests) + int(e.classes-1-qp.class)
}

// behind returns where a queue pair keeps which one is behind it in a list.
func (qp *QueuePair) behind(t serviceKind) **QueuePair {
	if t == serviceRequests {
		return &qp.nextSend
	}
	return &qp.nextAnswer
}

// serviceList is the queue pairs that wait for a turn, linked through themselves, first come first
// served.
type serviceList struct{ head, tail *QueuePair }

// queue gives the queue pair a turn, unless it waits for one already.
func (e *Endpoint) queue(t serviceKind, qp *QueuePair) {
	if qp.queued[t] {
		return
	}
	qp.queued[t] = true
	list := &e.serviceLists[e.list(t, qp)]
	if list.tail == nil {
		list.head = qp
	} else {
		*list.tail.behind(t) = qp
	}
	list.tail = qp
}

// dequeue takes out the first of list i.
func (e *Endpoint) dequeue(i int) {
	list, t := &e.serviceLists[i], min(serviceKind(i), serviceRequests)
	qp := list.head
	next := qp.behind(t)
	if list.head = *next; list.head == nil {
		list.tail = nil
	}
	*next, qp.queued[t] = nil, false
}

// scheduleRequests gives the queue pair a turn to send; owe one to answer its peer.
func (e *Endpoint) scheduleRequests(qp *QueuePair) { e.queue(serviceRequests, qp) }
func (e *Endpoint) scheduleAnswer(qp *QueuePair)   { e.queue(serviceAnswers, qp) }

// transmit lets the queue pairs fill bursts: first those that owe an answer, then those that have
// requests. Of these, those whose pace lets them send and those without a pace go first by turns:
// either could keep the other from a port that is always full. It returns whether something was
// left for the next round that only needs another turn.
func (e *Endpoint) transmit(now units.Time) (more bool) {
	if e.gsi != nil {
		e.emitManagement(now)
	}
	e.emitNeighbors()
	budget := pollBudget
	budget -= e.tokenPacer.serve(now, budget)
	budget -= e.serve(int(serviceAnswers), now, budget)
	e.gateDue = false
	othersFirst := e.pacedWent
	if othersFirst {
		sent := e.serveRequests(now, budget)
		e.pacedWent = sent == 0
		budget -= sent
	}
	sent := e.transmitPaced(now, budget)
	if !othersFirst {
		e.pacedWent = sent > 0
	}
	budget -= sent
	budget -= e.serveRequests(now, budget) // among them those that lost their pace just now
	if e.gateDue {
		budget -= e.serve(int(serviceAnswers), now, budget) // what it says of what has left
	}
	for c := range e.classes {
		e.flush(c)
	}
	return budget <= 0
}

// serveRequests gives turns to send requests, class after class.
func (e *Endpoint) serveRequests(now units.Time, budget int) (all int) {
	for i := int(serviceRequests); i <= e.lastServiceList; i++ {
		all += e.serve(i, now, budget-all)
	}
	return all
}

// serve gives turns to the queue pairs of list i, a quantum each. It returns how many packets were
// sent.
func (e *Endpoint) serve(i int, now units.Time, budget int) (all int) {
	t := min(serviceKind(i), serviceRequests)
	for all < budget && e.serviceLists[i].head != nil {
		qp, sent, again := e.serviceLists[i].head, 0, false
		if t == serviceRequests && qp.cong.hasNewWorkToReport() {
			qp.cong.reportNewWork(now)
		}
		switch room := min(budget-all, sendQuantum); {
		case t == serviceAnswers:
			sent, again = qp.rcv.respond(room)
		case qp.cong.isPaced():
			qp.cong.awaitPace(now)
		default:
			sent, again = qp.snd.transmit(now, room)
		}
		all += sent
		e.dequeue(i)
		if again {
			e.queue(t, qp)
			if sent == 0 {
				break // the port has no room
			}
		}
	}
	return all
}

// outQueue collects the frames of one class into a burst. Packets are built where they stand: the
// places behind n already hold empty buffers.
type outQueue struct {
	bufs  [packet.Burst]packet.Buf
	n     int // built
	ready int // built, or empty and allocated
}

// burstFor returns how many frames are built before the port gets them: no more than its queues
// hold, so that a packet is not built, and its time not noted, long before it can leave.
func burstFor(depth int) int { return min(max(depth, 1), packet.Burst) }

// frame returns an empty buffer to build a packet of class c in, nil when the port has no room.
func (e *Endpoint) frame(c packet.Class) *packet.Buf {
	c = min(c, e.classes-1)
	q := &e.out[c]
	if q.n == q.ready && !e.prepare(c) {
		return nil
	}
	return &q.bufs[q.n]
}

// prepare makes room for another packet of class c.
func (e *Endpoint) prepare(c packet.Class) bool {
	q := &e.out[c]
	if q.n == e.burst && !e.flush(c) {
		return false
	}
	if q.n < q.ready {
		return true
	}
	got := e.port.Alloc(q.bufs[q.ready:e.burst])
	if got == 0 {
		e.counters.NoBuffers++
		e.short = true
	}
	q.ready += got
	return got > 0
}

// push queues the packet that was built in the buffer frame answered.
func (e *Endpoint) push(c packet.Class) {
	q := &e.out[min(c, e.classes-1)]
	e.counters.TxFrames++
	e.counters.TxBytes += uint64(q.bufs[q.n].Len())
	q.n++
}

// flush hands the collected frames of a class to the port. It returns whether there is room again.
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
