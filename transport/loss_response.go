package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiveResponse handles a response to a READ or atomic (InfiniBand spec 9.7.5.1.3).
func (loss *lossRecovery) receiveResponse(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := loss.conn()
	e := qp.ep
	if qp.state != ReadyToSend && qp.state != SQDrained {
		e.counters.DropState++
		return
	}
	if p.PSN.Before(loss.una) {
		e.counters.DropStaleResponse++
		return
	}
	if !p.PSN.Before(loss.sndMax) {
		e.counters.DropGhostResponse++
		return
	}
	// A response also acknowledges every request before its own.
	in := ackInfo{now: e.now}
	i := qp.snd.locate(p.PSN)
	w := qp.snd.at(i)
	if !w.op.hasResponse() {
		e.counters.DropGhostResponse++
		return
	}
	start := w.first
	if loss.una.After(start) {
		start = loss.una
	}
	whole := loss.acknowledge(start, &in)
	switch {
	case qp.state == Errored || !whole && !qp.isSelective():
	case loss.recovery == nil && p.PSN == loss.una:
		loss.acceptResponse(i, p, info, &in)
	case qp.isSelective():
		loss.acceptOutOfOrder(i, p, info, &in)
	default:
		loss.onResponseLost(p.PSN, &in)
	}
}

// acceptResponse writes a response to where its request i has room for it. Without a recovery it is
// the next response expected.
func (loss *lossRecovery) acceptResponse(i uint32, p *wire.Packet, info *wire.OpcodeInfo,
	in *ackInfo) {
	qp := loss.conn()
	slot := qp.snd.slot(i)
	w, payload := qp.snd.at(i), p.Payload()
	packet := uint32(p.PSN.Sub(w.first))
	offset := packet << qp.mtuShift
	if info.Kind == wire.AtomicAck {
		if !w.op.isAtomic() {
			loss.badResponse(i)
			return
		}
		payload = qp.ep.made[:8]
		binary.NativeEndian.PutUint64(payload, p.AtomicAck())
	} else {
		want := min(w.length-offset, qp.mtu)
		if w.op != OpRead || uint32(len(payload)) != want || !info.Last && want != qp.mtu {
			loss.badResponse(i)
			return
		}
	}
	more := loss.recovery == nil && packet+1 < w.packets
	if !qp.snd.scatterResponse(w, slot, offset, payload, more) {
		qp.failAt(i, StatusLocProtErr, AsyncQPFatal)
		return
	}
	qp.rcv.onResponse(len(payload), info.Kind != wire.AtomicAck)
	if p.ECN == wire.ECNCE {
		qp.cong.onMarkedResponse()
	}
	if loss.recovery != nil {
		loss.markAnswered(p.PSN)
		return
	}
	loss.una = loss.una.Add(1)
	if packet+1 == w.packets {
		qp.snd.finishOldest(StatusSuccess)
	}
	qp.adm.addReadInFlight(-units.Bytes(len(payload)))
	loss.onProgress(1, units.Bytes(len(payload)), in)
}

// badResponse ends the connection: the response does not match request i.
func (loss *lossRecovery) badResponse(i uint32) {
	qp := loss.conn()
	qp.ep.counters.DropBadResponse++
	qp.failAt(i, StatusBadRespErr, AsyncQPFatal)
}

// acceptOutOfOrder accepts a response behind a gap, or in a recovery. It is written to its place at
// once; the responses before it, which the responder sent earlier, are lost.
func (loss *lossRecovery) acceptOutOfOrder(i uint32, p *wire.Packet, info *wire.OpcodeInfo,
	in *ackInfo) {
	qp := loss.conn()
	c, una := &qp.ep.counters, loss.una
	switch rec := loss.beginRecovery(); {
	case p.PSN.Before(una) || rec.isAnswered(p.PSN, una):
		c.DropStaleResponse++
	case !within(una, p.PSN):
		c.DropAhead++
	default:
		loss.acceptResponse(i, p, info, in)
	}
	if qp.state != Errored {
		loss.onExecuted(p.PSN, in)
		loss.update(in)
	}
}
