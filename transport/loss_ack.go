package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// ackInfo is the content of an ACK, as its parsers found it, on its way through the queue pair. For
// other packets that acknowledge, and for timers, only the time is set.
type ackInfo struct {
	now      units.Time
	end      wire.PSN // everything before it is acknowledged
	syndrome wire.Syndrome
	sack     extension.SACK // what arrived behind end; nil if not reported
	timed    timedPacket    // a packet whose residence time the peer reported
	hops     []cc.Hop       // telemetry; valid until the next ACK
}

// receiveAck handles an ACK or NAK of our requests (InfiniBand spec 9.7.5.1, 9.7.5.2).
func (loss *lossRecovery) receiveAck(p *wire.Packet) {
	qp := loss.conn()
	e := qp.ep
	if qp.state != ReadyToSend && qp.state != SQDrained {
		e.counters.DropState++
		return
	}
	probe := qp.cong.hasProber() && qp.cong.isProbeResponse()
	if !p.PSN.Before(loss.sndMax) {
		if !probe {
			e.counters.DropGhostAck++
		}
		return
	}
	in := ackInfo{now: e.now, end: p.PSN, syndrome: p.AETH().Syndrome}
	// A NAK names the packet that is missing, an ACK the last one that arrived.
	if in.syndrome.IsAck() {
		in.end = in.end.Add(1)
	}
	if p.Op == wire.XACK && !qp.cong.parseXACK(p, &in) {
		return // that ended the queue pair
	}
	switch {
	case in.end.Before(loss.una) || in.end == loss.una && in.syndrome.IsAck() && in.sack == nil:
		if !probe {
			e.counters.DropStaleAck++
		}
	case in.sack != nil:
		loss.receiveSACK(&in)
	default:
		loss.receiveCumulative(&in)
	}
}

// parseXACK parses what an ACK of the extension carries beyond a plain one. It returns false if
// that ended the queue pair.
func (cong *congestion) parseXACK(p *wire.Packet, in *ackInfo) bool {
	qp := cong.conn()
	if in.syndrome.IsAck() && qp.isSelective() {
		in.sack = extension.TLVs(p.TLVs()).SACK()
	}
	if t := extension.TLVs(p.TLVs()).ECNEcho(); t != nil && cong.ecnEcho {
		cong.onMarksEchoed(t.Marked())
	}
	if t := extension.TLVs(p.TLVs()).INTEcho(); t != nil && cong.hops > 0 {
		in.hops = qp.ep.hopsOf(t)
	}
	if t := extension.TLVs(p.TLVs()).BoltEcho(); t != nil && cong.bolt {
		cong.onBoltEchoed(t.Counts())
	}
	if t := extension.TLVs(p.TLVs()).Timing(); t != nil && cong.timing {
		in.timed = cong.parseTiming(t, extension.TLVs(p.TLVs()).Gap())
	}
	t := extension.TLVs(p.TLVs()).Credit()
	return t == nil || !qp.adm.hasCredits() || qp.adm.onCredit(t, p)
}

// receiveCumulative handles an ACK or NAK of everything before a PSN.
func (loss *lossRecovery) receiveCumulative(in *ackInfo) {
	qp := loss.conn()
	s := in.syndrome
	before := loss.una
	if s.IsAck() && loss.recovery != nil {
		loss.onBufferDropped(in.end)
	}
	if !loss.acknowledge(in.end, in) {
		return // a READ before it was not answered; that is repaired first
	}
	c := &qp.ep.counters
	switch {
	case s.IsAck():
	case (s.IsRNR() || s.IsNak() && s.Code() == wire.NakPSNSequence) && loss.rnrWait:
		// what follows an RNR NAK must not shorten its wait
	case s.IsRNR():
		c.RNRNaks++
		loss.cold().rnrNaks++
		loss.waitRNR(s.Code(), in.now)
	case s.IsNak() && s.Code() == wire.NakPSNSequence:
		loss.receiveSequenceNak(before, in)
	case s.IsNak() && s.Code() <= wire.NakRemoteOperational:
		c.RemoteErrors++
		qp.failHead(nakStatus[s.Code()])
	default:
		c.DropBadSyndrome++
	}
}

// receiveSequenceNak handles a NAK of a packet that the responder misses; before is the oldest
// packet that was outstanding when it came.
func (loss *lossRecovery) receiveSequenceNak(before wire.PSN, in *ackInfo) {
	qp := loss.conn()
	c := &qp.ep.counters
	c.SequenceNaks++
	loss.cold().sequenceNaks++
	qp.ep.trace.because(trace.LostNAK)
	if loss.una == before { // another try at the same packet (InfiniBand spec 9.7.5.2.4)
		if loss.nakSeen {
			return // a duplicate: the responder sends one for each gap (9.7.5.2.4)
		}
		if loss.isRetry() {
			if loss.retriesLeft == 0 {
				c.RetriesExceeded++
				qp.failHead(StatusRetryExcErr)
				return
			}
			loss.retriesLeft--
		}
	}
	if loss.una != before && loss.recovery != nil {
		// The responder has got as far as here and holds nothing: what was retransmitted together
		// with what it has got was dropped, too.
		loss.markResentLostFrom(in.end)
	}
	loss.nakSeen = true
	loss.onLostFrom(in.end, in)
}

// isRetry reports whether a NAK of the oldest packet costs a retry. Toward a selective responder it
// does not: the responder may have had the packet and dropped it for others, and its only NAK for
// the gap may have left before a retransmission arrived. SACKs and timeouts count retransmissions
// that are lost.
func (loss *lossRecovery) isRetry() bool { return !loss.conn().isSelective() }

var nakStatus = [...]Status{
	wire.NakInvalidRequest:    StatusRemInvReqErr,
	wire.NakRemoteAccess:      StatusRemAccessErr,
	wire.NakRemoteOperational: StatusRemOpErr,
}

