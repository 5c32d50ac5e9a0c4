package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// backlog returns what the queue pair has waiting and in flight, without READs and atomics, which
// need no admission. Its cost does not depend on the length of the queue: it is called for each
// message that is posted and each packet that leaves.
func (a *admission) backlog() cc.Backlog {
	qp := a.qp
	waits := qp.snd.unackedBytes() - qp.loss.flight()
	waits -= qp.loss.sackedBytes()
	if a.reads > 0 {
		waits -= a.readBytesToRequest()
	}
	return cc.Backlog{Waits: max(0, waits), InFlight: qp.loss.flight() - a.readInFlight}
}

// addReadInFlight adds size bytes, which may be negative, to what READs and atomics have in flight.
func (a *admission) addReadInFlight(size units.Bytes) {
	if a != nil {
		a.readInFlight = max(0, a.readInFlight+size)
	}
}

// clearReadInFlight records that READs and atomics have nothing in flight any more.
func (a *admission) clearReadInFlight() {
	if a != nil {
		a.readInFlight = 0
	}
}

// readBytesToRequest returns how many bytes READs and atomics have yet to request, or to request
// again.
func (a *admission) readBytesToRequest() units.Bytes {
	qp := a.qp
	remaining := a.readBytes - a.readInFlight
	if qp.snd.hasBegun() {
		if w := qp.snd.oldest(); w.op.hasResponse() {
			remaining -= qp.snd.span(w, 0, uint32(qp.loss.oldest().Sub(w.first)))
		}
	}
	remaining -= qp.loss.sackedReadBytes()
	return remaining
}

// admits reports whether the gate lets packet k of a SEND or WRITE leave.
func (a *admission) admits(w *sendWQE, k uint32, retransmission bool, now units.Time) bool {
	if a == nil || a.gate == nil {
		return true
	}
	qp := a.qp
	a.outgoing = cc.Outgoing{Bytes: qp.snd.span(w, k, k+1), Again: retransmission,
		Completes: w.op.completes(), Backlog: a.backlog()}
	if k == 0 {
		a.outgoing.Message = units.Bytes(w.length)
	}
	if a.gate.Ready(&a.outgoing, now) {
		return true
	}
	if !a.blocked {
		a.blocked, a.blockedAt, a.lastPeerActivity = true, now, now
		a.waitStats.Blocked++
		qp.ep.counters.Blocked++
		qp.ep.trace.onGate(qp, trace.GateClosed, 0)
	}
	qp.loss.expectTimer(now)
	a.scheduleGate() // the gate may have a control message now that it has refused
	return false
}

// admitsNext reports whether the gate lets packet k of w leave, the next packet of a SEND or WRITE:
// for the first time, or again after the queue pair went back.
func (a *admission) admitsNext(w *sendWQE, k uint32, now units.Time) bool {
	if a == nil {
		return true
	}
	qp := a.qp
	return a.admits(w, k, qp.snd.nextPSN().Before(qp.loss.highest()), now)
}

// admitsLost reports whether the gate lets the oldest lost packet leave. There must be one.
func (a *admission) admitsLost(now units.Time) bool {
	if a == nil {
		return true
	}
	psn := a.qp.loss.oldestLost()
	w := a.qp.snd.request(psn)
	return w.op.hasResponse() || a.admits(w, uint32(psn.Sub(w.first)), true, now)
}

// grantTLVs is how many bytes the number of its grant adds to a packet.
const grantTLVs = wire.XCHLen + wire.InnerLen + extension.GrantLen

// openGrant writes the header of an XDATA that carries op and the number of its grant. It returns
// the length of the header.
func (a *admission) openGrant(frame []byte, op wire.Opcode) int {
	wire.View[wire.XCH](frame).Set(a.qp.sendTag, extension.GrantLen)
	wire.SetInner(frame[wire.XCHLen:], op)
	extension.Grant(frame[wire.XCHLen+wire.InnerLen:][:extension.GrantLen]).Set(a.marks.Grant)
	return grantTLVs
}

