package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A network with priorities, or several paths, brings packets out of order that are not lost. Where
// a queue pair is told how much (RTSAttr.Reordering), it waits that long after it first heard of a
// gap before it takes it as lost, or as responder tells its granter, as TCP does since RACK (RFC
// 8985, section 6.2: the reordering window).

// late is packets that others have overtaken and that may yet come, and until when.
type late struct {
	psns  psnSet
	waits waits
	again units.Time // when what was sent again and overtaken counts as lost; 0: nothing was
}

// waits is until when packets may come, in order of their PSNs, and so of time.
type waits struct {
	at [6]wait
	n  int
}

// wait is until when the packets before a PSN may come.
type wait struct {
	before wire.PSN
	until  units.Time
}

// patience is how long to wait.
func (loss *lossRecovery) patience() units.Duration {
	return units.Duration(loss.cold().reordering) * units.Nanosecond
}

// add has the packets before psn wait from now on, unless they do already. It takes it to the next
// quarter of the patience: there are five of them ahead at most.
func (w *waits) add(psn wire.PSN, patience units.Duration, now units.Time) {
	if w.n > 0 && !psn.After(w.at[w.n-1].before) {
		return
	}
	quarter := units.Time(max(patience/4, 1))
	until := (now.Add(patience) + quarter - 1) / quarter * quarter
	if w.n == 0 || w.at[w.n-1].until != until && w.n < len(w.at) {
		w.n++
	}
	w.at[w.n-1] = wait{psn, until}
}

// over answers the next PSN before which packets have waited long enough, and takes it out.
func (w *waits) over(now units.Time) (before wire.PSN, some bool) {
	if w.n == 0 || w.at[0].until.After(now) {
		return 0, false
	}
	before = w.at[0].before
	copy(w.at[:], w.at[1:w.n])
	w.n--
	return before, true
}

// next is when some packets have waited long enough; 0 is never.
func (w *waits) next() units.Time {
	if w.n == 0 {
		return 0
	}
	return w.at[0].until
}

// loseLate takes as lost what has waited long enough.
func (loss *lossRecovery) loseLate(now units.Time) {
	qp := loss.conn()
	l := &loss.recovery.late
	if l.waits.n == 0 {
		return
	}
	for before, some := l.waits.over(now); some; before, some = l.waits.over(now) {
		for psn, more := l.psns.next(loss.una); more && psn.Before(before); psn,
			more = l.psns.next(loss.una) {
			l.psns.remove(psn)
			loss.lose(psn)
		}
	}
	if l.psns.empty() {
		l.waits.n = 0
	}
	qp.setTimer()
}

// overtakenLongAgo says whether what was sent again counts as lost once more, having been
// overtaken.
func (loss *lossRecovery) overtakenLongAgo(now units.Time) bool {
	qp := loss.conn()
	l := &loss.recovery.late
	if loss.cold().reordering == 0 {
		return true
	}
	if l.again == 0 {
		l.again = now.Add(loss.patience())
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
	next := l.earliest(0)
	return next != 0 && !next.After(now)
}

// earliest answers at, or when something has waited long enough, if that is earlier; 0 is never.
func (l *late) earliest(at units.Time) units.Time {
	for _, next := range [...]units.Time{l.waits.next(), l.again} {
		if next != 0 && (at == 0 || next.Before(at)) {
			at = next
		}
	}
	return at
}
