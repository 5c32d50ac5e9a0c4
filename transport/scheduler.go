package transport

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// serviceKind is a kind of service that queue pairs wait for, each kind in lists of its own.
type serviceKind uint8

const (
	serviceResponses serviceKind = iota // to send ACKs, NAKs and READ responses
	serviceRequests                     // to send requests, in a list for each class of data
	serviceKinds
)

// serviceLists is the number of service lists: one for responses, and one for each class of data
// with requests, the highest first, ClassData last.
const serviceLists = int(serviceKinds) + packet.MaxClasses - int(packet.Classes)

// list returns the index of the list in which a queue pair waits for a service.
func (e *Endpoint) list(t serviceKind, qp *QueuePair) int {
	switch {
	case t == serviceResponses:
		return int(t)
	case qp.class < packet.Classes:
		return e.lastServiceList
	}
	return int(serviceRequests) + int(e.classes-1-qp.class)
}

// next returns the link of a queue pair to the next one in a list.
func (qp *QueuePair) next(t serviceKind) **QueuePair {
	if t == serviceRequests {
		return &qp.nextRequester
	}
	return &qp.nextResponder
}

// serviceList is the queue pairs that wait for a service, first come, first served. They are linked
// through themselves.
type serviceList struct {
	head, tail *QueuePair
	turn       int // packets that the first one has sent in its turn
}

// queue adds the queue pair to a list, unless it is in it already.
func (e *Endpoint) queue(t serviceKind, qp *QueuePair) {
	if qp.queued[t] {
		return
	}
	qp.queued[t] = true
	list := &e.serviceLists[e.list(t, qp)]
	if list.tail == nil {
		list.head = qp
	} else {
		*list.tail.next(t) = qp
	}
	list.tail = qp
}

// dequeue removes the first queue pair of list i.
func (e *Endpoint) dequeue(i int) {
	list, t := &e.serviceLists[i], min(serviceKind(i), serviceRequests)
	qp := list.head
	next := qp.next(t)
	if list.head = *next; list.head == nil {
		list.tail = nil
	}
	*next, qp.queued[t], list.turn = nil, false, 0
}

// scheduleRequests schedules the queue pair to send requests; scheduleResponses, to send ACKs, NAKs
// and READ responses.
func (e *Endpoint) scheduleRequests(qp *QueuePair)  { e.queue(serviceRequests, qp) }
func (e *Endpoint) scheduleResponses(qp *QueuePair) { e.queue(serviceResponses, qp) }

// transmit lets the queue pairs fill bursts: first those with responses, then those with requests.
// When READ responses have left, requests go first the next time, until some have left: the READs
// of one peer must not keep this host from a port that is always full. It returns whether something
// is left that only needs another round.
func (e *Endpoint) transmit(now units.Time) (more bool) {
	if e.gsi != nil {
		e.emitManagement(now)
	}
	e.emitNeighbors()
	budget := pollBudget
	budget -= e.tokenPacer.serve(now, budget)
	if e.readsServedFirst {
		sent := e.transmitRequests(now, budget)
		budget -= sent
		budget -= e.serve(int(serviceResponses), now, budget)
		e.readsServedFirst = sent == 0
	} else {
		budget -= e.serve(int(serviceResponses), now, budget)
		budget -= e.transmitRequests(now, budget)
	}
	if e.gateDue {
		// control messages about what has left
		budget -= e.serve(int(serviceResponses), now, budget)
	}
	for c := range e.classes {
		e.flush(c)
	}
	return budget <= 0
}

// transmitRequests lets queue pairs send requests. Paced and unpaced ones take turns to go first,
// because either could keep the other from a port that is always full. It returns how many packets
// were sent.
func (e *Endpoint) transmitRequests(now units.Time, budget int) (all int) {
	e.gateDue = false
	othersFirst := e.pacedServedFirst
	if othersFirst {
		all = e.serveRequests(now, budget)
		e.pacedServedFirst = all == 0
	}
	paced := e.transmitPaced(now, budget-all)
	if !othersFirst {
		e.pacedServedFirst = paced > 0
	}
	all += paced
	return all + e.serveRequests(now, budget-all) // including those that have just lost their rate
}

// serveRequests serves the lists of requests, class by class.
func (e *Endpoint) serveRequests(now units.Time, budget int) (all int) {
	for i := int(serviceRequests); i <= e.lastServiceList; i++ {
		all += e.serve(i, now, budget-all)
	}
	return all
}

