package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// reorderBuffer keeps request packets that arrived out of order: the receiving half of selective
// repeat (docs/wire.md). The packets stay in the port's buffers and are executed in order, by the
// same code as all others, when the missing ones have arrived: so every operation keeps its
// meaning, and nothing is written unchecked. A queue pair borrows one from its endpoint while it
// has a gap, so that there are never more of them than held buffers.
type reorderBuffer struct {
	present psnSet // a READ request takes as many PSNs as its response
	bufs    [psnWindow]packet.Buf
	base    wire.PSN // nothing before it is held
	share   share    // of the endpoint's buffers

	hasDropped    bool     // packets arrived out of order and were dropped
	newestDropped wire.PSN // the last of them
}

// recordDropped records that psn arrived out of order and was dropped.
func (a *reorderBuffer) recordDropped(psn wire.PSN) {
	if !a.hasDropped || psn.After(a.newestDropped) {
		a.hasDropped, a.newestDropped = true, psn
	}
}

func (a *reorderBuffer) buf(p wire.PSN) *packet.Buf { return &a.bufs[p%psnWindow] }

// keepOutOfOrder keeps the packet being handled, or drops it for lack of room. It reports whether
// anything is held behind the gap, which the peer should learn from an ACK.
func (rcv *receiver) keepOutOfOrder(p *wire.Packet, info *wire.OpcodeInfo) bool {
	qp := rcv.conn()
	e := qp.ep
	reach := rcv.ePSN.Add(uint32(qp.sackBits)) // the last PSN that a SACK can report
	if rcv.reorder != nil && !p.PSN.After(reach) && rcv.reorder.present.has(p.PSN) {
		return true // a duplicate
	}
	if p.PSN.After(reach) || e.held == e.maxHeld && !rcv.evictForShare() {
		e.counters.DropAhead++
		rcv.reportDropped(p.PSN, units.Bytes(p.End-p.PayloadOff))
		if rcv.reorder == nil || rcv.reorder.present.isEmpty() {
			return false
		}
		rcv.reorder.recordDropped(p.PSN)
		return true
	}
	if rcv.reorder == nil {
		rcv.reorder = e.reorderBuffers.get()
		rcv.reorder.base = rcv.ePSN
		e.shares.join(rcv.reorder, qp, e.now)
	}
	a := rcv.reorder
	*a.buf(p.PSN) = e.keepFrame()
	e.shares.count(a, 1)
	e.counters.Held++
	packets := uint32(1)
	if info.Kind == wire.Read {
		packets = qp.packetsFor(min(p.RETH().Len.Get(), maxMessage))
	}
	for psn := p.PSN; packets > 0 && !psn.After(reach); packets-- {
		a.present.add(psn)
		psn = psn.Add(1)
	}
	return true
}

// reportDropped reports to the granter that psn, with a payload of the given length, arrived out of
// order and was dropped.
func (rcv *receiver) reportDropped(psn wire.PSN, bytes units.Bytes) {
	qp := rcv.conn()
	if qp.adm.hasGranter() {
		qp.adm.onDropped(psn, bytes)
	}
}

// evictForShare frees the newest packet of the queue pair that holds most, unless this one would
// then hold more. The peer, to which that packet was reported as arrived, gets a NAK for it when
// its turn comes.
func (rcv *receiver) evictForShare() bool {
	qp := rcv.conn()
	e, count := qp.ep, 0
	if a := rcv.reorder; a != nil {
		count = a.share.count
	}
	largest := e.shares.largest()
	if largest == nil || largest.share.count <= count+1 {
		return false
	}
	from := largest.share.qp
	from.rcv.dropNewest()
	e.counters.HeldDropped++
	return true
}

// dropNewest drops the held packet that is farthest from its turn.
func (rcv *receiver) dropNewest() {
	qp := rcv.conn()
	e := qp.ep
	a := rcv.reorder
	psn := rcv.ePSN.Add(psnWindow - 1)
	for a.buf(psn).Len() == 0 {
		a.present.remove(psn)
		psn = psn.Add(wire.PSNMask)
	}
	p := &e.heldPkt
	bytes := units.Bytes(0)
	if p.Parse(a.buf(psn).Data()) == nil {
		bytes = units.Bytes(p.End - p.PayloadOff)
	}
	a.drop(psn, e)
	a.recordDropped(psn)
	rcv.reportDropped(psn, bytes)
}

// closeReorder gives back the reorder buffer, which holds nothing.
func (rcv *receiver) closeReorder() {
	qp := rcv.conn()
	a := rcv.reorder
	a.hasDropped = false
	qp.ep.shares.leave(a)
	qp.ep.reorderBuffers.put(a)
	rcv.reorder = nil
}

