package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// stamps remembers when the newest packets of a queue pair left, so that each acknowledgement is a
// delay sample. 0 says that there is none to be had: a packet that was sent again has two times
// (Karn), and of the responses of a READ only the first comes as soon as it can. A queue pair borrows
// them while its algorithm hears of delays and something is in flight.
type stamps struct{ at [psnWindow]units.Time }

// stamp notes that n PSNs from psn on left, or were asked for, now.
func (qp *QueuePair) stamp(psn wire.PSN, n uint32, now units.Time) {
	r := &qp.req
	if r.stamps == nil {
		if !qp.wants.Has(cc.RTT) {
			return
		}
		r.stamps = qp.ep.stamps.borrow()
	}
	r.stamps.at[psn%psnWindow] = now
	for n = min(n, psnWindow); n > 1; n-- {
		psn = psn.Add(1)
		r.stamps.at[psn%psnWindow] = 0
	}
}

// unstamp forgets when n PSNs from psn on left.
func (r *requester) unstamp(psn wire.PSN, n uint32) {
	if r.stamps == nil {
		return
	}
	for n = min(n, psnWindow); n > 0; n-- {
		r.stamps.at[psn%psnWindow] = 0
		psn = psn.Add(1)
	}
}

// sentAt answers when psn, which is outstanding or just acknowledged, left; 0 when nobody knows.
func (r *requester) sentAt(psn wire.PSN) units.Time {
	if r.stamps == nil || r.sndMax.Sub(psn) > psnWindow {
		return 0
	}
	return r.stamps.at[psn%psnWindow]
}

// dropStamps gives them back when nothing is outstanding.
func (qp *QueuePair) dropStamps() {
	if r := &qp.req; r.stamps != nil {
		qp.ep.stamps.giveBack(r.stamps)
		r.stamps = nil
	}
}