// onLostFrom retransmits from the packet that the responder misses: it has dropped all behind it.
func (loss *lossRecovery) onLostFrom(psn wire.PSN, in *ackInfo) {
	qp := loss.conn()
	if qp.isSelective() {
		loss.beginRecovery()
		loss.markLostFrom(psn)
		loss.markAllLost()
		loss.update(in)
		return
	}
	qp.cong.report(cc.Event{Kind: cc.OOO, PSN: uint32(psn)}, in.now)
	loss.restart()
}

// acknowledge takes everything before end as received. It returns false if a READ or atomic stands
// in the way: the peer went on and its response has not arrived, so the response was lost and is
// requested again (InfiniBand spec 9.7.5.1.4, implied NAK).
func (loss *lossRecovery) acknowledge(end wire.PSN, in *ackInfo) bool {
	qp := loss.conn()
	if loss.recovery != nil {
		loss.onExecuted(end, in)
		loss.update(in)
		return loss.una == end && qp.state != Errored
	}
	var bytes units.Bytes
	before, whole := loss.una, true
	for end.After(loss.una) && !qp.snd.isIdle() {
		w := qp.snd.oldest()
		if w.op.hasResponse() {
			whole = false
			break
		}
		last := w.first.Add(w.packets)
		from := uint32(loss.una.Sub(w.first))
		if end.Before(last) { // part of a message
			bytes += qp.snd.span(w, from, uint32(end.Sub(w.first)))
			loss.una = end
			break
		}
		bytes += qp.snd.span(w, from, w.packets)
		loss.una = last
		qp.snd.finishOldest(StatusSuccess)
	}
	if loss.una != before {
		loss.onProgress(uint32(loss.una.Sub(before)), bytes, in)
	}
	if !whole {
		loss.onResponseLost(end, in)
	}
	return whole && qp.state != Errored
}

// onProgress does what follows when the oldest packets have been answered. These packets and bytes
// have not been reported to congestion control yet.
func (loss *lossRecovery) onProgress(packets uint32, bytes units.Bytes, in *ackInfo) {
	qp := loss.conn()
	now := in.now
	loss.retriesLeft, loss.cold().rnrLeft, loss.gapSeen, loss.nakSeen = loss.cold().retries,
		loss.cold().rnrRetries,
		false, false
	loss.probing = false
	qp.snd.onReadsAnswered(loss.una)
	qp.adm.onAcknowledged(loss.una, now)
	if qp.snd.nextPSN().Before(loss.una) { // the peer had more than assumed when we went back
		loss.goBack()
	} else {
		loss.inFlight = max(0, loss.inFlight-bytes)
	}
	if loss.rnrWait { // the packet that it delays has been answered after all
		loss.rnrWait, loss.cold().rnrAt = false, 0
		qp.setTimer()
	}
	if loss.una != loss.sndMax {
		loss.startTimer(now)
	} else {
		loss.rtoAt = 0
		qp.setTimer()
		qp.ep.responseWait.onAllAcked(now)
	}
	if packets > 0 {
		qp.cong.sample(packets, bytes, in)
	}
	if loss.una == loss.sndMax && loss.recovery == nil {
		qp.cong.dropSendTimes()
	}
	if qp.snd.hasNext() {
		qp.ep.scheduleRequests(qp)
	}
	qp.checkDrained()
	if qp.cong.hasProber() {
		qp.cong.scheduleDueProbe()
	}
}

// sample reports progress to congestion control as one event, of the most informative kind that the
// algorithm takes: with a delay if the timed packet is among the acknowledged.
func (cong *congestion) sample(packets uint32, bytes units.Bytes, in *ackInfo) {
	qp := cong.conn()
	timed, now := &in.timed, in.now
	ev := cc.Event{Kind: cc.ACK, PSN: uint32(qp.loss.oldest()), Packets: int(packets), Bytes: bytes,
		Marked: int(cong.takeNewMarks(packets)), INT: in.hops}
	if cong.bolt {
		cong.addBoltEcho(&ev)
	}
	if ev.Marked > 0 && cong.events.Has(cc.ECN) {
		ev.Kind = cc.ECN
	}
	sent := qp.loss.newestSent()
	if timed.sent.at != 0 {
		sent = timed.sent
	}
	if sent.at != 0 && cong.events.Has(cc.RTT) {
		ev.Kind, ev.Delay = cc.RTT, now.Sub(sent.at)
		if timed.sent.at != 0 {
			timed.host.fill(&ev)
			cong.peerAway.onSample(ev.RemoteAway)
			qp.ep.rounds.onPeerAway(ev.RemoteAway, now)
			ev.OneWay, ev.Hops = timed.oneWay, timed.hops
		} else { // the peer does not report its part
			h := qp.ep.localDelay(sent.txRound)
			h.endpoint = 0
			h.fill(&ev)
		}
	}
	if t := qp.ep.trace; t != nil {
		t.onAcked(qp, &ev)
	}
	if cong.events.Has(ev.Kind) {
		cong.report(ev, now)
	}
}

// onResponseLost requests again what the oldest READ or atomic still misses, since the responder
// has executed everything before end. It does so once, until something arrives: everything behind
// the gap in the same stream looks like another gap.
func (loss *lossRecovery) onResponseLost(end wire.PSN, in *ackInfo) {
	qp := loss.conn()
	qp.ep.trace.because(trace.LostResponse)
	if qp.isSelective() {
		loss.beginRecovery()
		loss.onExecuted(end, in)
		loss.update(in)
		return
	}
	if loss.gapSeen {
		return
	}
	loss.gapSeen = true
	qp.ep.counters.ResponseGaps++
	loss.restart()
}
