package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// neighborTimeout is how long a packet waits for the MAC address of its next hop before its
// request fails. The transport's own retries do not count here: the packet has not left yet, and
// ARP repeats more slowly than a fast network times out.
const neighborTimeout = units.Second

// rnrForever is the RNR retry count that means no limit (InfiniBand spec 9.7.5.2.8).
const rnrForever = 7

// startTimer starts the timeout of an ACK (InfiniBand spec 9.7.6.1.3). With few packets outstanding
// there may be no later packet to reveal a loss, and a spurious retransmission costs little, so the
// timeout may be shorter (IRN section 3.1).
func (loss *lossRecovery) startTimer(now units.Time) {
	qp := loss.conn()
	t := loss.timeout
	loss.usesRTOLow = loss.hasRTOLow && loss.sndMax.Sub(loss.una) < rtoLowPackets
	if loss.usesRTOLow {
		t = loss.cold().rtoLow
	}
	at := units.Time(0)
	if t != units.Forever {
		at = now.Add(t + qp.cong.allowance())
	}
	if at != loss.rtoAt { // the same for a whole burst of ACKs
		loss.rtoAt = at
		qp.setTimer()
	}
}

// awaitNeighbor waits for the next hop's MAC address, but not for ever: a neighbour that does not
// answer is a peer that does not answer.
func (loss *lossRecovery) awaitNeighbor(now units.Time) {
	qp := loss.conn()
	qp.ep.awaitNeighbor(qp)
	if loss.rtoAt == 0 {
		loss.rtoAt = now.Add(neighborTimeout)
		qp.setTimer()
	}
}

// neighborKnown ends the wait of awaitNeighbor.
func (loss *lossRecovery) neighborKnown() {
	qp := loss.conn()
	if loss.rtoAt != 0 && loss.una == loss.sndMax {
		loss.rtoAt = 0
		qp.setTimer()
	}
}

// onTimer handles the deadlines of what is outstanding.
func (loss *lossRecovery) onTimer(now units.Time) {
	qp := loss.conn()
	if loss.recovery != nil && loss.recovery.window.due(now) {
		if loss.update(&ackInfo{now: now}); qp.state == Errored {
			return
		}
	}
	if loss.rnrWait && !loss.cold().rnrAt.After(now) {
		loss.rnrWait, loss.cold().rnrAt = false, 0
		qp.ep.trace.because(trace.LostNotReady)
		loss.restart()
	}
	if loss.rtoAt == 0 || loss.rtoAt.After(now) {
		return
	}
	if qp.ep.rounds.isBehind() {
		loss.rtoAt = now.Add(units.Nanosecond) // the awaited answer may have arrived meanwhile
		return
	}
	began := loss.rtoAt.Add(-loss.cold().rtoLow)
	loss.rtoAt = 0
	if !loss.usesRTOLow || loss.sndMax.Sub(loss.una) < rtoLowPackets {
		loss.onTimeout(now)
		return
	}
	loss.usesRTOLow = false // there have been more since
	if loss.timeout != units.Forever {
		loss.rtoAt = began.Add(loss.timeout)
	}
}

