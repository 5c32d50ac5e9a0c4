package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// resend sends again what a recovery takes as lost, oldest first, up to quantum packets.
func (qp *QueuePair) resend(now units.Time, quantum int) (sent int, status sendStatus) {
	r := &qp.req
	for ; sent < quantum; sent++ {
		psn, more := r.recovery.lost.next(r.una)
		if !more {
			return sent, sendDone
		}
		if r.recovery.probing && psn != r.una {
			return sent, sendBlocked
		}
		if r.rate > 0 && sent > 0 { // since the packet before
			return sent, sendNoRoom
		}
		if status := qp.sendAgain(psn, now); status != sendDone {
			return sent, status
		}
	}
	return sent, sendNoRoom
}

// sendAgain sends the packet psn once more, or asks once more for the responses from psn on that
// are lost.
func (qp *QueuePair) sendAgain(psn wire.PSN, now units.Time) sendStatus {
	r := &qp.req
	rec, i := r.recovery, qp.locate(psn)
	slot := i & r.mask
	w := &qp.send[slot]
	k, n := uint32(psn.Sub(w.first)), uint32(1)
	if w.op.answered() {
		n = qp.missing(psn)
	}
	size := uint32(qp.span(w, k, k+n))
	if !r.fits(min(size, qp.mtu)) || qp.adm != nil && !w.op.answered() && !qp.admits(w, k, true,
		now) {
		return sendBlocked
	}
	var status sendStatus
	if w.op.answered() {
		status = qp.buildRead(w, slot, k, size)
	} else {
		status = qp.buildData(w, slot, k, true)
	}
	if status == sendFailed {
		qp.failAt(i, StatusLocProtErr, AsyncQPFatal)
	}
	if status != sendDone {
		return status
	}
	for p := psn; n > 0 && within(r.una, p); n-- {
		if rec.lost.has(p) {
			rec.lost.remove(p)
			size := qp.size(p)
			r.inFlight += size
			if w.op.answered() {
				qp.adm.asks(size)
			}
		}
		rec.again.add(p)
		if qp.adm != nil {
			rec.recent.add(p, max(qp.adm.round.length(), qp.patience()), now)
			qp.adm.round.forget(p)
		}
		p = p.Add(1)
	}
	rec.round, rec.overtaken, rec.late.again = r.sndMax, false, 0
	qp.stats.PacketsSent++
	qp.stats.BytesSent += uint64(size)
	qp.stats.Retransmitted++
	qp.ep.counters.Retransmitted++
	if qp.paced() {
		qp.ep.limiter.Sent(uint32(qp.flow), units.Bytes(size))
	}
	if psn == r.una {
		qp.startTimer(now)
	}
	if qp.wants.Has(cc.TX) {
		qp.report(cc.Event{Kind: cc.TX, PSN: uint32(psn), Packets: 1, Bytes: units.Bytes(size)},
			now)
	}
	return sendDone
}

// missing answers for how many responses from psn on to ask again, in one request. A request that
// the responder may never have seen is repeated as it was.
func (qp *QueuePair) missing(psn wire.PSN) (n uint32) {
	r := &qp.req
	rec, end := r.recovery, qp.asked.end(psn)
	if !psn.Before(rec.known) {
		return uint32(end.Sub(psn))
	}
	qp.ep.counters.ResponseGaps++
	most := qp.readRoom()
	for n = 1; n < most; n++ {
		if p := psn.Add(n); p == end || !within(r.una, p) || !rec.lost.has(p) {
			break
		}
	}
	return n
}
