package transport

import "github.com/goroce/goroce/units"

// setTimer sets the queue pair's timer to the earlier of what it waits for: its oldest packet, to
// count as lost, and the end of what an RNR NAK asked for.
func (qp *QueuePair) setTimer() {
	r, timers := &qp.req, qp.ep.timers
	switch {
	case r.rnrWait && (r.rtoAt == 0 || r.rnrAt.Before(r.rtoAt)):
		timers.Set(uint32(qp.flow), r.rnrAt)
	case r.rtoAt != 0:
		timers.Set(uint32(qp.flow), r.rtoAt)
	default:
		timers.Stop(uint32(qp.flow))
	}
}

// runTimers lets the queue pairs do what is due.
func (e *Endpoint) runTimers(now units.Time) {
	for f, due := e.timers.Due(now); due; f, due = e.timers.Due(now) {
		if qp := e.qps.find(e.flows[f]); qp != nil {
			qp.onTimer(now)
		}
	}
}

// earlier answers t, or when the first timer is due or the first paced packet may leave, if that is
// earlier.
func (e *Endpoint) earlier(t units.Time) units.Time {
	if at, some := e.timers.Next(); some {
		t = units.Earlier(t, at)
	}
	if e.limiter != nil {
		if at, some := e.limiter.Next(); some {
			t = units.Earlier(t, at)
		}
	}
	return t
}
