package transport

import (
	"math/bits"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
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
// A queue pair borrows one from its endpoint for as long as it needs it.
type recovery struct {
	answered      psnSet
	lost          psnSet        // to be retransmitted
	resent        psnSet        // retransmitted, in flight
	executedReads psnSet        // not answered, though the responder has the READ or atomic
	recentResends recentResends // those of resent that left recently
	window        reorderWindow // what may still arrive

	known  wire.PSN // the responder has executed everything before it
	marked wire.PSN // the sets are up to date before it
	until  wire.PSN // sndMax when a loss was last reported to congestion control
	round  wire.PSN // sndMax at the last retransmission

	overtaken bool // a packet first sent after a retransmission has overtaken it
	probing   bool // only the oldest is retransmitted, until its answer shows what else is missing

	left    sendTime    // send time of the newest of the packets
	packets uint32      // answered, not yet reported to congestion control
	bytes   units.Bytes // their payload

	behind units.Bytes // bytes that are answered, though una has not passed them
	read   units.Bytes // of these, bytes of READs and atomics
	gone   units.Bytes // bytes that were lost, and not reported to the gate
}

// reach returns how many PSNs may be outstanding.
func (qp *QueuePair) reach() int32 {
	if qp.isSelective() {
		return int32(qp.sackBits)
	}
	return maxOutstanding
}

// isSelective reports whether the peer and we have agreed on selective repeat.
func (qp *QueuePair) isSelective() bool { return qp.sackBits > 0 }

// beginRecovery returns the recovery in progress, or begins one.
func (loss *lossRecovery) beginRecovery() *recovery {
	qp := loss.conn()
	if loss.recovery == nil {
		loss.recovery = qp.ep.recoveries.borrow()
		*loss.recovery = recovery{known: loss.una, marked: loss.una, until: loss.una,
			round: loss.sndMax}
	}
	return loss.recovery
}

func (loss *lossRecovery) endRecovery() {
	qp := loss.conn()
	if loss.recovery != nil {
		qp.ep.recoveries.giveBack(loss.recovery)
		loss.recovery = nil
		if loss.una == loss.sndMax {
			qp.cong.dropSendTimes()
		}
	}
}

// receiveExtension handles a packet of our extension.
func (qp *QueuePair) receiveExtension(p *wire.Packet) {
	c := &qp.ep.counters
	switch {
	case p.Op == wire.SRC:
		qp.cong.receiveSRC(p)
	case qp.recvTag == 0 || p.Op == wire.XDATA && !qp.rcv.expectsXDATA() || p.Op <= wire.ProbeAck &&
		!qp.cong.hasProbes(),
		(p.Op == wire.RTS || p.Op == wire.Token) && !qp.adm.hasTokens(),
		p.Op == wire.CREDIT && !qp.adm.hasCredits():
		c.DropUnnegotiated++
	case p.XCH().Tag.Get() != qp.recvTag:
		c.DropTag++
	case p.Op == wire.XDATA:
		qp.rcv.receiveXDATA(p)
	case p.Op == wire.Probe:
		qp.cong.receiveProbe(p)
	case p.Op == wire.ProbeAck:
		qp.cong.receiveProbeAck(p)
	case p.Op == wire.RTS || p.Op == wire.Token:
		qp.adm.receiveControl(p)
	case p.Op == wire.CREDIT:
		qp.adm.receiveCredit(p)
	default:
		qp.loss.receiveAck(p)
	}
}

// receiveSACK handles an ACK of everything before end that also reports what has arrived behind the
// gap at end. Each reports all that the responder has, so an older one adds nothing.
func (loss *lossRecovery) receiveSACK(in *ackInfo) {
	qp := loss.conn()
	e, end, top := qp.ep, in.end, in.sack.Top()
	rec := loss.beginRecovery()
	switch {
	case top == 0 || !end.Add(uint32(top)).Before(loss.sndMax): // of packets never sent
		e.counters.DropSACK++
		top = 0
	case end.Before(rec.known):
		e.counters.DropStaleAck++
		top = 0
	default:
		e.counters.SelectiveAcks++
	}
	loss.onExecuted(end, in)
	if top > 0 && within(loss.una, end) {
		loss.takeSACK(end, in.sack, min(top, psnWindow-1-int(end.Sub(loss.una))))
	}
	loss.update(in)
}

// takeSACK marks the packets behind end as answered or lost, as the first top bits of sack report.
func (loss *lossRecovery) takeSACK(end wire.PSN, sack extension.SACK, top int) {
	qp := loss.conn()
	rec, patient := loss.recovery, loss.cold().reordering > 0
	if !patient || rec.answered.has(end) {
		loss.markLostAfterAll(end)
	} else {
		rec.window.overdue.add(end)
	}
	for i := range (top + 63) / 64 {
		first, here := end.Add(uint32(1+64*i)), sack.Word(i)
		for news := rec.news(first, here, top-64*i, patient); news != 0; news &= news - 1 {
			bit := bits.TrailingZeros64(news)
			psn := first.Add(uint32(bit))
			switch came := here>>bit&1 != 0; {
			case !came && patient:
				rec.window.overdue.add(psn)
			case !came:
				loss.markLost(psn)
			case qp.snd.request(psn).op.hasResponse():
				rec.window.overdue.remove(psn)
				rec.executedReads.add(psn)
			default:
				loss.markAnswered(psn)
			}
		}
	}
	if patient {
		rec.window.deadlines.add(end.Add(uint32(top)), loss.reorderingWindow(), qp.ep.now)
	}
}

// news returns about which of the 64 PSNs from first on, at most n, a SACK reports something new;
// here is those that have arrived. A peer may repeat a SACK as often as it likes: only news cost
// more than a look at each word.
func (rec *recovery) news(first wire.PSN, here uint64, n int, patient bool) uint64 {
	inside := ^uint64(0)
	if n < 64 {
		inside = 1<<n - 1
	}
	late := rec.window.overdue.word64(first)
	came := here &^ (rec.executedReads.word64(first) &^ late)
	missing := ^here
	if patient {
		missing &^= late
	} else {
		missing &^= rec.lost.word64(first) | rec.resent.word64(first)
	}
	return (came | missing) & inside &^ rec.answered.word64(first)
}

// within reports whether psn is less than a window ahead of una.
func within(una, psn wire.PSN) bool { return uint32(psn.Sub(una)) < psnWindow }

// locate finds which of the outstanding requests psn belongs to.
func (snd *sender) locate(psn wire.PSN) (i uint32) {
	if w := snd.at(snd.done); psn.Before(w.first.Add(w.packets)) {
		return snd.done // the common case
	}
	low, high := snd.done, snd.begun // it is at low or behind, and before high
	for high-low > 1 {
		mid := low + (high-low)/2
		if psn.Before(snd.at(mid).first) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// isAnswered reports whether psn, which is not before una, is answered. It returns false without a
// recovery.
func (rec *recovery) isAnswered(psn, una wire.PSN) bool {
	return rec != nil && within(una, psn) && rec.answered.has(psn)
}

// request returns the outstanding request that psn belongs to.
func (snd *sender) request(psn wire.PSN) *sendWQE { return snd.at(snd.locate(psn)) }

// size returns how many bytes of payload psn carries, or asks for.
func (snd *sender) size(psn wire.PSN) units.Bytes {
	_, size := snd.part(psn)
	return size
}

// part returns the outstanding request to which psn belongs, and how many bytes of its payload psn
// carries, or asks for.
func (snd *sender) part(psn wire.PSN) (w *sendWQE, size units.Bytes) {
	w = snd.request(psn)
	k := uint32(psn.Sub(w.first))
	return w, snd.span(w, k, k+1)
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
	rec.window.overdue.remove(psn)
	rec.behind += size
	if w.op.hasResponse() {
		rec.read += size
	}
	if rec.lost.has(psn) {
		rec.lost.remove(psn)
	} else {
		rec.resent.remove(psn)
		loss.removeFromFlight(w, size)
	}
	if left := qp.cong.sendTime(psn); left.at != 0 {
		rec.left = left
	}
	rec.packets++
	rec.bytes += size
	if !psn.Before(rec.round) {
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
	rec.window.overdue.remove(psn)
	rec.gone += size
	loss.removeFromFlight(w, size)
	qp.cong.forgetSendTimes(psn, 1)
}

// markLostAfterAll marks psn, the packet that the responder expects, as lost even if it was
// reported as arrived: the responder was not ready for it when its turn came, and dropped it.
func (loss *lossRecovery) markLostAfterAll(psn wire.PSN) {
	qp := loss.conn()
	rec := loss.recovery
	if rec.answered.has(psn) && !qp.snd.request(psn).op.hasResponse() {
		rec.answered.remove(psn)
		rec.lost.add(psn)
		rec.behind -= qp.snd.size(psn)
		rec.gone += qp.snd.size(psn)
	}
	loss.markLost(psn)
}

// onBufferDropped marks what was behind end as lost if an ACK without a SACK acknowledges up to a
// packet which had arrived: the responder needed its buffers, and dropped all that it held.
func (loss *lossRecovery) onBufferDropped(end wire.PSN) {
	rec := loss.recovery
	if end.Before(rec.known) || !within(loss.una, end) || !end.Before(loss.sndMax) ||
		!rec.answered.has(end) && !rec.executedReads.has(end) {
		return
	}
	loss.markLostFrom(end)
}

// markLostFrom marks as lost all that had arrived from psn on: the responder holds nothing.
func (loss *lossRecovery) markLostFrom(psn wire.PSN) {
	for ; psn.Before(loss.sndMax) && within(loss.una, psn); psn = psn.Add(1) {
		if loss.recovery.answered.has(psn) || loss.recovery.executedReads.has(psn) {
			loss.markLostAfterAll(psn)
		}
	}
}

// onExecuted records that the responder has executed everything before end. It sends responses
// before it acknowledges what is behind them: responses that have not arrived are lost.
func (loss *lossRecovery) onExecuted(end wire.PSN, in *ackInfo) {
	qp := loss.conn()
	rec, before := loss.recovery, loss.una
	if end.After(rec.known) {
		rec.known = end
	}
	for moved := true; moved; {
		for rec.marked.Before(rec.known) && within(loss.una, rec.marked) {
			if qp.snd.request(rec.marked).op.hasResponse() {
				loss.markLost(rec.marked)
			} else {
				loss.markAnswered(rec.marked)
			}
			rec.marked = rec.marked.Add(1)
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
			(w.op.hasResponse() || loss.una.Before(rec.known)) {
			rec.answered.remove(loss.una)
			k := uint32(loss.una.Sub(w.first))
			size := qp.snd.span(w, k, k+1)
			rec.behind -= size
			if w.op.hasResponse() {
				rec.read -= size
			}
			loss.una = loss.una.Add(1)
		}
		if loss.una != last {
			break
		}
		qp.snd.finishOldest(StatusSuccess)
	}
	if rec.known.Before(loss.una) {
		rec.known = loss.una
	}
	if rec.marked.Before(loss.una) {
		rec.marked = loss.una
	}
	return loss.una != before
}

// update acts on what was learned, and ends the recovery when nothing is missing any more.
func (loss *lossRecovery) update(in *ackInfo) {
	qp := loss.conn()
	now := in.now
	rec := loss.recovery
	loss.onExecuted(loss.una, in)
	loss.markOverdueLost(now)
	if rec.overtaken && loss.isResentOverdue(now) && !loss.markResentLost() {
		return
	}
	if rec.packets > 0 {
		packets, size := rec.packets, rec.bytes
		rec.packets, rec.bytes = 0, 0
		qp.cong.sample(packets, size, in)
	}
	if rec.gone > 0 {
		lost := rec.gone
		rec.gone = 0
		qp.adm.onLost(lost)
	}
	missing := !rec.lost.isEmpty() || !rec.resent.isEmpty()
	if missing && !rec.until.After(loss.una) && !loss.rnrWait { // one signal for each window
		rec.until = loss.sndMax
		qp.cong.report(cc.Event{Kind: cc.OOO, PSN: uint32(loss.una)}, now)
	}
	if !missing && rec.answered.isEmpty() && rec.window.overdue.isEmpty() &&
		!rec.until.After(loss.una) {
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
	loss.markLostAfterAll(loss.una)
	loss.markAllLost()
	loss.inFlight = 0
	qp.adm.clearReadInFlight()
	rec.until, rec.probing = loss.sndMax, true
	lost := rec.gone
	rec.gone = 0
	qp.adm.onLost(lost)
}
