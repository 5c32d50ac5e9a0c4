package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// sendTimes records when the newest packets of a queue pair left, so that each acknowledgement is a
// delay sample. A retransmitted packet gives no sample, because it has two send times (Karn). Of
// the responses to a READ only the first does, which comes as soon as it can. With more than
// psnWindow packets in flight only those are recorded whose slot is free: some samples are better
// than none. A queue pair borrows a sendTimes while its algorithm takes delays and something is in
// flight.
type sendTimes [psnWindow]sendTime

// sendTime is when a packet left, and in which of the endpoint's rounds; it is void if at is 0.
type sendTime struct {
	psn     wire.PSN
	txRound uint32
	at      units.Time
}

// recordSendTime records that psn leaves now, or a request for the n responses from psn on.
func (cong *congestion) recordSendTime(psn wire.PSN, n uint32, now units.Time) {
	qp := cong.conn()
	if cong.times == nil {
		if !cong.events.Has(cc.RTT) {
			return
		}
		cong.times = qp.ep.sendTimes.get()
	}
	place := &cong.times[psn%psnWindow]
	if place.at == 0 || place.psn == psn || place.psn.Before(qp.loss.oldest()) ||
		!place.psn.Before(qp.loss.highest()) {
		*place = sendTime{psn, qp.ep.rounds.txRound(), now}
	}
	cong.forgetSendTimes(psn.Add(1), n-1) // entries of the queue pair that had them before
}

// forgetSendTimes removes the send times of n PSNs from psn on.
func (cong *congestion) forgetSendTimes(psn wire.PSN, n uint32) {
	if cong.times == nil {
		return
	}
	for n = min(n, psnWindow); n > 0; n-- {
		if place := &cong.times[psn%psnWindow]; place.psn == psn {
			place.at = 0
		}
		psn = psn.Add(1)
	}
}

// sendTime returns the send time of psn, which is outstanding or just acknowledged, or the zero
// sendTime if there is none.
func (cong *congestion) sendTime(psn wire.PSN) sendTime {
	if cong.times == nil || cong.times[psn%psnWindow].psn != psn {
		return sendTime{}
	}
	return cong.times[psn%psnWindow]
}

// dropSendTimes gives the send times back, with nothing outstanding.
func (cong *congestion) dropSendTimes() {
	qp := cong.conn()
	if cong.times != nil {
		qp.ep.sendTimes.put(cong.times)
		cong.times = nil
	}
}
