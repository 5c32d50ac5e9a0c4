package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// backlog returns what the queue pair has in hand, less READs and atomics, which nobody admits. It
// takes as long however much that is: a gate is told with each message that is posted and each
// packet that leaves.
func (a *admission) backlog() cc.Backlog {
	qp := a.qp
	waits := qp.snd.left() - qp.loss.flight()
	waits -= qp.loss.behind()
	if a.reads > 0 {
		waits -= a.toRead()
	}
	return cc.Backlog{Waits: max(0, waits), InFlight: qp.loss.flight() - a.reading}
}

// addReading notes that READs and atomics have size bytes more in flight, or less.
func (a *admission) addReading(size units.Bytes) {
	if a != nil {
		a.reading = max(0, a.reading+size)
	}
}

// clearReading notes that nothing of them is in flight any more.
func (a *admission) clearReading() {
	if a != nil {
		a.reading = 0
	}
}

// toRead returns what READs and atomics are still to ask for, or to ask for again.
func (a *admission) toRead() units.Bytes {
	qp := a.qp
	left := a.readBytes - a.reading
	if qp.snd.hasBegun() {
		if w := qp.snd.oldest(); w.op.hasResponse() {
			left -= qp.snd.span(w, 0, uint32(qp.loss.oldest().Sub(w.first)))
		}
	}
	left -= qp.loss.behindReads()
	return left
}

// admits reports whether the gate lets packet k of a SEND or WRITE leave.
func (a *admission) admits(w *sendWQE, k uint32, again bool, now units.Time) bool {
	if a == nil || a.gate == nil {
		return true
	}
	qp := a.qp
	a.out = cc.Outgoing{Bytes: qp.snd.span(w, k, k+1), Again: again, Completes: w.op.completes(),
		Backlog: a.backlog()}
	if k == 0 {
		a.out.Message = units.Bytes(w.length)
	}
	if a.gate.Ready(&a.out, now) {
		return true
	}
	if !a.shut {
		a.shut, a.shutAt, a.heardAt = true, now, now
		a.waited.Blocked++
		qp.ep.counters.Blocked++
	}
	qp.loss.expectTimer(now)
	a.scheduleGate() // it may have noted that it said no
	return false
}

// admitsNext reports whether the gate lets packet k of w leave, the SEND or WRITE whose turn it
// is: for the first time, or since the queue pair went back.
func (a *admission) admitsNext(w *sendWQE, k uint32, now units.Time) bool {
	if a == nil {
		return true
	}
	qp := a.qp
	return a.admits(w, k, qp.snd.nextPSN().Before(qp.loss.highest()), now)
}

// admitsLost reports whether the gate lets the oldest lost packet leave, of which there is one.
func (a *admission) admitsLost(now units.Time) bool {
	if a == nil {
		return true
	}
	psn := a.qp.loss.oldestLost()
	w := a.qp.snd.request(psn)
	return w.op.hasResponse() || a.admits(w, uint32(psn.Sub(w.first)), true, now)
}

// grantTLVs is how much longer a packet is that says by which token it left.
const grantTLVs = wire.XCHLen + wire.InnerLen + extension.GrantLen

// openGrant begins an XDATA that says by which token it leaves, with op in it. It returns how long
// that beginning is.
func (a *admission) openGrant(frame []byte, op wire.Opcode) int {
	wire.View[wire.XCH](frame).Set(a.qp.sendTag, extension.GrantLen)
	wire.SetInner(frame[wire.XCHLen:], op)
	extension.Grant(frame[wire.XCHLen+wire.InnerLen:][:extension.GrantLen]).Set(a.marks.Grant)
	return grantTLVs
}

// passGate tells the gate that the packet it was just asked about leaves. It returns the marks of
// its
// BTH.
func (a *admission) passGate(now units.Time) (f wire.Flags) {
	// or the timer is the oldest's, whatever else tokens let go
	if a.reopen() && a.qp.loss.isOldestUnsent() {
		a.qp.loss.startTimer(now) // it ran for the peer to say something
	}
	a.marks = a.gate.Took(&a.out, now)
	a.qp.adm.scheduleGate() // what had to go before it speaks may have gone
	f = wire.MarkUnscheduled.When(a.marks.Set&cc.MarkUnscheduled != 0)
	f |= wire.MarkWantsMore.When(a.marks.Set&cc.MarkWantsMore != 0)
	return f | wire.MarkTokenMarked.When(a.marks.Set&cc.MarkTokenMarked != 0)
}

// onLeave tells the gate that the packet it was just asked about leaves, and returns the marks of
// its BTH.
func (a *admission) onLeave(now units.Time) wire.Flags {
	if a.gate == nil {
		return 0
	}
	return a.passGate(now)
}

// trafficClass returns the traffic class of the packet that leaves, if it is not that of its flow.
func (a *admission) trafficClass() (class uint8, ok bool) {
	if a == nil || !a.marks.Classed {
		return 0, false
	}
	return a.marks.TrafficClass, true
}

// onLost tells the gate that what had left waits again.
func (a *admission) onLost(bytes units.Bytes) {
	if a != nil && a.gate != nil && bytes > 0 {
		a.gate.Lost(bytes, a.backlog(), a.qp.ep.now)
		a.scheduleGate()
	}
}

// onPosted tells the gate of a message.
func (a *admission) onPosted(w *sendWQE) {
	switch qp := a.qp; {
	case w.op.hasResponse():
		a.reads++
		a.readBytes += units.Bytes(w.length)
	case a.gate != nil:
		a.gate.Posted(units.Bytes(w.length), qp.adm.backlog(), qp.ep.now)
		qp.adm.scheduleGate()
	}
}

// onCompleted notes the end of a request; one that was refused when it was posted has no packets.
func (a *admission) onCompleted(w *sendWQE) {
	if w.op.hasResponse() && w.packets > 0 {
		a.reads--
		a.readBytes -= units.Bytes(w.length)
	}
}

// scheduleGate sees to it that the gate says what it has to say.
func (a *admission) scheduleGate() {
	qp := a.qp
	switch next := a.gate.Next(); {
	case next == 0:
	case next.After(qp.ep.now):
		a.setTimer()
	default:
		qp.ep.gateDue = true
		qp.ep.scheduleAnswer(qp)
	}
}

// hasGateControl reports whether the gate has something to say now.
func (a *admission) hasGateControl() bool {
	if a == nil || a.gate == nil {
		return false
	}
	qp := a.qp
	if qp.state != ReadyToSend && qp.state != SQDrained {
		return false
	}
	next := a.gate.Next()
	return next != 0 && !next.After(qp.ep.now)
}

// gateKinds is how many kinds of Notices a gate may have to say at once: of tokens and of credits.
const gateKinds = 2
