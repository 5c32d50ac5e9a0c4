package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiveResponse handles a READ response or an atomic's (InfiniBand spec 9.7.5.1.3).
func (qp *QueuePair) receiveResponse(p *wire.Packet, info *wire.OpcodeInfo) {
	e, r := qp.ep, &qp.req
	if qp.state != ReadyToSend && qp.state != SQDrained {
		e.counters.DropState++
		return
	}
	if p.PSN.Before(r.una) {
		e.counters.DropStaleResponse++
		return
	}
	if !p.PSN.Before(r.sndMax) {
		e.counters.DropGhostResponse++
		return
	}
	// It also acknowledges every request before its own.
	in := ackInfo{now: e.now}
	i := qp.locate(p.PSN)
	w := &qp.send[i&r.mask]
	if !w.op.answered() {
		e.counters.DropGhostResponse++
		return
	}
	start := w.first
	if r.una.After(start) {
		start = r.una
	}
	whole := qp.acknowledge(start, &in)
	switch {
	case qp.state == Errored || !whole && !qp.selective():
	case r.recovery == nil && p.PSN == r.una:
		qp.takeResponse(i, p, info, &in)
	case qp.selective():
		qp.responseAhead(i, p, info, &in)
	default:
		qp.responseLost(p.PSN, &in)
	}
}

// takeResponse writes a response where its request i wants it. Without a recovery it is the next
// one expected.
func (qp *QueuePair) takeResponse(i uint32, p *wire.Packet, info *wire.OpcodeInfo, in *ackInfo) {
	r := &qp.req
	slot := i & r.mask
	w, payload := &qp.send[slot], p.Payload()
	packet := uint32(p.PSN.Sub(w.first))
	offset := packet << qp.mtuShift
	var value [8]byte
	if info.Kind == wire.AtomicAck {
		if !w.op.atomic() {
			qp.badResponse(i)
			return
		}
		binary.NativeEndian.PutUint64(value[:], p.AtomicAck().Original())
		payload = value[:]
	} else {
		want := min(w.length-offset, qp.mtu)
		if w.op != OpRead || uint32(len(payload)) != want || !info.Last && want != qp.mtu {
			qp.badResponse(i)
			return
		}
		qp.stats.BytesIn += uint64(want)
	}
	if !qp.scatterResponse(w, slot, offset, payload) {
		qp.failAt(i, StatusLocProtErr, AsyncQPFatal)
		return
	}
	qp.stats.PacketsReceived++
	if p.ECN == wire.ECNCE {
		qp.markedResponse()
	}
	if r.recovery != nil {
		qp.answer(p.PSN)
		return
	}
	r.una = r.una.Add(1)
	if packet+1 == w.packets {
		r.done++
		qp.complete(w, StatusSuccess)
	}
	qp.adm.asks(-units.Bytes(len(payload)))
	qp.progressed(1, units.Bytes(len(payload)), in)
}

// badResponse ends the connection: what came is not what request i asked for.
func (qp *QueuePair) badResponse(i uint32) {
	qp.ep.counters.DropBadResponse++
	qp.failAt(i, StatusBadRespErr, AsyncQPFatal)
}

// responseAhead takes a response behind a gap, or in a recovery: it goes where it belongs at once,
// and those before it, which the responder sent before, are lost.
func (qp *QueuePair) responseAhead(i uint32, p *wire.Packet, info *wire.OpcodeInfo,
	in *ackInfo) {
	c, una := &qp.ep.counters, qp.req.una
	switch rec := qp.beginRecovery(); {
	case p.PSN.Before(una) || rec.has(p.PSN, una):
		c.DropStaleResponse++
	case !within(una, p.PSN):
		c.DropAhead++
	default:
		qp.takeResponse(i, p, info, in)
	}
	if qp.state != Errored {
		qp.executed(p.PSN, in)
		qp.settle(in)
	}
}

// scatterResponse writes a response into the memory that the request named.
func (qp *QueuePair) scatterResponse(w *sendWQE, slot, offset uint32, payload []byte) bool {
	if w.sges == 1 {
		dst, ok := qp.pd.memory(w.sge.Addr+uint64(offset), uint32(len(payload)), w.sge.LKey,
			LocalWrite)
		if ok {
			copy(dst, payload)
		}
		return ok
	}
	return qp.eachPiece(w, slot, offset, uint32(len(payload)), LocalWrite, func(piece []byte) {
		n := copy(piece, payload)
		payload = payload[n:]
	})
}
