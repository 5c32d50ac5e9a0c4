package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// lossRecovery is the part of a queue pair that owns what is outstanding: which packets are not
// acknowledged yet, which of them are lost, and when to retransmit.
type lossRecovery struct {
	una      wire.PSN // oldest not yet acknowledged
	sndMax   wire.PSN // one past the highest ever sent
	inFlight units.Bytes
	recovery *recovery      // since a loss, toward a peer with selective repeat
	rtoAt    units.Time     // when the oldest packet counts as lost
	timeout  units.Duration // RTO_high

	hasRTOLow  bool // RTO_low is shorter than RTO_high
	usesRTOLow bool // the timer runs with RTO_low
	rnrWait    bool // waiting after an RNR NAK
	// only the oldest packet leaves, until its answer shows whether the peer is ready
	probing        bool
	gapSeen        bool // already went back for the missing response
	nakSeen        bool // already went back for una after a NAK
	noAckRequested bool // the newest packet asked for no ACK

	retriesLeft uint8
}

// lossCold is the state of lossRecovery that only losses and acknowledgements touch.
type lossCold struct {
	retries, rnrRetries, rnrLeft uint8

	reordering uint32 // the reordering window, in ns
	rnrAt      units.Time
	rtoLow     units.Duration // RTO_low: with fewer than rtoLowPackets outstanding

	retransmitted, timeouts, sequenceNaks, rnrNaks uint64
}

// clear drops everything outstanding.
func (loss *lossRecovery) clear() {
	loss.endRecovery()
	*loss = lossRecovery{}
	c := loss.cold()
	*c = lossCold{retransmitted: c.retransmitted, timeouts: c.timeouts,
		sequenceNaks: c.sequenceNaks, rnrNaks: c.rnrNaks}
}

// oldest returns the PSN of the oldest packet that is not acknowledged.
func (loss *lossRecovery) oldest() wire.PSN { return loss.una }

// highest returns one past the highest PSN ever sent.
func (loss *lossRecovery) highest() wire.PSN { return loss.sndMax }

// flight returns how many bytes are in flight.
func (loss *lossRecovery) flight() units.Bytes { return loss.inFlight }

// isWaitingRNR reports whether the queue pair waits after an RNR NAK.
func (loss *lossRecovery) isWaitingRNR() bool { return loss.rnrWait }

// isProbing reports whether only the oldest packet leaves, until its answer shows whether the peer
// is ready.
func (loss *lossRecovery) isProbing() bool { return loss.probing }

// isRecovering reports whether a selective recovery is in progress.
func (loss *lossRecovery) isRecovering() bool { return loss.recovery != nil }

// hasLost reports whether the recovery in progress has packets to retransmit.
func (loss *lossRecovery) hasLost() bool { return !loss.recovery.lost.isEmpty() }

// isLost reports whether the recovery in progress has psn to retransmit.
func (loss *lossRecovery) isLost(psn wire.PSN) bool { return loss.recovery.lost.has(psn) }

// oldestLost returns the oldest packet to retransmit. There must be one.
func (loss *lossRecovery) oldestLost() wire.PSN {
	psn, _ := loss.recovery.lost.next(loss.una)
	return psn
}

// maySendLost reports whether the recovery in progress lets a lost packet leave.
func (loss *lossRecovery) maySendLost() bool {
	return !loss.recovery.probing || loss.isLost(loss.una)
}

// sackedBytes returns how many bytes behind the oldest packet have been answered.
func (loss *lossRecovery) sackedBytes() units.Bytes {
	if loss.recovery == nil {
		return 0
	}
	return loss.recovery.sacked
}

// sackedReadBytes returns how many of these bytes belong to READs and atomics.
func (loss *lossRecovery) sackedReadBytes() units.Bytes {
	if loss.recovery == nil {
		return 0
	}
	return loss.recovery.sackedReads
}

// newestSent returns the send time of the newest packet that the ACK being handled acknowledges.
func (loss *lossRecovery) newestSent() sendTime {
	newest := loss.conn().cong.sendTime(loss.una.Add(wire.PSNMask))
	if rec := loss.recovery; rec != nil {
		newest, rec.newestSent = rec.newestSent, sendTime{}
	}
	return newest
}

