package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// ackInfo is what an ACK says, as its parsers found it, on its way through the queue pair. Other
// packets that acknowledge, and timers, say nothing but when.
type ackInfo struct {
	now      units.Time
	end      wire.PSN // everything before it is acknowledged
	syndrome wire.Syndrome
	sack     wire.SACK // what came behind end; nil: nothing is said of that
	timed    timed     // a packet of which the peer says how long it was there
	hops     []cc.Hop  // telemetry; valid until the next ACK
}

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
	in := ackInfo{now: e.now, end: p.PSN, syndrome: p.AETH().Syndrome()}
	// A NAK speaks of the packet it names, an ACK of the one before the next.
	if in.syndrome.IsAck() {
		in.end = in.end.Add(1)
	}
	if p.Op == wire.XACK && !qp.parseXACK(p, &in) {
		return // that ended the queue pair
	}
	switch {
	case in.end.Before(r.una) || in.end == r.una && in.syndrome.IsAck() && in.sack == nil:
		if !probe {
			e.counters.DropStaleAck++
		}
	case in.sack != nil:
		qp.receiveSACK(&in)
	default:
		qp.receiveCumulative(&in)
	}
}

// parseXACK finds what an ACK of the extension says beyond a plain one. It returns false when that
// ended the queue pair.
func (qp *QueuePair) parseXACK(p *wire.Packet, in *ackInfo) bool {
	if in.syndrome.IsAck() && qp.selective() {
		in.sack = p.SACK()
	}
	if t := p.ECNEcho(); t != nil && qp.ecnEcho {
		qp.hearMarks(t.Marked())
	}
	if t := p.INTEcho(); t != nil && qp.limits.hops > 0 {
		in.hops = qp.ep.hopsOf(t)
	}
	if t := p.BoltEcho(); t != nil && qp.bolt {
		qp.hearBolt(t.Counts())
	}
	if t := p.Timing(); t != nil && qp.timing {
		in.timed = qp.timedBy(t, p.Gap())
	}
	t := p.Credit()
	return t == nil || qp.adm == nil || !qp.adm.credits.agreed || qp.hearCredit(t, p)
}

// receiveCumulative handles an ACK or NAK of everything before a PSN.
func (qp *QueuePair) receiveCumulative(in *ackInfo) {
	r, s := &qp.req, in.syndrome
	before := r.una
	if s.IsAck() && r.recovery != nil {
		qp.heedDropped(in.end)
	}
	if !qp.acknowledge(in.end, in) {
		return // a READ before it was not answered: that is being repaired first
	}
	c := &qp.ep.counters
	switch {
	case s.IsAck():
	case (s.IsRNR() || s.IsNak() && s.Code() == wire.NakPSNSequence) && r.rnrWait:
		// what follows an RNR NAK must not shorten its wait
	case s.IsRNR():
		c.RNRNaks++
		qp.stats.RNRNaks++
		qp.waitRNR(s.Code(), in.now)
	case s.IsNak() && s.Code() == wire.NakPSNSequence:
		qp.receiveSequenceNak(before, in)
	case s.IsNak() && s.Code() <= wire.NakRemoteOperational:
		c.RemoteErrors++
		qp.failHead(nakStatus[s.Code()])
	default:
		c.DropBadSyndrome++
	}
}

// receiveSequenceNak handles a NAK of a packet that the responder misses; before it, the oldest
// one outstanding was before.
func (qp *QueuePair) receiveSequenceNak(before wire.PSN, in *ackInfo) {
	c, r := &qp.ep.counters, &qp.req
	c.SequenceNaks++
	qp.stats.SequenceNaks++
	if r.una == before { // another try at the same packet (InfiniBand spec 9.7.5.2.4)
		if r.nakSeen {
			return // a copy: the responder says it once (9.7.5.2.4)
		}
		if qp.triedAgain() {
			if r.retriesLeft == 0 {
				c.RetriesExceeded++
				qp.failHead(StatusRetryExcErr)
				return
			}
			r.retriesLeft--
		}
	}
	r.nakSeen = true
	qp.lostFrom(in.end, in)
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
func (qp *QueuePair) lostFrom(psn wire.PSN, in *ackInfo) {
	if qp.selective() {
		qp.beginRecovery()
		qp.takeBackFrom(psn)
		qp.loseAll()
		qp.settle(in)
		return
	}
	qp.report(cc.Event{Kind: cc.OOO, PSN: uint32(psn)}, in.now)
	qp.sendFromOldest()
}

// acknowledge takes everything before end as received. It answers false when a READ or atomic
// stands in the way: the peer went on without our seeing its response, so the response was lost
// and is asked for again (InfiniBand spec 9.7.5.1.4, implied NAK).
func (qp *QueuePair) acknowledge(end wire.PSN, in *ackInfo) bool {
	r := &qp.req
	if r.recovery != nil {
		qp.executed(end, in)
		qp.settle(in)
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
		qp.progressed(uint32(r.una.Sub(before)), bytes, in)
	}
	if !whole {
		qp.responseLost(end, in)
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
func (qp *QueuePair) progressed(packets uint32, bytes units.Bytes, in *ackInfo) {
	r, now := &qp.req, in.now
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
		qp.sample(packets, bytes, in)
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
func (qp *QueuePair) sample(packets uint32, bytes units.Bytes, in *ackInfo) {
	r, timed, now := &qp.req, &in.timed, in.now
	ev := cc.Event{Kind: cc.ACK, PSN: uint32(r.una), Packets: int(packets), Bytes: bytes,
		Marked: int(qp.newMarks(packets)), INT: in.hops}
	if qp.bolt {
		qp.tellBolt(&ev)
	}
	if ev.Marked > 0 && qp.wants.Has(cc.ECN) {
		ev.Kind = cc.ECN
	}
	left := r.sent(r.una.Add(wire.PSNMask)) // the newest
	if rec := r.recovery; rec != nil {
		left, rec.left = rec.left, stamp{}
	}
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
func (qp *QueuePair) responseLost(end wire.PSN, in *ackInfo) {
	if qp.selective() {
		qp.beginRecovery()
		qp.executed(end, in)
		qp.settle(in)
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
