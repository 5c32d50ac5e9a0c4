package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// A network with priorities or several paths reorders packets without losing them. With
// QPAttr.Reordering a queue pair waits that long after the first sign of a gap before it takes the
// gap as a loss, or, as a responder, reports it to its granter, as TCP does since RACK (RFC 8985,
// section 6.2: the reordering window).

// reorderWindow is the packets that others have overtaken and that may still arrive, and until
// when.
type reorderWindow struct {
	overtaken psnSet
	deadlines deadlines
	resentBy  units.Time // when an overtaken retransmission counts as lost; 0: there is none
}

// deadlines is until when packets may arrive, in order of their PSNs, and so of time.
type deadlines struct {
	at [6]deadline
	n  int
}

// deadline is until when the packets before a PSN may arrive.
type deadline struct {
	before wire.PSN
	until  units.Time
}

// reorderingWindow returns how long to wait.
func (loss *lossRecovery) reorderingWindow() units.Duration {
	return units.Duration(loss.cold().reordering) * units.Nanosecond
}

// add makes the packets before psn wait from now on, unless they already do. It rounds their
// deadline up to a quarter of the window, so that at most five deadlines are ahead.
func (w *deadlines) add(psn wire.PSN, window units.Duration, now units.Time) {
	if w.n > 0 && !psn.After(w.at[w.n-1].before) {
		return
	}
	quarter := units.Time(max(window/4, 1))
	until := (now.Add(window) + quarter - 1) / quarter * quarter
	if w.n == 0 || w.at[w.n-1].until != until && w.n < len(w.at) {
		w.n++
	}
	w.at[w.n-1] = deadline{psn, until}
}

// expired removes and returns the next PSN before which packets have waited long enough.
func (w *deadlines) expired(now units.Time) (before wire.PSN, ok bool) {
	if w.n == 0 || w.at[0].until.After(now) {
		return 0, false
	}
	before = w.at[0].before
	copy(w.at[:], w.at[1:w.n])
	w.n--
	return before, true
}

// next returns the next deadline; 0 means never.
func (w *deadlines) next() units.Time {
	if w.n == 0 {
		return 0
	}
	return w.at[0].until
}

// markExpiredLost marks as lost what has waited long enough.
func (loss *lossRecovery) markExpiredLost(now units.Time) {
	qp := loss.conn()
	l := &loss.recovery.window
	if l.deadlines.n == 0 {
		return
	}
	for before, ok := l.deadlines.expired(now); ok; before, ok = l.deadlines.expired(now) {
		for psn, more := l.overtaken.next(loss.una); more && psn.Before(before); psn,
			more = l.overtaken.next(loss.una) {
			l.overtaken.remove(psn)
			loss.markLost(psn)
		}
	}
	if l.overtaken.isEmpty() {
		l.deadlines.n = 0
	}
	qp.setTimer()
}

// isResentExpired reports whether retransmissions that were overtaken count as lost again.
func (loss *lossRecovery) isResentExpired(now units.Time) bool {
	qp := loss.conn()
	l := &loss.recovery.window
	if loss.cold().reordering == 0 {
		return true
	}
	if l.resentBy == 0 {
		l.resentBy = now.Add(loss.reorderingWindow())
	}
	long := !l.resentBy.After(now)
	if long {
		l.resentBy = 0
	}
	qp.setTimer()
	return long
}

// due reports whether anything has waited long enough.
func (l *reorderWindow) due(now units.Time) bool {
	next := l.earliest(0)
	return next != 0 && !next.After(now)
}

// earliest returns the earlier of at and the next deadline; 0 means never.
func (l *reorderWindow) earliest(at units.Time) units.Time {
	for _, next := range [...]units.Time{l.deadlines.next(), l.resentBy} {
		if next != 0 && (at == 0 || next.Before(at)) {
			at = next
		}
	}
	return at
}
