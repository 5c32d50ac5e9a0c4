package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// unresolvedPatience is how long a packet waits for the MAC address of its next hop before its
// request fails. It is no matter of the transport's own retries: the packet has not left yet, and
// ARP's repetitions are slower than the timeouts of a fast network.
const unresolvedPatience = units.Second

// rnrForever is the RNR retry count that means no limit (InfiniBand spec 9.7.5.2.8).
const rnrForever = 7

// startTimer begins the time an ACK may take (InfiniBand spec 9.7.6.1.3). With few packets
// outstanding nothing may come behind that tells of a loss, and little is sent in vain if nothing
// was lost: that time may be shorter (IRN section 3.1).
func (qp *QueuePair) startTimer(now units.Time) {
	r := &qp.req
	t := r.timeout
	r.few = r.timeoutFew < t && r.sndMax.Sub(r.una) < fewPackets
	if r.few {
		t = r.timeoutFew
	}
	at := units.Time(0)
	if t != units.Forever {
		at = now.Add(t + qp.peerAway.allowance())
	}
	if at != r.rtoAt { // with a burst of ACKs it is the same for all
		r.rtoAt = at
		qp.setTimer()
	}
}

// awaitNeighbor waits until the next hop's MAC address is known, but not for ever: a neighbour
// that does not answer is a peer that does not answer.
func (qp *QueuePair) awaitNeighbor(now units.Time) {
	qp.ep.await(qp)
	if qp.req.rtoAt == 0 {
		qp.req.rtoAt = now.Add(unresolvedPatience)
		qp.setTimer()
	}
}

// neighborKnown ends the wait of awaitNeighbor.
func (qp *QueuePair) neighborKnown() {
	if qp.req.rtoAt != 0 && qp.req.una == qp.req.sndMax {
		qp.req.rtoAt = 0
		qp.setTimer()
	}
}

// onTimer does what is due, and sets the timer for what is not.
func (qp *QueuePair) onTimer(now units.Time) {
	r := &qp.req
	if qp.adm != nil {
		qp.adm.onTimer(now)
	}
	if qp.state != ReadyToSend && qp.state != SQDrained {
		return
	}
	if qp.prober != nil {
		if qp.probeTimer(now); qp.state == Errored {
			return
		}
	}
	if r.recovery != nil && r.recovery.late.due(now) {
		if qp.settle(&ackInfo{now: now}); qp.state == Errored {
			return
		}
	}
	if r.rnrWait && !r.rnrAt.After(now) {
		r.rnrWait, r.rnrAt = false, 0
		qp.sendFromOldest()
	}
	if r.rtoAt != 0 && !r.rtoAt.After(now) && qp.ep.rounds.behind() {
		r.rtoAt = now.Add(units.Nanosecond) // what it waits for may have come meanwhile
	}
	if r.rtoAt != 0 && !r.rtoAt.After(now) {
		began := r.rtoAt.Add(-r.timeoutFew)
		r.rtoAt = 0
		if r.few && r.sndMax.Sub(r.una) >= fewPackets { // they have become many since
			r.few = false
			if r.timeout != units.Forever {
				r.rtoAt = began.Add(r.timeout)
			}
		} else {
			qp.timedOut(now)
		}
	}
	if qp.state != Errored {
		qp.setTimer()
	}
}

// timedOut sends again from the oldest unacknowledged packet, as often as retry_cnt says.
func (qp *QueuePair) timedOut(now units.Time) {
	r := &qp.req
	if qp.Type != RC {
		qp.loseUnresolved()
		return
	}
	if r.una == r.sndMax && qp.waits {
		qp.ep.counters.NoNeighbor++
		qp.failHead(StatusRetryExcErr)
		return
	}
	if r.rnrWait {
		return
	}
	if qp.atGate(now) {
		qp.silent(now)
		return
	}
	if r.una == r.sndMax {
		return
	}
	// for its pace: the next packet starts the timer
	if qp.paced() && !r.hold && !qp.waits && qp.drained() && qp.oldestWaits() {
		return
	}
	qp.stats.Timeouts++
	qp.ep.counters.Timeouts++
	if r.retriesLeft == 0 {
		qp.ep.counters.RetriesExceeded++
		qp.failHead(StatusRetryExcErr)
		return
	}
	r.retriesLeft--
	r.gapSeen, r.nakSeen = false, false
	if qp.wants.Has(cc.RTO) {
		qp.report(cc.Event{Kind: cc.RTO, PSN: uint32(r.una)}, now)
	}
	qp.sendFromOldest()
	// else the next packet starts it: nothing is under way, and no retry spent in waiting
	if !r.hold {
		qp.startTimer(now)
	}
}

// loseUnresolved ends the oldest unreliable request: its next hop does not answer.
func (qp *QueuePair) loseUnresolved() {
	r := &qp.req
	if !qp.waits || r.done == r.posted {
		return
	}
	qp.ep.counters.NoNeighbor++
	w := &qp.send[r.done&r.mask]
	r.done++
	r.next, r.packet = r.done, 0
	qp.complete(w, StatusSuccess)
	qp.ep.activate(qp)
}

// goBack makes the oldest unacknowledged packet the next to leave (go-back-N).
func (qp *QueuePair) goBack() {
	r, lost := &qp.req, qp.req.inFlight
	r.sndNxt, r.inFlight = r.una, 0
	qp.adm.asksNothing()
	r.next, r.packet = r.done, 0
	if r.done != r.begun {
		r.packet = uint32(r.una.Sub(qp.send[r.done&r.mask].first))
	}
	qp.tellLost(lost)
}

// sendFromOldest begins again with the oldest packet when nothing is known of those behind it.
func (qp *QueuePair) sendFromOldest() {
	if qp.selective() {
		qp.probe()
	} else {
		qp.goBack()
	}
	qp.ep.activate(qp)
	if qp.prober != nil {
		qp.probeDrained()
	}
}

// waitRNR waits as long as the responder asked for, and then sends the oldest packet alone: were
// the peer still not ready, a window sent every 10 µs would be sent in vain, and fill links that
// others need to become ready. What a selective responder has behind that packet, it keeps.
func (qp *QueuePair) waitRNR(timer uint8, now units.Time) {
	r := &qp.req
	if r.rnrLeft == 0 {
		qp.ep.counters.RNRRetriesExceeded++
		qp.failHead(StatusRNRRetryExcErr)
		return
	}
	if r.rnrRetries != rnrForever {
		r.rnrLeft--
	}
	if !qp.selective() {
		qp.goBack()
		r.probing = true
	} else if r.recovery !=
		nil { // it has arrived: what comes behind it does not say that it was lost
		r.recovery.again.remove(r.una)
	}
	r.rtoAt = 0
	r.rnrWait, r.rnrAt = true, now.Add(wire.RNRTimer(timer))
	qp.leavePace()
	qp.reclaim()
	qp.setTimer()
}
