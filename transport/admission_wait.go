package transport

import "github.com/goroce/goroce/units"

// What a gate keeps waiting: how long that may take, how it is counted, and how it is taken back.

// AdmissionStats is how what was posted had to wait for tokens or credits, and for nothing else.
type AdmissionStats struct {
	Blocked     uint64         // times
	BlockedTime units.Duration // together
	Messages    int            // that are posted and of which nothing has left
}

// AdmissionStats returns those of a queue pair that is Admitted.
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

// reopen notes that what the gate kept waits no more, and returns whether anything did.
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

// gatePatience is how long a peer may be silent, at least, whose tokens or credits a queue pair
// waits for: package tocc's gates and granters that hear nothing ask up to 4 ms apart, or four
// times what the other takes. Who answers is alive, however long its program takes.
const gatePatience = 150 * units.Millisecond

// onGateTimeout is what a timeout means of a queue pair whose oldest packet waits at the gate. It
// ends
// when the peer has said nothing for as long as it takes to send a packet again as often as may be.
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

// isOldestUnsent reports whether the oldest packet of those that are not acknowledged is not under
// way.
func (loss *lossRecovery) isOldestUnsent() bool {
	qp := loss.conn()
	return qp.snd.nextPSN() == loss.una || loss.recovery != nil && loss.recovery.lost.has(loss.una)
}

// isAtGate reports whether the oldest packet of those that are not acknowledged waits at the gate,
// and
// for nothing else: one that has its tokens may still not fit the window, beside what waits behind
// it at the peer.
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

// CancelWaiting takes back the work requests of which no packet has left: those that a gate keeps
// waiting, and what is behind them. They complete with StatusWRFlushErr, in order, before the call
// returns, and so before older ones that are under way. The queue pair goes on; PSNs know nothing
// of it. It returns how many there were.
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

// onCancelled tells the gate that what waited for it may be less.
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