// dropExpiredReorder drops what is held behind gaps that have not moved for too long.
func (e *Endpoint) dropExpiredReorder(now units.Time) {
	for a := e.shares.expired(now); a != nil; a = e.shares.expired(now) {
		e.counters.HeldDropped += uint64(a.share.count)
		a.share.qp.rcv.dropReorder()
	}
}

// executeReordered executes the held packets whose turn has come. It schedules an ACK, because what
// the peer waits for may have been held.
func (rcv *receiver) executeReordered() {
	qp := rcv.conn()
	e := qp.ep
	if rcv.reorder.base == rcv.ePSN {
		return
	}
	rcv.scheduleAck(ackPositive, 0)
	e.shares.move(rcv.reorder, e.now)
	for rcv.reorder != nil {
		a, psn := rcv.reorder, rcv.ePSN
		for n := min(psn.Sub(a.base), psnWindow); n > 0; n-- {
			a.drop(a.base, e)
			a.base = a.base.Add(1)
		}
		a.base = psn
		b := *a.buf(psn)
		if !a.present.has(psn) || b.Len() == 0 || qp.state == Errored {
			break
		}
		a.present.remove(psn)
		*a.buf(psn) = packet.Buf{}
		e.shares.count(a, -1)
		p := &e.pkt
		e.likePrevious = nil
		e.setArrival(b.Time)
		if p.Parse(b.Data()) == nil { // as it did on arrival
			rcv.execute(p, p.Inner().Info())
		}
		e.release(b)
		if rcv.ePSN == psn {
			break // refused: the peer retransmits it, but need not retransmit what is behind it
		}
	}
	if rcv.reorder != nil && rcv.reorder.present.isEmpty() {
		rcv.finishReorder()
	}
}

// finishReorder gives back the reorder buffer, which is empty, unless a dropped packet has yet to
// be requested: the peer may take that for arrived, or in flight.
func (rcv *receiver) finishReorder() {
	if a := rcv.reorder; a.hasDropped && !a.newestDropped.Before(rcv.ePSN) {
		if rcv.pendingAck != ackPositive { // not ready: an ACK follows when it is
			return
		}
		rcv.nakSent = true
		rcv.scheduleAck(ackNak, wire.NakPSNSequence)
	}
	rcv.closeReorder()
}

// drop releases what is held of psn.
func (a *reorderBuffer) drop(psn wire.PSN, e *Endpoint) {
	if !a.present.has(psn) {
		return
	}
	a.present.remove(psn)
	if b := a.buf(psn); b.Len() > 0 {
		e.release(*b)
		*b = packet.Buf{}
		e.shares.count(a, -1)
	}
}

// dropReorder drops everything that is held.
func (rcv *receiver) dropReorder() {
	qp := rcv.conn()
	e, a := qp.ep, rcv.reorder
	if a == nil {
		return
	}
	for i := range psnWindow {
		a.drop(wire.PSN(i), e)
	}
	rcv.closeReorder()
}

// sackBits returns how many bits a SACK needs to report what is held behind ePSN.
func (a *reorderBuffer) sackBits(ePSN wire.PSN) (n int) {
	for i := range psnWindow / 32 {
		if a.present.word(ePSN.Add(uint32(1+32*i))) != 0 {
			n = 32 * (i + 1)
		}
	}
	return n
}

// writeSACK writes a SACK of what is held behind ePSN.
func (a *reorderBuffer) writeSACK(s extension.SACK, ePSN wire.PSN, n int) {
	s.Init(n)
	for i := range n / 32 {
		s.SetBits(i, a.present.word(ePSN.Add(uint32(1+32*i))))
	}
}

const _ uint32 = 1 << (packet.Burst - 1) // kept has a bit for each frame

// keepFrame takes the frame being handled from Poll, which would free it.
func (e *Endpoint) keepFrame() packet.Buf {
	e.kept |= 1 << e.at
	e.held++
	return e.rx[e.at]
}

// release gives a held buffer back to the port: with others in one call, by the end of Poll.
func (e *Endpoint) release(b packet.Buf) {
	e.held--
	if e.nSpent == len(e.spent) {
		e.freeSpent()
	}
	e.spent[e.nSpent] = b
	e.nSpent++
}

func (e *Endpoint) freeSpent() {
	e.port.Free(e.spent[:e.nSpent])
	e.nSpent = 0
}

// freeReceived gives back the burst of n frames, except those that were kept, and what was
// released.
func (e *Endpoint) freeReceived(n int) {
	if e.kept != 0 {
		remaining := 0
		for i := range n {
			if e.kept>>i&1 == 0 {
				e.rx[remaining] = e.rx[i]
				remaining++
			}
		}
		n, e.kept = remaining, 0
	}
	if n > 0 {
		e.port.Free(e.rx[:n])
	}
	if e.nSpent > 0 {
		e.freeSpent()
	}
}
