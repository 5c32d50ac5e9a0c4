package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/units"
)

// Requests that wait at a gate: how long they may wait, how that is counted, and how they are
// cancelled.

// admissionStats are QPStats.Admission.
type admissionStats = struct {
	Active      bool
	Blocked     uint64
	BlockedTime units.Duration
	Messages    int
}

// Admission returns the program's part in gates and granters.
func (qp *QueuePair) Admission() cc.Admission { return (*programAdmission)(qp) }

// programAdmission implements cc.Admission.
type programAdmission QueuePair

func (p *programAdmission) Consumed(bytes units.Bytes) error { return p.adm.consume(bytes) }
func (p *programAdmission) Answered(bytes units.Bytes)       { p.adm.onResponse(bytes) }
func (p *programAdmission) CancelWaiting() int {
	return (*QueuePair)(p).cancelWaiting()
}

func (a *admission) stats() (s admissionStats) {
	if a == nil {
		return s
	}
	s = a.waitStats
	s.Active = true
	if a.blocked {
		s.BlockedTime += a.qp.ep.now.Sub(a.blockedAt)
	}
	s.Messages = a.qp.snd.waiting()
	return s
}

// unblock ends the wait at the gate. It reports whether anything waited.
func (a *admission) unblock() bool {
	if !a.blocked {
		return false
	}
	a.blocked = false
	blocked := a.qp.ep.now.Sub(a.blockedAt)
	a.waitStats.BlockedTime += blocked
	a.qp.ep.counters.BlockedNS += uint64(blocked / units.Nanosecond)
	a.qp.ep.trace.onGate(a.qp, trace.GateOpened, blocked)
	return true
}

// minGateTimeout is the least time that a peer may be silent while a queue pair waits for its
// tokens or credits. While there is no reply, the gates and granters of package tocc repeat a
// request after up to 4 ms, or four times the peer's response time. A peer that replies is alive,
// however slow its program is.
const minGateTimeout = 150 * units.Millisecond

// onGateTimeout handles a timeout of a queue pair whose oldest packet waits at the gate. The queue
// pair fails when the peer has been silent for as long as all retransmissions of a packet take.
func (a *admission) onGateTimeout(now units.Time) {
	qp := a.qp
	e := qp.ep
	if now.Sub(a.lastPeerActivity) > max(minGateTimeout, qp.loss.totalRetryTime()) {
		qp.loss.countTimeout()
		e.counters.RetriesExceeded++
		qp.failHead(StatusRetryExcErr)
		return
	}
	qp.loss.startTimer(now)
	e.scheduleRequests(qp)
}

// isAtGate reports whether the oldest unacknowledged packet waits at the gate and for nothing else.
// A packet that has its tokens may still not fit the window, next to packets that wait behind it at
// the peer.
func (a *admission) isAtGate(now units.Time) bool {
	if a == nil || !a.blocked {
		return false
	}
	qp := a.qp
	switch {
	case qp.loss.isRecovering():
		return qp.loss.isLost(qp.loss.oldest()) && !a.admitsLost(now)
	case qp.snd.nextPSN() != qp.loss.oldest() || !qp.snd.hasNext():
		return false
	}
	w, k := qp.snd.upcoming()
	return w.op.hasPayload() && !a.admitsNext(w, k, now)
}

// cancelWaiting implements cc.Admission's CancelWaiting.
func (qp *QueuePair) cancelWaiting() (n int) {
	if qp.Type != RC || qp.state != ReadyToSend && qp.state != SQDrained {
		return 0
	}
	n = qp.snd.cancelWaiting()
	qp.cong.updateBacklogged()
	if n == 0 || qp.state == Errored { // a completion was lost
		return n
	}
	if qp.snd.isIdle() {
		qp.cong.setNewWork(false)
		qp.loss.stopIdleTimer() // it ran for the gate, or for a neighbour
	}
	qp.adm.onCancelled()
	return n
}

// onCancelled notifies the gate that less may wait for it.
func (a *admission) onCancelled() {
	if a == nil || a.gate == nil {
		return
	}
	qp := a.qp
	if !qp.snd.hasNext() && (!qp.loss.isRecovering() || !qp.loss.hasLost()) {
		a.unblock()
	}
	a.gate.Lost(0, a.backlog(), qp.ep.now)
	a.scheduleGate()
}