// serve serves the queue pairs of list i, a quantum each. It returns how many packets were sent.
func (e *Endpoint) serve(i int, now units.Time, budget int) (all int) {
	t := min(serviceKind(i), serviceRequests)
	list := &e.serviceLists[i]
	for all < budget && list.head != nil {
		qp, sent, more := list.head, 0, false
		if t == serviceRequests && qp.cong.hasNewWorkToReport() {
			qp.cong.reportNewWork(now)
		}
		room := min(budget-all, sendQuantum-list.turn)
		switch {
		case t == serviceResponses:
			sent, more = qp.rcv.respond(room)
		case qp.cong.isPaced():
			qp.cong.waitForPace(now)
			if e.trace != nil {
				e.trace.onTurn(qp, false)
			}
		default:
			sent, more = qp.snd.transmit(now, room)
			if e.trace != nil {
				e.trace.onTurn(qp, more && sent < room)
			}
		}
		all += sent
		list.turn += sent
		// a queue pair that has just got a rate waits for its pace instead
		portFull := more && sent < room && (t == serviceResponses || !qp.cong.isPaced())
		if portFull && e.keepsTurn(i, all > 0) {
			break
		}
		e.dequeue(i)
		if more {
			e.queue(t, qp)
		}
		if portFull {
			break
		}
	}
	return all
}

// keepsTurn reports whether the first queue pair of list i, which finds no room in the port, stays
// the first. It does until it has sent a burst, as it would have sent at once if there had been
// room: otherwise the others, who find the port full or not as it happens, could fill what becomes
// free each time. Responses are of several classes; where ACKs have room and nothing could be sent,
// the first one waits for a class that may be paused, and lets others try.
func (e *Endpoint) keepsTurn(i int, anySent bool) bool {
	return e.serviceLists[i].turn < e.burst &&
		(i != int(serviceResponses) || anySent || e.frame(packet.ClassAck) == nil)
}

// outQueue collects the frames of one class into a burst. Packets are built in place: the entries
// from n on already have empty buffers.
type outQueue struct {
	bufs  [packet.Burst]packet.Buf
	n     int // built
	ready int // built, or empty and allocated
}

// burstFor returns how many frames are built before they go to the port: no more than its queues
// hold, so that a packet is not built, and its send time not taken, long before it can leave.
func burstFor(depth int) int { return min(max(depth, 1), packet.Burst) }

// frame returns an empty buffer to build a packet of class c in, or nil when the port has no room.
func (e *Endpoint) frame(c packet.Class) *packet.Buf {
	c = min(c, e.classes-1)
	q := &e.out[c]
	if q.n == q.ready && !e.prepare(c) {
		return nil
	}
	return &q.bufs[q.n]
}

// frames returns up to n empty buffers to build packets of class c in: none when the port has no
// room. push and pushed queue the first of them.
func (e *Endpoint) frames(c packet.Class, n int) []packet.Buf {
	c = min(c, e.classes-1)
	q := &e.out[c]
	if q.n == q.ready && !e.prepare(c) {
		return nil
	}
	return q.bufs[q.n:min(q.ready, q.n+n)]
}

// pushed queues the packets that were built in the first n buffers returned by frames.
func (e *Endpoint) pushed(c packet.Class, n int) {
	q := &e.out[min(c, e.classes-1)]
	e.counters.TxFrames += uint64(n)
	e.counters.TxBytes += uint64(n) * uint64(q.bufs[q.n].Len()) // they are of one length
	q.n += n
}

// prepare makes room for another packet of class c. It returns false when the port has none.
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
		e.trace.onNoBuffer()
	}
	q.ready += got
	return got > 0
}

// push queues the packet that was built in the buffer returned by frame.
func (e *Endpoint) push(c packet.Class) {
	q := &e.out[min(c, e.classes-1)]
	e.counters.TxFrames++
	e.counters.TxBytes += uint64(q.bufs[q.n].Len())
	q.n++
}

// flush passes the collected frames of a class to the port. It returns whether there is room again.
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
	if e.trace != nil {
		e.trace.onFlush(c, sent < q.n)
	}
	copy(q.bufs[:], q.bufs[sent:q.ready])
	q.n -= sent
	q.ready -= sent
	return sent > 0
}

// emitNeighbors sends the frames of the neighbour table.
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