// begin applies the attributes of RTR→RTS.
func (loss *lossRecovery) begin(a *QPAttr) {
	loss.una, loss.sndMax = a.SendPSN, a.SendPSN
	loss.timeout = wire.AckTimeout(a.Timeout)
	if a.RTOHigh != 0 {
		loss.timeout = a.RTOHigh
	}
	loss.cold().rtoLow = loss.timeout
	if a.RTOLow != 0 {
		loss.cold().rtoLow = a.RTOLow
	}
	loss.hasRTOLow = loss.cold().rtoLow < loss.timeout
	loss.cold().reordering = uint32(a.Reordering / units.Nanosecond)
	loss.cold().retries, loss.retriesLeft = a.RetryCount, a.RetryCount
	loss.cold().rnrRetries, loss.cold().rnrLeft = a.RNRRetry, a.RNRRetry
}

// acceptAll takes everything before next as done: unreliable packets are not acknowledged.
func (loss *lossRecovery) acceptAll(next wire.PSN) { loss.una, loss.inFlight = next, 0 }

// setHighest records that everything before next has left.
func (loss *lossRecovery) setHighest(next wire.PSN) { loss.sndMax = next }

// setFlight sets how many bytes are in flight.
func (loss *lossRecovery) setFlight(size units.Bytes) { loss.inFlight = size }

// cancelTimer ends the waiting of a queue pair whose requests have failed.
func (loss *lossRecovery) cancelTimer() { loss.rtoAt = 0 }

// expectAck starts the timer of a reliable connection, unless it runs.
func (loss *lossRecovery) expectAck(now units.Time) {
	if loss.rtoAt == 0 && loss.conn().Type == RC {
		loss.startTimer(now)
	}
}

// expectTimer starts the timer, unless it runs.
func (loss *lossRecovery) expectTimer(now units.Time) {
	if loss.rtoAt == 0 {
		loss.startTimer(now)
	}
}

// stopIdleTimer stops the timer when nothing is outstanding.
func (loss *lossRecovery) stopIdleTimer() {
	if loss.una == loss.sndMax {
		loss.rtoAt = 0
		loss.conn().setTimer()
	}
}

// earliest returns the next deadline; 0 means never.
func (loss *lossRecovery) earliest() units.Time {
	at := loss.rtoAt
	if loss.rnrWait && (at == 0 || loss.cold().rnrAt.Before(at)) {
		at = loss.cold().rnrAt
	}
	if loss.recovery != nil {
		at = loss.recovery.window.earliest(at)
	}
	return at
}

// totalRetryTime returns how long all retransmissions of a packet take.
func (loss *lossRecovery) totalRetryTime() units.Duration {
	return loss.timeout * units.Duration(loss.cold().retries+1)
}

// isRetryExceeded reports whether the peer may count as gone after n tries.
func (loss *lossRecovery) isRetryExceeded(n uint32) bool {
	return loss.timeout != units.Forever && n > uint32(loss.cold().retries)
}

// shortTimeout returns the timeout with few packets outstanding.
func (loss *lossRecovery) shortTimeout() units.Duration { return loss.cold().rtoLow }

// countTimeout counts a timeout.
func (loss *lossRecovery) countTimeout() {
	loss.cold().timeouts++
	loss.conn().ep.counters.Timeouts++
}

func (loss *lossRecovery) addStats(s *QPStats) {
	s.Retransmitted, s.Timeouts = loss.cold().retransmitted, loss.cold().timeouts
	s.SequenceNaks, s.RNRNaks = loss.cold().sequenceNaks, loss.cold().rnrNaks
}

// isOldestUnsent reports whether the oldest unacknowledged packet is not in flight.
func (loss *lossRecovery) isOldestUnsent() bool {
	qp := loss.conn()
	return qp.snd.nextPSN() == loss.una || loss.recovery != nil && loss.recovery.lost.has(loss.una)
}

// isDrained reports whether nothing is in flight that the peer would acknowledge: everything has
// been acknowledged, or counts as lost.
func (loss *lossRecovery) isDrained() bool {
	qp := loss.conn()
	return loss.una == loss.sndMax || qp.snd.nextPSN() == loss.una || loss.recovery != nil &&
		loss.inFlight == 0
}