// onTimeout retransmits from the oldest unacknowledged packet on, at most retry_cnt times.
func (loss *lossRecovery) onTimeout(now units.Time) {
	qp := loss.conn()
	if qp.Type != RC {
		loss.onUnresolved()
		return
	}
	if loss.una == loss.sndMax && qp.awaitsNeighbor {
		qp.ep.counters.NoNeighbor++
		qp.failHead(StatusRetryExcErr)
		return
	}
	if loss.rnrWait {
		return
	}
	if qp.adm.isAtGate(now) {
		qp.adm.onGateTimeout(now)
		return
	}
	if loss.una == loss.sndMax {
		return
	}
	// it waits for its pace: the next packet starts the timer
	if qp.cong.isPaced() && !qp.cong.isHeld() && !qp.awaitsNeighbor && loss.isDrained() &&
		loss.isOldestUnsent() {
		return
	}
	loss.cold().timeouts++
	qp.ep.counters.Timeouts++
	if loss.retriesLeft == 0 {
		qp.ep.counters.RetriesExceeded++
		qp.failHead(StatusRetryExcErr)
		return
	}
	loss.retriesLeft--
	qp.ep.trace.onTimeout(qp, loss.una, loss.retriesLeft)
	loss.gapSeen, loss.nakSeen = false, false
	if qp.cong.expects(cc.RTO) {
		qp.cong.report(cc.Event{Kind: cc.RTO, PSN: uint32(loss.una)}, now)
	}
	loss.restart()
	// otherwise the next packet starts it: nothing is in flight, and waiting costs no retry
	if !qp.cong.isHeld() {
		loss.startTimer(now)
	}
}

// onUnresolved completes the oldest unreliable request: its next hop does not answer.
func (loss *lossRecovery) onUnresolved() {
	qp := loss.conn()
	if !qp.awaitsNeighbor || qp.snd.isIdle() || qp.state == SQDrained && !qp.snd.hasBegun() {
		return
	}
	qp.ep.counters.NoNeighbor++
	qp.snd.skipOldest(StatusSuccess)
	qp.checkDrained()
	qp.ep.scheduleRequests(qp)
}

// goBack makes the oldest unacknowledged packet the next to leave (go-back-N).
func (loss *lossRecovery) goBack() {
	qp, lost := loss.conn(), loss.inFlight
	loss.inFlight = 0
	qp.ep.trace.onLost(qp, loss.una, uint32(max(0, qp.snd.nextPSN().Sub(loss.una))), lost)
	qp.adm.clearReadInFlight()
	qp.snd.goBack(loss.una)
	qp.adm.onLost(lost)
}

// restart begins again with the oldest packet when nothing is known of those behind it.
func (loss *lossRecovery) restart() {
	qp := loss.conn()
	if qp.isSelective() {
		loss.probeOldest()
	} else {
		loss.goBack()
	}
	qp.ep.scheduleRequests(qp)
	if qp.cong.hasProber() {
		qp.cong.scheduleDueProbe()
	}
}

// rnrDelay returns the time to wait after an RNR NAK: that of the NAK's timer, and if retries are
// limited the longest time for which the peer is known to have stopped polling. Its program, which
// posts the receive requests, may have lost its core just as long.
func (loss *lossRecovery) rnrDelay(timer uint8) units.Duration {
	delay := wire.RNRTimer(timer)
	if loss.cold().rnrRetries != rnrForever {
		delay += loss.conn().cong.allowance() / 2
	}
	return delay
}

// waitRNR waits as long as the responder requires, and then sends the oldest packet alone: if the
// peer still were not ready, a window sent every 10 µs would be wasted, and fill links that others
// need to become ready. A selective responder keeps what it has behind that packet.
func (loss *lossRecovery) waitRNR(timer uint8, now units.Time) {
	qp := loss.conn()
	if loss.cold().rnrLeft == 0 {
		qp.ep.counters.RNRRetriesExceeded++
		qp.failHead(StatusRNRRetryExcErr)
		return
	}
	if loss.cold().rnrRetries != rnrForever {
		loss.cold().rnrLeft--
	}
	qp.ep.trace.because(trace.LostNotReady)
	if !qp.isSelective() {
		loss.goBack()
		loss.probing = true
	} else if loss.recovery != nil {
		// it has arrived: later arrivals do not mean that it was lost
		loss.recovery.resent.remove(loss.una)
	}
	loss.rtoAt = 0
	loss.rnrWait, loss.cold().rnrAt = true, now.Add(loss.rnrDelay(timer))
	qp.cong.cancelPacing()
	qp.cong.updateBacklogged()
	qp.setTimer()
	if qp.ep.trace != nil {
		qp.ep.trace.onTurn(qp, false)
	}
}
