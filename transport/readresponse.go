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
	now := e.now
	slot, ok := qp.awaited(p.PSN)
	if !ok {
		e.counters.DropGhostResponse++
		return
	}
	w := &qp.send[slot]
	start := w.first
	if r.una.After(start) {
		start = r.una
	}
	if !qp.acknowledge(start, now) {
		return
	}
	if p.PSN != r.una {
		qp.responseLost()
		return
	}
	if info.Kind == wire.AtomicAck {
		qp.takeAtomic(w, slot, p, now)
	} else {
		qp.takeRead(w, slot, p, info, now)
	}
}

// awaited finds the slot of the outstanding READ or atomic that psn answers.
func (qp *QueuePair) awaited(psn wire.PSN) (slot uint32, ok bool) {
	r := &qp.req
	for i := r.done; i != r.begun; i++ {
		w := &qp.send[i&r.mask]
		if psn.Before(w.first) {
			return 0, false
		}
		if psn.Before(w.first.Add(w.packets)) {
			return i & r.mask, w.op.answered()
		}
	}
	return 0, false
}

// takeRead places the payload of a READ response.
func (qp *QueuePair) takeRead(w *sendWQE, slot uint32, p *wire.Packet, info *wire.OpcodeInfo, now units.Time) {
	r := &qp.req
	packet := uint32(r.una.Sub(w.first))
	offset := packet << qp.mtuShift
	payload := p.Payload()
	want := min(w.length-offset, qp.mtu)
	if w.op != OpRead || uint32(len(payload)) != want || !info.Last && want != qp.mtu {
		qp.ep.counters.DropBadResponse++
		qp.failHead(StatusBadRespErr)
		return
	}
	if !qp.scatterResponse(w, slot, offset, payload) {
		qp.failHead(StatusLocProtErr)
		return
	}
	qp.stats.PacketsReceived++
	qp.stats.BytesIn += uint64(len(payload))
	r.una = r.una.Add(1)
	if packet+1 == w.packets {
		r.done++
		qp.complete(w, StatusSuccess)
	}
	qp.progressed(1, units.Bytes(len(payload)), now)
}

// takeAtomic places the value that an atomic found.
func (qp *QueuePair) takeAtomic(w *sendWQE, slot uint32, p *wire.Packet, now units.Time) {
	r := &qp.req
	if !w.op.atomic() {
		qp.ep.counters.DropBadResponse++
		qp.failHead(StatusBadRespErr)
		return
	}
	var value [8]byte
	binary.NativeEndian.PutUint64(value[:], p.AtomicAck().Original())
	if !qp.scatterResponse(w, slot, 0, value[:]) {
		qp.failHead(StatusLocProtErr)
		return
	}
	qp.stats.PacketsReceived++
	r.una = r.una.Add(1)
	r.done++
	qp.complete(w, StatusSuccess)
	qp.progressed(1, units.Bytes(len(value)), now)
}

// scatterResponse writes a response into the memory that the request named.
func (qp *QueuePair) scatterResponse(w *sendWQE, slot, offset uint32, payload []byte) bool {
	if w.sges == 1 {
		dst, ok := qp.pd.memory(w.sge.Addr+uint64(offset), uint32(len(payload)), w.sge.LKey, LocalWrite)
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
