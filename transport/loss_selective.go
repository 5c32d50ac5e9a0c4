package transport

import (
	"math/bits"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// recovery is a requester's state of its outstanding packets since one was lost or arrived out of
// order, toward a peer with selective acknowledgements. It is the loss recovery of IRN (Mittal et
// al., "Revisiting Network Support for RDMA", SIGCOMM 2018, section 3.1): a packet is lost when one
// behind it has arrived, and lost packets are retransmitted, once, before anything new.
//
// A PSN is answered when the SEND or WRITE has arrived at the responder, or when the response of
// the READ or atomic has arrived here. Otherwise it is in flight, or lost, or retransmitted and in
// flight again.
//
// A queue pair takes one from its endpoint's pool for as long as it needs it.
type recovery struct {
	answered      psnSet
	lost          psnSet        // to be retransmitted
	resent        psnSet        // retransmitted, in flight
	executedReads psnSet        // not answered, though the responder has the READ or atomic
	recentResends recentResends // those of resent that left recently
	window        reorderWindow // what may still arrive

	executed      wire.PSN // the responder has executed everything before it
	updated       wire.PSN // the sets are up to date before it
	recoveryPoint wire.PSN // sndMax when a loss was last reported to congestion control
	resendMax     wire.PSN // sndMax at the last retransmission

	overtaken bool // a packet first sent after a retransmission has overtaken it
	probing   bool // only the oldest is retransmitted, until its answer shows what else is missing

	newestSent sendTime    // send time of the newest of the packets
	packets    uint32      // answered, not yet reported to congestion control
	bytes      units.Bytes // their payload

	sacked      units.Bytes // bytes that are answered, though una has not passed them
	sackedReads units.Bytes // of these, bytes of READs and atomics
	newlyLost   units.Bytes // bytes that were lost, and not reported to the gate
}

// beginRecovery returns the recovery in progress, or begins one.
func (loss *lossRecovery) beginRecovery() *recovery {
	qp := loss.conn()
	if loss.recovery == nil {
		loss.recovery = qp.ep.recoveries.get()
		*loss.recovery = recovery{executed: loss.una, updated: loss.una, recoveryPoint: loss.una,
			resendMax: loss.sndMax}
	}
	return loss.recovery
}

func (loss *lossRecovery) endRecovery() {
	qp := loss.conn()
	if loss.recovery != nil {
		qp.ep.recoveries.put(loss.recovery)
		loss.recovery = nil
		if loss.una == loss.sndMax {
			qp.cong.dropSendTimes()
		}
	}
}

// receiveSACK handles an ACK of everything before end that also reports what has arrived behind the
// gap at end. Each reports all that the responder has, so an older one adds nothing.
func (loss *lossRecovery) receiveSACK(in *ackInfo) {
	qp := loss.conn()
	e, end, top := qp.ep, in.end, in.sack.Top()
	e.trace.because(trace.LostSACK)
	rec := loss.beginRecovery()
	switch {
	case top == 0 || !end.Add(uint32(top)).Before(loss.sndMax): // of packets never sent
		e.counters.DropSACK++
		top = 0
	case end.Before(rec.executed):
		e.counters.DropStaleAck++
		top = 0
	default:
		e.counters.SelectiveAcks++
	}
	loss.onExecuted(end, in)
	if top > 0 && within(loss.una, end) {
		loss.applySACK(end, in.sack, min(top, psnWindow-1-int(end.Sub(loss.una))))
	}
	loss.update(in)
}

// applySACK marks the packets behind end as answered or lost, as the first top bits of sack report.
func (loss *lossRecovery) applySACK(end wire.PSN, sack extension.SACK, top int) {
	qp := loss.conn()
	rec, reordering := loss.recovery, loss.cold().reordering > 0
	if !reordering || rec.answered.has(end) {
		loss.markReneged(end)
	} else {
		rec.window.overtaken.add(end)
	}
	for i := range (top + 63) / 64 {
		first, arrived := end.Add(uint32(1+64*i)), sack.Word(i)
		changes := rec.newlyReported(first, arrived, top-64*i, reordering)
		for ; changes != 0; changes &= changes - 1 {
			bit := bits.TrailingZeros64(changes)
			psn := first.Add(uint32(bit))
			switch hasArrived := arrived>>bit&1 != 0; {
			case !hasArrived && reordering:
				rec.window.overtaken.add(psn)
			case !hasArrived:
				loss.markLost(psn)
			case qp.snd.request(psn).op.hasResponse():
				rec.window.overtaken.remove(psn)
				rec.executedReads.add(psn)
			default:
				loss.markAnswered(psn)
			}
		}
	}
	if reordering {
		rec.window.deadlines.add(end.Add(uint32(top)), loss.reorderingWindow(), qp.ep.now)
	}
}

// newlyReported returns about which of the 64 PSNs from first on, at most n, a SACK reports
// something new; arrived is those that it reports as arrived. A peer may repeat a SACK as often as
// it likes: only changes cost more than a look at each word.
func (rec *recovery) newlyReported(first wire.PSN, arrived uint64, n int, reordering bool) uint64 {
	inside := ^uint64(0)
	if n < 64 {
		inside = 1<<n - 1
	}
	overtaken := rec.window.overtaken.word64(first)
	answered := arrived &^ (rec.executedReads.word64(first) &^ overtaken)
	missing := ^arrived
	if reordering {
		missing &^= overtaken
	} else {
		missing &^= rec.lost.word64(first) | rec.resent.word64(first)
	}
	return (answered | missing) & inside &^ rec.answered.word64(first)
}

// isAnswered reports whether psn, which is not before una, is answered. It returns false without a
// recovery.
func (rec *recovery) isAnswered(psn, una wire.PSN) bool {
	return rec != nil && within(una, psn) && rec.answered.has(psn)
}

// removeFromFlight removes size bytes of w from what is in flight.
func (loss *lossRecovery) removeFromFlight(w *sendWQE, size units.Bytes) {
	qp := loss.conn()
	loss.inFlight = max(0, loss.inFlight-size)
	if w.op.hasResponse() {
		qp.adm.addReadInFlight(-size)
	}
}

// markAnswered marks psn as answered.
func (loss *lossRecovery) markAnswered(psn wire.PSN) {
	qp := loss.conn()
	rec := loss.recovery
	if rec.answered.has(psn) {
		return
	}
	w, size := qp.snd.part(psn)
	rec.answered.add(psn)
	rec.executedReads.remove(psn)
	rec.window.overtaken.remove(psn)
	rec.sacked += size
	if w.op.hasResponse() {
		rec.sackedReads += size
	}
	if rec.lost.has(psn) {
		rec.lost.remove(psn)
	} else {
		rec.resent.remove(psn)
		loss.removeFromFlight(w, size)
	}
	if sent := qp.cong.sendTime(psn); sent.at != 0 {
		rec.newestSent = sent
	}
	rec.packets++
	rec.bytes += size
	if !psn.Before(rec.resendMax) {
		rec.overtaken = true
	}
}

// markLost marks psn as lost if it was in flight for the first time.
func (loss *lossRecovery) markLost(psn wire.PSN) {
	qp := loss.conn()
	rec := loss.recovery
	if rec.answered.has(psn) || rec.lost.has(psn) || rec.resent.has(psn) {
		return
	}
	w, size := qp.snd.part(psn)
	rec.lost.add(psn)
	rec.executedReads.remove(psn)
	rec.window.overtaken.remove(psn)
	rec.newlyLost += size
	loss.removeFromFlight(w, size)
	qp.cong.forgetSendTimes(psn, 1)
	qp.ep.trace.onLost(qp, psn, 1, size)
}

// markReneged marks psn, the packet that the responder expects, as lost even if it was
// reported as arrived: the responder was not ready for it when its turn came, and dropped it.
func (loss *lossRecovery) markReneged(psn wire.PSN) {
	qp := loss.conn()
	rec := loss.recovery
	if rec.answered.has(psn) && !qp.snd.request(psn).op.hasResponse() {
		rec.answered.remove(psn)
		rec.lost.add(psn)
		rec.sacked -= qp.snd.size(psn)
		rec.newlyLost += qp.snd.size(psn)
	}
	loss.markLost(psn)
}

// onBufferDropped marks what was behind end as lost if an ACK without a SACK acknowledges up to a
// packet which had arrived: the responder needed its buffers, and dropped all that it held.
func (loss *lossRecovery) onBufferDropped(end wire.PSN) {
	rec := loss.recovery
	if end.Before(rec.executed) || !within(loss.una, end) || !end.Before(loss.sndMax) ||
		!rec.answered.has(end) && !rec.executedReads.has(end) {
		return
	}
	loss.markLostFrom(end)
}

// markLostFrom marks as lost all that had arrived from psn on: the responder holds nothing.
func (loss *lossRecovery) markLostFrom(psn wire.PSN) {
	for ; psn.Before(loss.sndMax) && within(loss.una, psn); psn = psn.Add(1) {
		if loss.recovery.answered.has(psn) || loss.recovery.executedReads.has(psn) {
			loss.markReneged(psn)
		}
	}
}

// onExecuted records that the responder has executed everything before end. It sends responses
// before it acknowledges what is behind them: responses that have not arrived are lost.
func (loss *lossRecovery) onExecuted(end wire.PSN, in *ackInfo) {
	qp := loss.conn()
	rec, before := loss.recovery, loss.una
	if end.After(rec.executed) {
		rec.executed = end
	}
	for moved := true; moved; {
		for rec.updated.Before(rec.executed) && within(loss.una, rec.updated) {
			if qp.snd.request(rec.updated).op.hasResponse() {
				loss.markLost(rec.updated)
			} else {
				loss.markAnswered(rec.updated)
			}
			rec.updated = rec.updated.Add(1)
		}
		moved = loss.completeAnswered()
	}
	if loss.una != before {
		rec.probing = false
		loss.onProgress(0, 0, in)
	}
}

// completeAnswered completes what is answered, in order, and reports whether there was anything. A
// SEND or WRITE that has arrived is not complete before it was executed: it may still be refused.
func (loss *lossRecovery) completeAnswered() bool {
	qp := loss.conn()
	rec, before := loss.recovery, loss.una
	for qp.snd.hasBegun() {
		w := qp.snd.oldest()
		last := w.first.Add(w.packets)
		for loss.una != last && rec.answered.has(loss.una) &&
			(w.op.hasResponse() || loss.una.Before(rec.executed)) {
			rec.answered.remove(loss.una)
			k := uint32(loss.una.Sub(w.first))
			size := qp.snd.span(w, k, k+1)
			rec.sacked -= size
			if w.op.hasResponse() {
				rec.sackedReads -= size
			}
			loss.una = loss.una.Add(1)
		}
		if loss.una != last {
			break
		}
		qp.snd.finishOldest(StatusSuccess)
	}
	if rec.executed.Before(loss.una) {
		rec.executed = loss.una
	}
	if rec.updated.Before(loss.una) {
		rec.updated = loss.una
	}
	return loss.una != before
}

// update acts on what was learned, and ends the recovery when nothing is missing any more.
func (loss *lossRecovery) update(in *ackInfo) {
	qp := loss.conn()
	now := in.now
	rec := loss.recovery
	loss.onExecuted(loss.una, in)
	loss.markExpiredLost(now)
	if rec.overtaken && loss.isResentExpired(now) && !loss.markResentLost() {
		return
	}
	if rec.packets > 0 {
		packets, size := rec.packets, rec.bytes
		rec.packets, rec.bytes = 0, 0
		qp.cong.sample(packets, size, in)
	}
	if rec.newlyLost > 0 {
		lost := rec.newlyLost
		rec.newlyLost = 0
		qp.adm.onLost(lost)
	}
	missing := !rec.lost.isEmpty() || !rec.resent.isEmpty()
	if missing && !rec.recoveryPoint.After(loss.una) && !loss.rnrWait {
		// one signal for each window
		rec.recoveryPoint = loss.sndMax
		qp.cong.report(cc.Event{Kind: cc.OOO, PSN: uint32(loss.una)}, now)
	}
	if !missing && rec.answered.isEmpty() && rec.window.overtaken.isEmpty() &&
		!rec.recoveryPoint.After(loss.una) {
		loss.endRecovery()
	}
	if missing || qp.snd.hasNext() { // there may be room for more
		qp.ep.scheduleRequests(qp)
	}
}

// markResentLost marks retransmissions that are still not answered as lost again. Losing the oldest
// packet again costs a retry; it returns false if none was left.
func (loss *lossRecovery) markResentLost() bool {
	qp := loss.conn()
	rec := loss.recovery
	rec.overtaken = false
	if rec.resent.has(loss.una) {
		if loss.retriesLeft == 0 {
			qp.ep.counters.RetriesExceeded++
			qp.failHead(StatusRetryExcErr)
			return false
		}
		loss.retriesLeft--
	}
	for psn, more := rec.resent.next(loss.una); more; psn, more = rec.resent.next(psn) {
		rec.resent.remove(psn)
		loss.markLost(psn)
	}
	return true
}

// markResentLostFrom marks retransmissions from psn on as lost again, at no cost of retries.
func (loss *lossRecovery) markResentLostFrom(psn wire.PSN) {
	rec := loss.recovery
	for ; psn.Before(loss.sndMax) && within(loss.una, psn); psn = psn.Add(1) {
		if rec.resent.has(psn) {
			rec.resent.remove(psn)
			loss.markLost(psn)
		}
	}
}

// markAllLost marks everything outstanding as lost that is not known to have arrived.
func (loss *lossRecovery) markAllLost() {
	for psn := loss.una; psn != loss.sndMax && within(loss.una, psn); psn = psn.Add(1) {
		loss.markLost(psn)
	}
}

// probeOldest begins again when nothing is known of what is outstanding: everything is marked as
// lost, but only the oldest packet is retransmitted at first (IRN section 3.1). Its answer shows
// which others arrived.
func (loss *lossRecovery) probeOldest() {
	qp := loss.conn()
	rec := loss.beginRecovery()
	rec.resent, rec.window = psnSet{}, reorderWindow{}
	loss.markReneged(loss.una)
	loss.markAllLost()
	loss.inFlight = 0
	qp.adm.clearReadInFlight()
	rec.recoveryPoint, rec.probing = loss.sndMax, true
	lost := rec.newlyLost
	rec.newlyLost = 0
	qp.adm.onLost(lost)
}
