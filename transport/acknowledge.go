package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiveAck handles an ACK or NAK of our requests (InfiniBand spec 9.7.5.1, 9.7.5.2).
func (qp *QueuePair) receiveAck(p *wire.Packet) {
	e, r := qp.ep, &qp.req
	if qp.state != ReadyToSend && qp.state != SQDrained {
		e.counters.DropState++
		return
	}
	probe := qp.prober != nil && qp.tellsOfProbe()
	if !p.PSN.Before(r.sndMax) {
		if !probe {
			e.counters.DropGhostAck++
		}
		return
	}
	s := p.AETH().Syndrome()
	// A NAK speaks of the packet it names, an ACK of the one before the next.
	end := p.PSN
	if s.IsAck() {
		end = end.Add(1)
	}
	var sack wire.SACK
	if p.Op == wire.XACK {
		if s.IsAck() && qp.selective() {
			sack = p.SACK()
		}
		if t := p.ECNEcho(); t != nil && qp.ecnEcho {
			qp.hearMarks(t.Marked())
		}
		if t := p.INTEcho(); t != nil && qp.limits.hops > 0 {
			e.hearINT(t)
		}
		if t := p.BoltEcho(); t != nil && qp.bolt {
			qp.hearBolt(t.Counts())
		}
		if t := p.Timing(); t != nil && qp.timing {
			qp.hearTiming(t, p.Gap())
		}
		if t := p.Credit(); t != nil && qp.adm != nil && qp.adm.credits.agreed && !qp.hearCredit(t,
			p) {
			return // that ended the queue pair
		}
	}
	if end.Before(r.una) || end == r.una && s.IsAck() && sack == nil {
		if !probe {
			e.counters.DropStaleAck++
		}
		return
	}
	now, before := e.now, r.una
	if sack != nil {
		qp.receiveSACK(end, sack, now)
		return
	}
	if s.IsAck() && r.recovery != nil {
		qp.heedDropped(end)
	}
	if !qp.acknowledge(end, now) {
		return // a READ before it was not answered: that is being repaired first
	}
	switch {
	case s.IsAck():
	case s.IsRNR():
		if r.rnrWait {
			return
		}
		e.counters.RNRNaks++
		qp.stats.RNRNaks++
		qp.waitRNR(s.Code(), now)
	case s.IsNak() && s.Code() == wire.NakPSNSequence:
		if r.rnrWait {
			return // what follows an RNR NAK must not shorten its wait
		}
		e.counters.SequenceNaks++
		qp.stats.SequenceNaks++
		if r.una == before { // another try at the same packet (InfiniBand spec 9.7.5.2.4)
			if r.nakSeen {
				return // a copy: the responder says it once (9.7.5.2.4)
			}
			if qp.triedAgain() {
				if r.retriesLeft == 0 {
					e.counters.RetriesExceeded++
					qp.failHead(StatusRetryExcErr)
					return
				}
				r.retriesLeft--
			}
		}
		r.nakSeen = true
		qp.lostFrom(end, now)
	case s.IsNak() && s.Code() <= wire.NakRemoteOperational:
		e.counters.RemoteErrors++
		qp.failHead(nakStatus[s.Code()])
	default:
		e.counters.DropBadSyndrome++
	}
}

// triedAgain reports whether a NAK of the oldest packet costs a try. Toward a selective responder,
// which may have had the packet and dropped it for others, only that of one that was sent again
// does, as where a SACK tells of it.
func (qp *QueuePair) triedAgain() bool {
	rec := qp.req.recovery
	return !qp.selective() || rec != nil && rec.again.has(qp.req.una)
}

var nakStatus = [...]Status{
	wire.NakInvalidRequest:    StatusRemInvReqErr,
	wire.NakRemoteAccess:      StatusRemAccessErr,
	wire.NakRemoteOperational: StatusRemOpErr,
}

// lostFrom sends again from the packet that the responder misses: it has dropped all behind it.
func (qp *QueuePair) lostFrom(psn wire.PSN, now units.Time) {
	if qp.selective() {
		qp.beginRecovery()
		qp.takeBackFrom(psn)
		qp.loseAll()
		qp.settle(now)
		return
	}
	qp.report(cc.Event{Kind: cc.OOO, PSN: uint32(psn)}, now)
	qp.sendFromOldest()
}

// acknowledge takes everything before end as received. It answers false when a READ or atomic
// stands in the way: the peer went on without our seeing its response, so the response was lost
// and is asked for again (InfiniBand spec 9.7.5.1.4, implied NAK).
func (qp *QueuePair) acknowledge(end wire.PSN, now units.Time) bool {
	r := &qp.req
	if r.recovery != nil {
		qp.executed(end, now)
		qp.settle(now)
		return r.una == end && qp.state != Errored
	}
	var bytes units.Bytes
	before, whole := r.una, true
	for end.After(r.una) && r.done != r.posted {
		w := &qp.send[r.done&r.mask]
		if w.op.answered() {
			whole = false
			break
		}
		last := w.first.Add(w.packets)
		from := uint32(r.una.Sub(w.first))
		if end.Before(last) { // part of a message
			bytes += qp.span(w, from, uint32(end.Sub(w.first)))
			r.una = end
			break
		}
		bytes += qp.span(w, from, w.packets)
		r.una = last
		r.done++
		qp.complete(w, StatusSuccess)
	}
	if r.una != before {
		qp.progressed(uint32(r.una.Sub(before)), bytes, now)
	}
	if !whole {
		qp.responseLost(end, now)
	}
	return whole && qp.state != Errored
}

