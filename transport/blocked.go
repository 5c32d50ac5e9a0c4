package transport

import "github.com/goroce/goroce/units"

// What a gate keeps waiting: how long that may take, how it is counted, and how it is taken back.

// AdmissionStats is how what was posted had to wait for tokens or credits, and for nothing else.
type AdmissionStats struct {
	Blocked     uint64         // times
	BlockedTime units.Duration // together
	Messages    int            // that are posted and of which nothing has left
}

// AdmissionStats answers those of a queue pair that is Admitted.
func (qp *QueuePair) AdmissionStats() (s AdmissionStats) {
	if a := qp.adm; a != nil {
		s = a.waited
		if a.shut {
			s.BlockedTime += qp.ep.now.Sub(a.shutAt)
		}
		s.Messages = int(qp.req.posted - qp.req.begun)
	}
	return s
}

// opens notes that what the gate kept waits no more, and answers whether anything did.
func (a *admission) opens() bool {
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

// silent is what a timeout means of a queue pair whose oldest packet waits at the gate. It ends
// when the peer has said nothing for as long as it takes to send a packet again as often as may be.
func (qp *QueuePair) silent(now units.Time) {
	r, e := &qp.req, qp.ep
	if now.Sub(qp.adm.heard) > max(gatePatience, r.timeout*units.Duration(r.retries+1)) {
		qp.stats.Timeouts++
		e.counters.Timeouts++
		e.counters.RetriesExceeded++
		qp.failHead(StatusRetryExcErr)
		return
	}
	qp.startTimer(now)
	e.activate(qp)
}

// oldestWaits says whether the oldest packet of those that are not acknowledged is not under way.
func (qp *QueuePair) oldestWaits() bool {
	r := &qp.req
	return r.sndNxt == r.una || r.recovery != nil && r.recovery.lost.has(r.una)
}

// atGate says whether the oldest packet of those that are not acknowledged waits at the gate, and
// for nothing else: one that has its tokens may still not fit the window, beside what waits behind
// it at the peer.
func (qp *QueuePair) atGate(now units.Time) bool {
	r, a := &qp.req, qp.adm
	switch {
	case a == nil || !a.shut:
		return false
	case r.recovery != nil:
		return r.recovery.lost.has(r.una) && !qp.admitsLost(now)
	case r.sndNxt != r.una || r.next == r.posted:
		return false
	}
	w := &qp.send[r.next&r.mask]
	return !w.op.answered() && !qp.admitsNext(w, now)
}

// CancelWaiting takes back the work requests of which no packet has left: those that a gate keeps
// waiting, and what is behind them. They complete with StatusWRFlushErr, in order, before the call
// returns, and so before older ones that are under way. The queue pair goes on; PSNs know nothing
// of it. It answers how many there were.
func (qp *QueuePair) CancelWaiting() (n int) {
	r := &qp.req
	if qp.Type != RC || qp.state != ReadyToSend && qp.state != SQDrained {
		return 0
	}
	begun := r.begun
	n = int(r.posted - begun)
	for i := begun; i != r.posted; i++ {
		qp.complete(&qp.send[i&r.mask], StatusWRFlushErr)
	}
	r.posted = begun
	qp.reclaim()
	if n == 0 || qp.state == Errored { // a completion was lost
		return n
	}
	if r.done == r.posted {
		r.fresh = false
		if r.una == r.sndMax { // the timer ran for the gate, or for a neighbour
			r.rtoAt = 0
			qp.setTimer()
		}
	}
	if a := qp.adm; a != nil && a.gate != nil {
		if r.next == r.posted && (r.recovery == nil || r.recovery.lost.empty()) {
			a.opens()
		}
		a.gate.Lost(0, qp.backlog(), qp.ep.now)
		qp.heedGate()
	}
	return n
}
