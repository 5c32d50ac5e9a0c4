package transport

// CancelWaiting takes back the work requests of which no packet has left: those that a gate keeps waiting, and what is behind
// them. They complete with StatusWRFlushErr, in order, before the call returns, and so before older ones that are under
// way. The queue pair goes on; PSNs know nothing of it. It answers how many there were.
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