// span answers the payload bytes of packets from..to of a message.
func (qp *QueuePair) span(w *sendWQE, from, to uint32) units.Bytes {
	return units.Bytes(min(to<<qp.mtuShift, w.length)) - units.Bytes(min(from<<qp.mtuShift,
		w.length))
}

// progressed does what follows when the oldest packets have been answered. Of packets and bytes
// nothing was reported before.
func (qp *QueuePair) progressed(packets uint32, bytes units.Bytes, now units.Time) {
	r := &qp.req
	r.retriesLeft, r.rnrLeft, r.gapSeen, r.nakSeen = r.retries, r.rnrRetries, false, false
	r.probing = false
	if qp.adm != nil {
		qp.adm.heard = now
	}
	qp.asked.answered(r.una)
	if qp.adm != nil {
		qp.adm.round.end(r.una, now)
	}
	if r.sndNxt.Before(r.una) { // it had more than we thought when we went back
		qp.goBack()
	} else {
		r.inFlight = max(0, r.inFlight-bytes)
	}
	if r.rnrWait { // the packet it waits with has been answered after all
		r.rnrWait, r.rnrAt = false, 0
		qp.setTimer()
	}
	if r.una != r.sndMax {
		qp.startTimer(now)
	} else {
		r.rtoAt = 0
		qp.setTimer()
		qp.ep.stake.answered(now)
	}
	if packets > 0 {
		qp.sample(packets, bytes, now)
	}
	if r.una == r.sndMax && r.recovery == nil {
		qp.dropStamps()
	}
	if r.next != r.posted {
		qp.ep.activate(qp)
	}
	qp.noticeDrained()
	if qp.prober != nil {
		qp.probeDrained()
	}
}

// sample tells congestion control of the progress, with a delay when the timed packet is in it: one
// event, of the kind that says most of those that are wanted.
func (qp *QueuePair) sample(packets uint32, bytes units.Bytes, now units.Time) {
	r := &qp.req
	ev := cc.Event{Kind: cc.ACK, PSN: uint32(r.una), Packets: int(packets), Bytes: bytes,
		Marked: int(qp.newMarks(packets))}
	if qp.bolt {
		qp.tellBolt(&ev)
	}
	if n := qp.ep.hopCount; n > 0 {
		ev.INT = qp.ep.hops[:n]
	}
	if ev.Marked > 0 && qp.wants.Has(cc.ECN) {
		ev.Kind = cc.ECN
	}
	left := r.sent(r.una.Add(wire.PSNMask)) // the newest
	if rec := r.recovery; rec != nil {
		left, rec.left = rec.left, stamp{}
	}
	timed := &qp.ep.timed
	if timed.left.at != 0 {
		left = timed.left
	}
	if left.at != 0 && qp.wants.Has(cc.RTT) {
		ev.Kind, ev.Delay = cc.RTT, now.Sub(left.at)
		if timed.left.at != 0 {
			timed.hosts.fill(&ev)
			qp.peerAway.heed(ev.RemoteAway)
			qp.ep.rounds.heed(ev.RemoteAway, now)
			ev.OneWay, ev.Hops = timed.oneWay, timed.hops
		} else { // the peer does not tell its part
			h := qp.ep.here(left.departure)
			h.endpoint = 0
			h.fill(&ev)
		}
	}
	if qp.wants.Has(ev.Kind) {
		qp.report(ev, now)
	}
}

// responseLost asks again for what the oldest READ or atomic still misses, since the responder has
// executed everything before end; once, until something comes: everything behind the gap in the
// same stream looks like a gap again.
func (qp *QueuePair) responseLost(end wire.PSN, now units.Time) {
	if qp.selective() {
		qp.beginRecovery()
		qp.executed(end, now)
		qp.settle(now)
		return
	}
	if qp.req.gapSeen {
		return
	}
	qp.req.gapSeen = true
	qp.ep.counters.ResponseGaps++
	qp.sendFromOldest()
}

// receiveCNP handles a congestion notification packet (annex A17.9.3).
func (qp *QueuePair) receiveCNP(p *wire.Packet) {
	e := qp.ep
	switch {
	case qp.Type == UD || qp.state < ReadyToReceive || qp.state == Errored:
		e.counters.DropState++
	case !p.SrcIs(&qp.tmpl):
		e.counters.DropPeer++
	case !samePartition(p.PKey, qp.pkey):
		e.counters.DropPKey++
	default:
		e.counters.CNPs++
		qp.stats.CNPs++
		qp.report(cc.Event{Kind: cc.CNP, PSN: uint32(qp.req.una)}, e.now)
	}
}
