package transport

import (
	"math/bits"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// recovery is what a requester knows of its outstanding packets since one was lost or came out of
// order, toward a peer that acknowledges selectively. It is the loss recovery of IRN (Mittal et
// al., "Revisiting Network Support for RDMA", SIGCOMM 2018, section 3.1): a packet is lost when one
// behind it has arrived, and what is lost is sent again, once, before anything new.
//
// A PSN is answered when the SEND or WRITE has arrived at the responder, or when the response of
// the READ or atomic has arrived here: that is what it waits for. Otherwise it is under way, or
// lost, or sent again and under way. What is under way counts as in flight.
//
// A queue pair borrows one from its endpoint for as long as it needs it.
type recovery struct {
	answered psnSet
	lost     psnSet // to be sent again
	again    psnSet // sent again, under way
	asked    psnSet // not answered, but the responder has the READ or atomic
	recent   again  // which of them not long ago
	late     late   // what may yet come

	known  wire.PSN // the responder has executed everything before it
	marked wire.PSN // and up to here that is in the sets
	until  wire.PSN // sndMax when congestion control last heard of a loss
	round  wire.PSN // sndMax when something was last sent again

	overtaken bool // what was sent again, by something that was first sent after it
	probing   bool // only the oldest is sent again: its answer will tell what else is missing

	left    stamp  // of the newest packet of those that are
	packets uint32 // answered, not yet reported to congestion control
	bytes   units.Bytes

	behind units.Bytes // that una has not passed, though they are answered
	read   units.Bytes // of it: of READs and atomics
	gone   units.Bytes // that were lost, and the gate was not told of
}

// selective says whether the peer and we have agreed to repeat selectively.
func (qp *QueuePair) selective() bool { return qp.sackBits > 0 }

// beginRecovery begins a recovery, unless there is one.
func (qp *QueuePair) beginRecovery() *recovery {
	r := &qp.req
	if r.recovery == nil {
		r.recovery = qp.ep.recoveries.borrow()
		*r.recovery = recovery{known: r.una, marked: r.una, until: r.una, round: r.sndMax}
	}
	return r.recovery
}

func (qp *QueuePair) endRecovery() {
	if r := &qp.req; r.recovery != nil {
		qp.ep.recoveries.giveBack(r.recovery)
		r.recovery = nil
		if r.una == r.sndMax {
			qp.dropStamps()
		}
	}
}

// receiveExtension handles a packet of our own extension.
func (qp *QueuePair) receiveExtension(p *wire.Packet) {
	c := &qp.ep.counters
	switch {
	case p.Op == wire.SRC:
		qp.receiveSRC(p)
	case qp.recvTag == 0 || p.Op == wire.XDATA && qp.limits.reads == 0 || p.Op <= wire.ProbeAck &&
		!qp.limits.probes,
		(p.Op == wire.RTS || p.Op == wire.Token) && (qp.adm == nil || !qp.adm.tokens),
		p.Op == wire.CREDIT && (qp.adm == nil || !qp.adm.credits.agreed):
		c.DropUnnegotiated++
	case p.XCH().Tag() != qp.recvTag:
		c.DropTag++
	case p.Op == wire.XDATA:
		qp.receiveXDATA(p)
	case p.Op == wire.Probe:
		qp.receiveProbe(p)
	case p.Op == wire.ProbeAck:
		qp.receiveProbeAck(p)
	case p.Op == wire.RTS || p.Op == wire.Token:
		qp.receiveNotice(p)
	case p.Op == wire.CREDIT:
		qp.receiveCredit(p)
	default:
		qp.receiveAck(p)
	}
}

// receiveSACK takes in an ACK of everything before end that also says what has come behind the gap
// at end. Each says all that the responder knew, so an older one says nothing.
func (qp *QueuePair) receiveSACK(in *ackInfo) {
	e, r, end, top := qp.ep, &qp.req, in.end, in.sack.Top()
	rec := qp.beginRecovery()
	switch {
	case top == 0 || !end.Add(uint32(top)).Before(r.sndMax): // of what was never sent
		e.counters.DropSACK++
		top = 0
	case end.Before(rec.known):
		e.counters.DropStaleAck++
		top = 0
	default:
		e.counters.SelectiveAcks++
	}
	qp.executed(end, in)
	if top > 0 && within(r.una, end) {
		qp.takeSACK(end, in.sack, min(top, psnWindow-1-int(end.Sub(r.una))))
	}
	qp.settle(in)
}

// takeSACK takes the packets behind end as answered or lost, as the first bits of sack say.
func (qp *QueuePair) takeSACK(end wire.PSN, sack wire.SACK, top int) {
	rec, patient := qp.req.recovery, qp.req.reordering > 0
	if !patient || rec.answered.has(end) {
		qp.takeBack(end)
	} else {
		rec.late.psns.add(end)
	}
	for i := range (top + 63) / 64 {
		first, here := end.Add(uint32(1+64*i)), sack.Word(i)
		for news := rec.news(first, here, top-64*i, patient); news != 0; news &= news - 1 {
			bit := bits.TrailingZeros64(news)
			psn := first.Add(uint32(bit))
			switch came := here>>bit&1 != 0; {
			case !came && patient:
				rec.late.psns.add(psn)
			case !came:
				qp.lose(psn)
			case qp.request(psn).op.answered():
				rec.late.psns.remove(psn)
				rec.asked.add(psn)
			default:
				qp.answer(psn)
			}
		}
	}
	if patient {
		rec.late.waits.add(end.Add(uint32(top)), qp.patience(), qp.ep.now)
	}
}

// news returns of which of the 64 PSNs from first on, but at most n, a SACK says something that is
// not known: here are those that have come. A peer may repeat a SACK as often as it likes, and only
// news cost more than a look at each word.
func (rec *recovery) news(first wire.PSN, here uint64, n int, patient bool) uint64 {
	inside := ^uint64(0)
	if n < 64 {
		inside = 1<<n - 1
	}
	late := rec.late.psns.word64(first)
	came := here &^ (rec.asked.word64(first) &^ late)
	missing := ^here
	if patient {
		missing &^= late
	} else {
		missing &^= rec.lost.word64(first) | rec.again.word64(first)
	}
	return (came | missing) & inside &^ rec.answered.word64(first)
}

// within says whether psn is less than a window ahead of una.
func within(una, psn wire.PSN) bool { return uint32(psn.Sub(una)) < psnWindow }

// locate finds which of the outstanding requests psn belongs to.
func (qp *QueuePair) locate(psn wire.PSN) (i uint32) {
	r := &qp.req
	if w := &qp.send[r.done&r.mask]; psn.Before(w.first.Add(w.packets)) {
		return r.done // most of the time
	}
	low, high := r.done, r.begun // it is at low or behind, and before high
	for high-low > 1 {
		mid := low + (high-low)/2
		if psn.Before(qp.send[mid&r.mask].first) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// has says whether psn, which is not before una, is answered. Without a recovery nothing is.
func (rec *recovery) has(psn, una wire.PSN) bool {
	return rec != nil && within(una, psn) && rec.answered.has(psn)
}

// request answers the outstanding request that psn belongs to.
func (qp *QueuePair) request(psn wire.PSN) *sendWQE { return &qp.send[qp.locate(psn)&qp.req.mask] }

// size answers how many bytes of payload psn carries, or asks for.
func (qp *QueuePair) size(psn wire.PSN) units.Bytes {
	_, size := qp.part(psn)
	return size
}

// part returns the outstanding request that psn belongs to, and how many bytes of its payload psn
// carries, or asks for.
func (qp *QueuePair) part(psn wire.PSN) (w *sendWQE, size units.Bytes) {
	w = qp.request(psn)
	k := uint32(psn.Sub(w.first))
	return w, qp.span(w, k, k+1)
}

// landed takes size bytes of w out of what is in flight.
func (qp *QueuePair) landed(w *sendWQE, size units.Bytes) {
	qp.req.inFlight = max(0, qp.req.inFlight-size)
	if w.op.answered() {
		qp.adm.asks(-size)
	}
}

// answer takes psn as answered.
func (qp *QueuePair) answer(psn wire.PSN) {
	r := &qp.req
	rec := r.recovery
	if rec.answered.has(psn) {
		return
	}
	w, size := qp.part(psn)
	rec.answered.add(psn)
	rec.asked.remove(psn)
	rec.late.psns.remove(psn)
	rec.behind += size
	if w.op.answered() {
		rec.read += size
	}
	if rec.lost.has(psn) {
		rec.lost.remove(psn)
	} else {
		rec.again.remove(psn)
		qp.landed(w, size)
	}
	if left := r.sent(psn); left.at != 0 {
		rec.left = left
	}
	rec.packets++
	rec.bytes += size
	if !psn.Before(rec.round) {
		rec.overtaken = true
	}
}

// lose takes psn as lost, when it was under way for the first time.
func (qp *QueuePair) lose(psn wire.PSN) {
	r := &qp.req
	rec := r.recovery
	if rec.answered.has(psn) || rec.lost.has(psn) || rec.again.has(psn) {
		return
	}
	w, size := qp.part(psn)
	rec.lost.add(psn)
	rec.asked.remove(psn)
	rec.late.psns.remove(psn)
	rec.gone += size
	qp.landed(w, size)
	r.unstamp(psn, 1)
}

// takeBack takes psn, the packet that the responder expects, as lost whatever it said before: it
// had the packet, but was not ready for it when its turn came, and dropped it.
func (qp *QueuePair) takeBack(psn wire.PSN) {
	rec := qp.req.recovery
	if rec.answered.has(psn) && !qp.request(psn).op.answered() {
		rec.answered.remove(psn)
		rec.lost.add(psn)
		rec.behind -= qp.size(psn)
		rec.gone += qp.size(psn)
	}
	qp.lose(psn)
}

// heedDropped takes what was behind end as lost, where an ACK that tells of nothing there
// acknowledges up to a packet which had arrived: the responder needed its buffers, and dropped all
// that it held.
func (qp *QueuePair) heedDropped(end wire.PSN) {
	r := &qp.req
	rec := r.recovery
	if end.Before(rec.known) || !within(r.una, end) || !end.Before(r.sndMax) ||
		!rec.answered.has(end) && !rec.asked.has(end) {
		return
	}
	qp.takeBackFrom(end)
}

// takeBackFrom takes all from psn on as lost that had arrived: the responder holds nothing.
func (qp *QueuePair) takeBackFrom(psn wire.PSN) {
	r := &qp.req
	for ; psn.Before(r.sndMax) && within(r.una, psn); psn = psn.Add(1) {
		if r.recovery.answered.has(psn) || r.recovery.asked.has(psn) {
			qp.takeBack(psn)
		}
	}
}

// executed notes that the responder has executed everything before end. It sends responses before
// it acknowledges what is behind them: those that are not here are lost.
func (qp *QueuePair) executed(end wire.PSN, in *ackInfo) {
	r := &qp.req
	rec, before := r.recovery, r.una
	if end.After(rec.known) {
		rec.known = end
	}
	for moved := true; moved; {
		for rec.marked.Before(rec.known) && within(r.una, rec.marked) {
			if qp.request(rec.marked).op.answered() {
				qp.lose(rec.marked)
			} else {
				qp.answer(rec.marked)
			}
			rec.marked = rec.marked.Add(1)
		}
		moved = qp.advance()
	}
	if r.una != before {
		rec.probing = false
		qp.progressed(0, 0, in)
	}
}

// advance completes what is answered, in order, and answers whether there was anything. A SEND or
// WRITE that has arrived is not complete before it was executed: it may yet be refused.
func (qp *QueuePair) advance() bool {
	r := &qp.req
	rec, before := r.recovery, r.una
	for r.done != r.begun {
		w := &qp.send[r.done&r.mask]
		last := w.first.Add(w.packets)
		for r.una != last && rec.answered.has(r.una) &&
			(w.op.answered() || r.una.Before(rec.known)) {
			rec.answered.remove(r.una)
			k := uint32(r.una.Sub(w.first))
			size := qp.span(w, k, k+1)
			rec.behind -= size
			if w.op.answered() {
				rec.read -= size
			}
			r.una = r.una.Add(1)
		}
		if r.una != last {
			break
		}
		r.done++
		qp.complete(w, StatusSuccess)
	}
	if rec.known.Before(r.una) {
		rec.known = r.una
	}
	if rec.marked.Before(r.una) {
		rec.marked = r.una
	}
	return r.una != before
}

// settle draws the conclusions from what was learned, and ends the recovery when nothing is
// missing any more.
func (qp *QueuePair) settle(in *ackInfo) {
	r, now := &qp.req, in.now
	rec := r.recovery
	qp.executed(r.una, in)
	qp.loseLate(now)
	if rec.overtaken && qp.overtakenLongAgo(now) && !qp.loseAgain() {
		return
	}
	if rec.packets > 0 {
		packets, size := rec.packets, rec.bytes
		rec.packets, rec.bytes = 0, 0
		qp.sample(packets, size, in)
	}
	if rec.gone > 0 {
		lost := rec.gone
		rec.gone = 0
		qp.tellLost(lost)
	}
	missing := !rec.lost.empty() || !rec.again.empty()
	if missing && !rec.until.After(r.una) && !r.rnrWait { // one signal for a window
		rec.until = r.sndMax
		qp.report(cc.Event{Kind: cc.OOO, PSN: uint32(r.una)}, now)
	}
	if !missing && rec.answered.empty() && rec.late.psns.empty() && !rec.until.After(r.una) {
		qp.endRecovery()
	}
	if missing || r.next != r.posted { // there may be room for more
		qp.ep.activate(qp)
	}
}

// loseAgain takes what was sent again and still is not answered as lost once more. To lose the
// oldest packet again costs a retry; false means that there was none left.
func (qp *QueuePair) loseAgain() bool {
	r := &qp.req
	rec := r.recovery
	rec.overtaken = false
	if rec.again.has(r.una) {
		if r.retriesLeft == 0 {
			qp.ep.counters.RetriesExceeded++
			qp.failHead(StatusRetryExcErr)
			return false
		}
		r.retriesLeft--
	}
	for psn, more := rec.again.next(r.una); more; psn, more = rec.again.next(psn) {
		rec.again.remove(psn)
		qp.lose(psn)
	}
	return true
}

// loseAll takes everything outstanding that is not known to have arrived as lost.
func (qp *QueuePair) loseAll() {
	r := &qp.req
	for psn := r.una; psn != r.sndMax && within(r.una, psn); psn = psn.Add(1) {
		qp.lose(psn)
	}
}

// probe begins again after a silence: everything is taken as lost, but only the oldest packet is
// sent at first (IRN section 3.1). Its answer tells which others arrived.
func (qp *QueuePair) probe() {
	r := &qp.req
	rec := qp.beginRecovery()
	rec.again, rec.late = psnSet{}, late{}
	qp.takeBack(r.una)
	qp.loseAll()
	r.inFlight = 0
	qp.adm.asksNothing()
	rec.until, rec.probing = r.sndMax, true
	lost := rec.gone
	rec.gone = 0
	qp.tellLost(lost)
}
