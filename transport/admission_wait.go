package transport

import "github.com/goroce/goroce/units"

// Requests that wait at a gate: how long they may wait, how that is counted, and how they are
// cancelled.

// AdmissionStats counts how posted requests waited for tokens or credits, and for nothing else.
type AdmissionStats struct {
	Blocked     uint64         // how often
	BlockedTime units.Duration // in total
	Messages    int            // posted, of which no packet has left
}

// AdmissionStats returns the admission statistics of a queue pair that is Admitted.
func (qp *QueuePair) AdmissionStats() AdmissionStats {
	return qp.adm.stats()
}

func (a *admission) stats() (s AdmissionStats) {
	if a == nil {
		return s
	}
	s = a.waited
	if a.shut {
		s.BlockedTime += a.qp.ep.now.Sub(a.shutAt)
	}
	s.Messages = a.qp.snd.waiting()
	return s
}

// reopen ends the wait at the gate. It reports whether anything waited.
func (a *admission) reopen() bool {
	if !a.shut {
		return false
	}
	a.shut = false
	waited := a.qp.ep.now.Sub(a.shutAt)
	a.waited.BlockedTime += waited
	a.qp.ep.counters.BlockedNS += uint64(waited / units.Nanosecond)
	return true
}

// gatePatience is the least time that a peer may be silent while a queue pair waits for its tokens
// or credits. Without an answer, package tocc's gates and granters repeat a question up to 4 ms
// apart, or after four times the peer's response time. A peer that replies is alive, however slow
// its program is.
const gatePatience = 150 * units.Millisecond

// onGateTimeout handles a timeout of a queue pair whose oldest packet waits at the gate. The queue
// pair fails when the peer has been silent for as long as all retransmissions of a packet take.
func (a *admission) onGateTimeout(now units.Time) {
	qp := a.qp
	e := qp.ep
	if now.Sub(a.heardAt) > max(gatePatience, qp.loss.patienceInAll()) {
		qp.loss.countTimeout()
		e.counters.RetriesExceeded++
		qp.failHead(StatusRetryExcErr)
		return
	}
	qp.loss.startTimer(now)
	e.scheduleRequests(qp)
}

// isOldestUnsent reports whether the oldest unacknowledged packet is not in flight.
func (loss *lossRecovery) isOldestUnsent() bool {
	qp := loss.conn()
	return qp.snd.nextPSN() == loss.una || loss.recovery != nil && loss.recovery.lost.has(loss.una)
}

// isAtGate reports whether the oldest unacknowledged packet waits at the gate and for nothing else.
// A packet that has its tokens may still not fit the window, next to packets that wait behind it at
// the peer.
func (a *admission) isAtGate(now units.Time) bool {
	if a == nil || !a.shut {
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
	return !w.op.hasResponse() && !a.admitsNext(w, k, now)
}

// CancelWaiting cancels the work requests of which no packet has left: those that wait at a gate,
// and those behind them. They complete with StatusWRFlushErr, in order, before the call returns,
// and so before older requests that are in flight. The queue pair goes on, and its PSNs do not
// change. CancelWaiting returns the number of cancelled requests.
func (qp *QueuePair) CancelWaiting() (n int) {
	if qp.Type != RC || qp.state != ReadyToSend && qp.state != SQDrained {
		return 0
	}
	n = qp.snd.cancelWaiting()
	qp.cong.updateClaim()
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
		a.reopen()
	}
	a.gate.Lost(0, a.backlog(), qp.ep.now)
	a.scheduleGate()
}
