package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A network with priorities, or several paths, brings packets out of order that are not lost. Where a queue pair is
// told how much (RTSAttr.Reordering), it waits that long after it first heard of a gap before it takes it as lost, as
// TCP does since RACK (RFC 8985, section 6.2: the reordering window).

// late is packets that others have overtaken and that may yet come, and until when.
type late struct {
	psns  psnSet
	waits [6]wait // in order of PSN, and so of time
	n     int
	again units.Time // when what was sent again and overtaken counts as lost; 0: nothing was
}

// wait is until when the packets before a PSN may come.
type wait struct {
	before wire.PSN
	until  units.Time
}

// patience is how long to wait.
func (qp *QueuePair) patience() units.Duration {
	return units.Duration(qp.req.reordering) * units.Nanosecond
}

// wait has the packets before psn wait from now on, unless they do already. It takes it to the next quarter of the
// patience: there are five of them ahead at most.
func (l *late) wait(psn wire.PSN, patience units.Duration, now units.Time) {
	if l.n > 0 && !psn.After(l.waits[l.n-1].before) {
		return
	}
	quarter := units.Time(max(patience/4, 1))
	until := (now.Add(patience) + quarter - 1) / quarter * quarter
	if l.n == 0 || l.waits[l.n-1].until != until && l.n < len(l.waits) {
		l.n++
	}
	l.waits[l.n-1] = wait{psn, until}
}

// loseLate takes as lost what has waited long enough.
func (qp *QueuePair) loseLate(now units.Time) {
	r := &qp.req
	l, had := &r.recovery.late, r.recovery.late.n
	if had == 0 {
		return
	}
	for l.n > 0 && !l.waits[0].until.After(now) {
		for psn, more := l.psns.next(r.una); more && psn.Before(l.waits[0].before); psn, more = l.psns.next(r.una) {
			l.psns.remove(psn)
			qp.lose(psn)
		}
		copy(l.waits[:], l.waits[1:l.n])
		l.n--
	}
	if l.psns.empty() {
		l.n = 0
	}
	qp.setTimer()
}

// overtakenLongAgo says whether what was sent again counts as lost once more, having been overtaken.
func (qp *QueuePair) overtakenLongAgo(now units.Time) bool {
	l := &qp.req.recovery.late
	if qp.req.reordering == 0 {
		return true
	}
	if l.again == 0 {
		l.again = now.Add(qp.patience())
	}
	long := !l.again.After(now)
	if long {
		l.again = 0
	}
	qp.setTimer()
	return long
}

// due says whether anything has waited long enough.
func (l *late) due(now units.Time) bool {
	return l.n > 0 && !l.waits[0].until.After(now) || l.again != 0 && !l.again.After(now)
}

// earliest answers at, or when something has waited long enough, if that is earlier; 0 is never.
func (l *late) earliest(at units.Time) units.Time {
	if l.n > 0 && (at == 0 || l.waits[0].until.Before(at)) {
		at = l.waits[0].until
	}
	if l.again != 0 && (at == 0 || l.again.Before(at)) {
		at = l.again
	}
	return at
}
