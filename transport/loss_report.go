package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Packets in a loss report of the peer are lost, as are those that its SACKs show as missing.
// Where the network reorders, they count as lost no sooner than those. A retransmission may have
// left after the report: it counts as lost again only when a round trip has passed since. Packets
// that were trimmed are lost for certain.

// onLossReport handles the loss report in a TOKEN.
func (loss *lossRecovery) onLossReport(t extension.Token) {
	qp := loss.conn()
	if !qp.isSelective() {
		return
	}
	qp.ep.trace.because(trace.LostReport)
	trimmed := t.Flags()&extension.TokenTrimmed != 0
	from := loss.una
	for i := range t.Ranges() {
		first, end := loss.outstandingPart(t.Range(i), from)
		for from = first; from != end; from = from.Add(1) {
			if from == loss.una && !loss.onOldestReportedLost(qp.ep.now) {
				return
			}
			loss.onReportedLost(from, trimmed, qp.ep.now)
		}
	}
	if loss.recovery != nil {
		loss.update(&ackInfo{now: qp.ep.now})
	}
}

// outstandingPart returns the part of a range, from first to before end, that is outstanding and
// not before from. Ranges ascend, so that each packet is looked at once, however often it is
// reported.
func (loss *lossRecovery) outstandingPart(l extension.Range, from wire.PSN) (first, end wire.PSN) {
	una := loss.una
	low := wire.PSN(l.First).Sub(una)
	high := min(low+int32(l.Count), loss.sndMax.Sub(una), psnWindow)
	if low = max(low, from.Sub(una)); low >= high {
		return from, from
	}
	return una.Add(uint32(low)), una.Add(uint32(high))
}

// onOldestReportedLost handles a loss report for the oldest outstanding packet. A peer that reports
// it is alive, so retransmitting it costs no retry. But each timeout for which it stays the oldest
// costs one, or a path that always loses it would be tried for ever. It returns false if no retry
// was left.
func (loss *lossRecovery) onOldestReportedLost(now units.Time) bool {
	qp := loss.conn()
	since, first := qp.adm.reportedFor(loss.una, now)
	switch {
	case first:
		loss.retriesLeft = loss.cold().retries
	case loss.timeout == 0 || since < loss.timeout:
	case loss.retriesLeft == 0:
		qp.ep.counters.RetriesExceeded++
		qp.failHead(StatusRetryExcErr)
		return false
	default:
		loss.retriesLeft--
		qp.adm.restartReport(now)
	}
	return true
}

// onReportedLost marks one outstanding packet as lost, unless it is known to have arrived or to be
// lost, or was retransmitted within a round trip and not trimmed since.
func (loss *lossRecovery) onReportedLost(psn wire.PSN, trimmed bool, now units.Time) {
	qp := loss.conn()
	rec := loss.beginRecovery()
	if rec.answered.has(psn) || rec.lost.has(psn) {
		return
	}
	switch {
	case !rec.resent.has(psn) && loss.cold().reordering > 0 && !trimmed:
		rec.window.overtaken.add(psn)
		rec.window.deadlines.add(psn.Add(1), loss.reorderingWindow(), now)
		return
	case !rec.resent.has(psn):
	case !trimmed && rec.recentResends.isRecent(psn, max(qp.adm.roundTrip(),
		loss.reorderingWindow()), now):
		return
	default:
		rec.resent.remove(psn)
	}
	loss.markLost(psn)
}

// recentResends is the PSNs that were retransmitted within the last one or two round trips: those
// since a time, and those in the round trip before it.
type recentResends struct {
	current, previous psnSet
	currentSince      units.Time // that time
}

// add records that psn is retransmitted.
func (a *recentResends) add(psn wire.PSN, rtt units.Duration, now units.Time) {
	a.roll(rtt, now)
	a.current.add(psn)
	a.previous.remove(psn)
}

func (a *recentResends) isRecent(psn wire.PSN, rtt units.Duration, now units.Time) bool {
	a.roll(rtt, now)
	return a.current.has(psn) || a.previous.has(psn)
}

func (a *recentResends) roll(rtt units.Duration, now units.Time) {
	elapsed := now.Sub(a.currentSince)
	if a.currentSince != 0 && elapsed < rtt {
		return
	}
	a.previous = a.current
	if a.currentSince == 0 || elapsed >= 2*rtt {
		a.previous = psnSet{}
	}
	a.current, a.currentSince = psnSet{}, now
}
