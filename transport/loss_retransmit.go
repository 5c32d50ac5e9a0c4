package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// retransmit retransmits what a recovery has marked as lost, oldest first, up to quantum packets.
func (loss *lossRecovery) retransmit(now units.Time, quantum int) (sent int, status sendStatus) {
	qp := loss.conn()
	for ; sent < quantum; sent++ {
		psn, more := loss.recovery.lost.next(loss.una)
		if !more {
			return sent, sendDone
		}
		if loss.recovery.probing && psn != loss.una {
			return sent, sendBlocked
		}
		if qp.cong.hasRate() && sent > 0 { // set by the packet before
			return sent, sendNoRoom
		}
		if status := loss.retransmitPacket(psn, now); status != sendDone {
			return sent, status
		}
	}
	return sent, sendNoRoom
}

// retransmitPacket retransmits the packet psn, or requests the lost responses from psn on again.
func (loss *lossRecovery) retransmitPacket(psn wire.PSN, now units.Time) sendStatus {
	qp := loss.conn()
	rec, i := loss.recovery, qp.snd.locate(psn)
	slot := qp.snd.slot(i)
	w := qp.snd.at(i)
	k, n := uint32(psn.Sub(w.first)), uint32(1)
	if w.op.hasResponse() {
		n = loss.missingResponses(psn)
	}
	size := uint32(qp.snd.span(w, k, k+n))
	if !loss.hasRoomAgain(psn, min(size, qp.mtu)) || qp.adm != nil && !w.op.hasResponse() &&
		!qp.adm.admits(w, k, true,
			now) {
		return sendBlocked
	}
	var status sendStatus
	if w.op.hasResponse() {
		status = qp.snd.buildRead(w, slot, k, size)
	} else {
		status = qp.snd.buildData(w, slot, k, true)
	}
	if status == sendFailed {
		qp.failAt(i, StatusLocProtErr, AsyncQPFatal)
	}
	if status != sendDone {
		return status
	}
	if t := qp.ep.trace; t != nil {
		t.onResent(qp, psn, w, n, size)
	}
	for p := psn; n > 0 && within(loss.una, p); n-- {
		if rec.lost.has(p) {
			rec.lost.remove(p)
			size := qp.snd.size(p)
			loss.inFlight += size
			if w.op.hasResponse() {
				qp.adm.addReadInFlight(size)
			}
		}
		rec.resent.add(p)
		if qp.adm != nil {
			rec.recentResends.add(p, max(qp.adm.roundTrip(), loss.reorderingWindow()), now)
			qp.adm.onResent(p)
		}
		p = p.Add(1)
	}
	rec.resendMax, rec.overtaken, rec.window.resentBy = loss.sndMax, false, 0
	qp.snd.count(size)
	loss.cold().retransmitted++
	qp.ep.counters.Retransmitted++
	qp.cong.onSent(size)
	if psn == loss.una {
		loss.startTimer(now)
	}
	if qp.cong.expects(cc.TX) {
		qp.cong.report(cc.Event{Kind: cc.TX, PSN: uint32(psn), Packets: 1,
			Bytes: units.Bytes(size)},
			now)
	}
	return sendDone
}

// hasRoomAgain reports whether the window admits the retransmission of psn, of size bytes. The
// oldest packet is always admitted (RFC 6675, section 5, step 4.3): what fills the window may be
// responses that the peer does not send before it has that packet.
func (loss *lossRecovery) hasRoomAgain(psn wire.PSN, size uint32) bool {
	return psn == loss.una || loss.conn().cong.hasRoom(size)
}

// missingResponses returns how many responses from psn on to request again, in one request. A
// request that the responder may never have received is repeated unchanged.
func (loss *lossRecovery) missingResponses(psn wire.PSN) (n uint32) {
	qp := loss.conn()
	rec, end := loss.recovery, qp.snd.readEnd(psn)
	if !psn.Before(rec.executed) {
		return uint32(end.Sub(psn))
	}
	qp.ep.counters.ResponseGaps++
	limit := qp.snd.readRoom()
	for n = 1; n < limit; n++ {
		if p := psn.Add(n); p == end || !within(loss.una, p) || !rec.lost.has(p) {
			break
		}
	}
	return n
}
