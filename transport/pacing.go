package transport

import (
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/units"
)

// paced says whether the queue pair's requests leave by the limiter's leave, a packet at a time.
// Datagrams do not: nothing tells of their congestion.
func (qp *QueuePair) paced() bool { return qp.req.rate > 0 && qp.Type != UD }

// setRate takes over a rate of congestion control; 0 is as fast as the port goes. The limiter, some
// 20 KB, comes with the first rate.
func (qp *QueuePair) setRate(rate units.BitRate) {
	e, r, f := qp.ep, &qp.req, uint32(qp.flow)
	if rate = max(rate, 0); rate == r.rate {
		return
	}
	r.rate = rate
	if qp.Type == UD {
		return
	}
	if e.limiter == nil {
		e.limiter = pace.NewLimiter(e.now)
	}
	e.limiter.Rate(f, rate, e.now)
	if rate == 0 {
		e.limiter.Leave(f)
	}
}

// unpace makes the limiter forget the queue pair, and its rate.
func (qp *QueuePair) unpace() {
	if qp.req.rate = 0; qp.ep.limiter != nil {
		qp.ep.limiter.Forget(uint32(qp.flow))
	}
}

// leavePace ends the wait for the start of a packet that may not leave after all.
func (qp *QueuePair) leavePace() {
	if qp.paced() {
		qp.ep.limiter.Leave(uint32(qp.flow))
	}
}

// awaitPace has a paced queue pair wait for the start of its next packet, if it may send one.
func (qp *QueuePair) awaitPace(now units.Time) {
	if size, ok := qp.nextPacket(now); ok {
		qp.ep.limiter.Wait(uint32(qp.flow), size, now)
	}
}

// transmitPaced lets queue pairs send a packet each, in the limiter's order, as long as one's time
// has come. It answers how many were sent.
func (e *Endpoint) transmitPaced(now units.Time, budget int) (sent int) {
	if e.limiter == nil {
		return 0
	}
	for f, some := e.limiter.Head(now); some && sent < budget; f, some = e.limiter.Head(now) {
		qp := e.qps.find(e.flows[f])
		n, again := qp.transmit(now, 1)
		sent += n
		if n == 0 && again {
			break // the port has no room
		}
		if !qp.paced() { // any more
			e.activate(qp)
			continue
		}
		if size, ok := qp.nextPacket(now); ok && again {
			e.limiter.Again(f, size)
		} else {
			e.limiter.Leave(f)
		}
	}
	return sent
}

// nextPacket answers how many bytes the packet has, or asks for, that leaves next; false when it
// may not, whatever its time. What it does not look at, transmit finds when it comes to it.
func (qp *QueuePair) nextPacket(now units.Time) (size units.Bytes, ok bool) {
	r := &qp.req
	switch {
	case r.rnrWait || r.hold:
		return 0, false
	case r.recovery != nil && !r.recovery.lost.empty():
		return units.Bytes(qp.mtu), r.fits(qp.mtu) &&
			(!r.recovery.probing || r.recovery.lost.has(r.una)) && qp.admitsLost(now)
	case r.next == r.posted:
		return 0, false
	}
	w := &qp.send[r.next&r.mask]
	size = units.Bytes(w.length - r.packet<<qp.mtuShift)
	first := min(size, units.Bytes(qp.mtu))
	if w.op.answered() {
		size = min(size, units.Bytes(qp.readRoom())<<qp.mtuShift)
	} else {
		size = first
	}
	return size, r.open(uint32(first)) && (w.op.answered() || qp.admitsNext(w, now))
}

// readBurst is how long the responses to one request of a paced READ take at the flow's rate: they
// leave the responder as fast as its port goes.
const readBurst = 10 * units.Microsecond

// readRoom answers how many packets one request of a READ may ask for: what the window admits, and
// no longer a burst than the pace does, unless as many requests as may be outstanding would then
// not fill the window.
func (qp *QueuePair) readRoom() uint32 {
	r := &qp.req
	room := r.window - r.inFlight
	if n := len(qp.asked.ends); qp.paced() && n > 0 {
		room = min(room, max(r.rate.Bytes(readBurst), r.window/units.Bytes(n)))
	}
	return uint32(min(max(room>>qp.mtuShift, 1), maxOutstanding))
}