// reportSentToGate notifies the gate that the packet it has just admitted leaves. It returns the
// marks of the packet's BTH.
func (a *admission) reportSentToGate(now units.Time) (f wire.Flags) {
	// otherwise the timer is the oldest packet's, whatever other packets the tokens release
	if a.unblock() && a.qp.loss.isOldestUnsent() {
		a.qp.loss.startTimer(now) // it ran for a control message of the peer
	}
	a.marks = a.gate.Sent(&a.outgoing, now)
	a.qp.adm.scheduleGate() // its control message may have waited for this packet to leave
	f = wire.MarkUnscheduled.When(a.marks.Set&cc.MarkUnscheduled != 0)
	f |= wire.MarkWantsMore.When(a.marks.Set&cc.MarkWantsMore != 0)
	return f | wire.MarkTokenMarked.When(a.marks.Set&cc.MarkTokenMarked != 0)
}

// onSent notifies the gate, if there is one, that the packet it has just admitted leaves. It
// returns the marks of the packet's BTH.
func (a *admission) onSent(now units.Time) wire.Flags {
	if a.gate == nil {
		return 0
	}
	return a.reportSentToGate(now)
}

// trafficClass returns the traffic class of the packet that leaves if it differs from its flow's.
func (a *admission) trafficClass() (class uint8, ok bool) {
	if a == nil || !a.marks.Classed {
		return 0, false
	}
	return a.marks.TrafficClass, true
}

// onLost notifies the gate that bytes which had left wait again.
func (a *admission) onLost(bytes units.Bytes) {
	if a != nil && a.gate != nil && bytes > 0 {
		a.gate.Lost(bytes, a.backlog(), a.qp.ep.now)
		a.scheduleGate()
	}
}

// onPosted records a posted request, and notifies the gate of a message.
func (a *admission) onPosted(w *sendWQE) {
	switch qp := a.qp; {
	case w.op.hasResponse():
		a.reads++
		a.readBytes += units.Bytes(w.length)
	case a.gate != nil && w.op.hasPayload():
		a.gate.Posted(units.Bytes(w.length), qp.adm.backlog(), qp.ep.now)
		qp.adm.scheduleGate()
	}
}

// onCompleted records the end of a request. A request that was refused when it was posted has no
// packets.
func (a *admission) onCompleted(w *sendWQE) {
	if w.op.hasResponse() && w.packets > 0 {
		a.reads--
		a.readBytes -= units.Bytes(w.length)
	}
}

// scheduleGate schedules a control message of the gate that is due, or sets the timer for the next.
func (a *admission) scheduleGate() {
	qp := a.qp
	switch next := a.gate.Next(); {
	case next == 0:
	case next.After(qp.ep.now):
		a.setTimer()
	default:
		qp.ep.gateDue = true
		qp.ep.scheduleResponses(qp)
	}
}

// hasGateControl reports whether a control message of the gate is due.
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

// gateKinds is how many kinds of control messages a gate may have at once: of tokens and
// of credits.
const gateKinds = 2

// reportedOldest is the oldest packet, and since when the peer has reported it missing.
type reportedOldest struct {
	psn   wire.PSN
	since units.Time // 0: never
}

// reportedFor returns for how long the peer has reported psn, the oldest packet, as missing, or
// since restartReport; first is true for the first report.
func (a *admission) reportedFor(psn wire.PSN, now units.Time) (d units.Duration, first bool) {
	if s := &a.reportedOldest; s.psn != psn || s.since == 0 {
		*s = reportedOldest{psn, now}
		return 0, true
	}
	return now.Sub(a.reportedOldest.since), false
}

// restartReport restarts the time that reportedFor returns.
func (a *admission) restartReport(now units.Time) { a.reportedOldest.since = now }

// roundTrip measures round trips: of a packet that asked for an ACK and was sent once.
type roundTrip struct {
	psn    wire.PSN
	sentAt units.Time // 0: no measurement is in progress
	value  units.Duration
}

// defaultRTT is the round trip that is assumed before one was measured (IRN section 4.1: RTO_low,
// which is longer than any of its network's).
const defaultRTT = 100 * units.Microsecond

func (t *roundTrip) rtt() units.Duration {
	if t.value == 0 {
		return defaultRTT
	}
	return t.value
}

func (t *roundTrip) begin(psn wire.PSN, now units.Time) {
	if t.sentAt == 0 {
		t.psn, t.sentAt = psn, now
	}
}

// end records that everything before una is acknowledged.
func (t *roundTrip) end(una wire.PSN, now units.Time) {
	if t.sentAt != 0 && t.psn.Before(una) {
		t.value, t.sentAt = now.Sub(t.sentAt), 0
	}
}

// cancel ends a measurement with psn, which was retransmitted.
func (t *roundTrip) cancel(psn wire.PSN) {
	if psn == t.psn {
		t.sentAt = 0
	}
}
