package transport

import "github.com/goroce/goroce/units"

// setTimer sets the queue pair's timer to its earliest deadline: of the oldest packet's timeout, an
// RNR wait, a reordering window, a probe, or admission.
func (qp *QueuePair) setTimer() {
	timers := qp.ep.timers
	at := qp.cong.earliest(qp.loss.earliest())
	if qp.adm != nil {
		at = qp.adm.earliest(at)
	}
	if at != 0 {
		timers.Set(uint32(qp.cong.flowID()), at)
	} else {
		timers.Stop(uint32(qp.cong.flowID()))
	}
}

// runTimers handles the timers that are due.
func (e *Endpoint) runTimers(now units.Time) {
	e.setTimers()
	for f, due := e.timers.Due(now); due; f, due = e.timers.Due(now) {
		e.counters.TimersDue++
		if qp := e.qps.find(e.flows[f]); qp != nil {
			qp.onTimer(now)
		}
	}
}

// earlier returns the earliest of t, the first timer, and the times at which a paced packet or a
// token may leave.
func (e *Endpoint) earlier(t units.Time) units.Time {
	if at, ok := e.timers.Next(); ok {
		t = units.Earlier(t, at)
	}
	if e.limiter != nil {
		if at, ok := e.limiter.Next(); ok {
			t = units.Earlier(t, at)
		}
	}
	if at, ok := e.tokenPacer.next(); ok {
		t = units.Earlier(t, at)
	}
	return t
}

// onTimer handles what is due, and sets the timer for what is not.
func (qp *QueuePair) onTimer(now units.Time) {
	if qp.adm != nil {
		qp.adm.onTimer(now)
	}
	if qp.state != ReadyToSend && qp.state != SQDrained {
		return
	}
	if qp.cong.hasProber() {
		if qp.cong.onProbeTimer(now); qp.state == Errored {
			return
		}
	}
	qp.loss.onTimer(now)
	if qp.state != Errored {
		qp.setTimer()
	}
}
