package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// sendTimes remembers when the newest packets of a queue pair left, so that each acknowledgement
// is a
// delay sample. There is none to be had of a packet that was sent again, which has two times
// (Karn), nor of the responses of a READ but the first, which comes as soon as it can. With more
// than psnWindow packets in flight, those are stamped that find the place free: some sample is
// better than none. A queue pair borrows stamps while its algorithm hears of delays and something
// is in flight.
type sendTimes [psnWindow]sendTime

// sendTime is when a packet left, and in which of the endpoint's departures; at 0 says nothing.
type sendTime struct {
	psn       wire.PSN
	departure uint32
	at        units.Time
}

// recordSendTime notes that psn left, or that it and the responses behind it, n in all, were asked
// for, now.
func (cong *congestion) recordSendTime(psn wire.PSN, n uint32, now units.Time) {
	qp := cong.conn()
	if cong.times == nil {
		if !cong.events.Has(cc.RTT) {
			return
		}
		cong.times = qp.ep.sendTimes.borrow()
	}
	place := &cong.times[psn%psnWindow]
	if place.at == 0 || place.psn == psn || place.psn.Before(qp.loss.oldest()) ||
		!place.psn.Before(qp.loss.highest()) {
		*place = sendTime{psn, qp.ep.rounds.departure(), now}
	}
	cong.forgetSendTimes(psn.Add(1), n-1) // what the queue pair that had them before left there
}

// forgetSendTimes forgets when n PSNs from psn on left.
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

// sendTime returns the stamp of psn, which is outstanding or just acknowledged; the zero stamp when
// there is none.
func (cong *congestion) sendTime(psn wire.PSN) sendTime {
	if cong.times == nil || cong.times[psn%psnWindow].psn != psn {
		return sendTime{}
	}
	return cong.times[psn%psnWindow]
}

// dropSendTimes gives them back when nothing is outstanding.
func (cong *congestion) dropSendTimes() {
	qp := cong.conn()
	if cong.times != nil {
		qp.ep.sendTimes.giveBack(cong.times)
		cong.times = nil
	}
}
