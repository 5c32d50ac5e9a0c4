package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// transmitDatagrams sends up to quantum datagrams (InfiniBand spec 9.8.3).
func (qp *QueuePair) transmitDatagrams(quantum int) (sent int, again bool) {
	e, r := qp.ep, &qp.req
	for sent < quantum {
		if r.next == r.posted || qp.state == SQDrained {
			return sent, false
		}
		slot := r.next & r.mask
		w, to := &qp.send[slot], qp.beside.datagrams[slot]
		if !to.ah.resolved() {
			qp.awaitNeighbor(e.now)
			return sent, false
		}
		b := e.frame(packet.ClassData)
		if b == nil {
			return sent, true
		}
		op := wire.UDSendOnly
		if w.op == OpSendImm {
			op = wire.UDSendOnlyImm
		}
		room := b.Room()
		to.ah.tmpl.SetDestQP(to.qpn)
		to.ah.tmpl.SetPKey(qp.pkey)
		ext, total := to.ah.tmpl.Build(room,
			wire.Fields{Op: op, Flags: wire.Solicited.When(w.flags&Solicited != 0), PSN: r.sndNxt},
			int(w.length))
		frame := room[:total]
		qkey := to.qkey
		if int32(qkey) < 0 { // the high bit asks for the queue pair's own (InfiniBand spec 10.2.5)
			qkey = qp.qkey
		}
		wire.DETH(frame[ext:ext+wire.DETHLen]).Set(qkey, qp.Num)
		ext += wire.DETHLen
		if w.op == OpSendImm {
			binary.BigEndian.PutUint32(frame[ext:], w.imm)
			ext += wire.ImmDtLen
		}
		if !qp.gather(frame[ext:ext+int(w.length)], w, slot, 0) {
			qp.failAt(r.next, StatusLocProtErr, AsyncQPFatal)
			return sent, false
		}
		to.ah.tmpl.Seal(frame)
		b.SetLen(total)
		e.push(packet.ClassData)
		qp.stats.PacketsSent++
		qp.stats.BytesSent += uint64(w.length)
		r.sndNxt = r.sndNxt.Add(1)
		r.sndMax = r.sndNxt
		r.begin()
		r.next++
		sent++
		qp.finishUnreliable()
	}
	return sent, r.next != r.posted
}

// receiveDatagram delivers a datagram, or drops it: nobody is told.
func (qp *QueuePair) receiveDatagram(p *wire.Packet) {
	e, s := qp.ep, &qp.resp
	h := p.DETH()
	payload := p.Payload()
	switch {
	case qp.state < ReadyToReceive || qp.state == Errored:
		e.counters.DropState++
		return
	case !samePartition(p.PKey, qp.pkey):
		e.counters.DropPKey++
		return
	case h.QKey() != qp.qkey:
		e.counters.DropQKey++
		return
	case !e.neighbors.Owns(p.DstIP()):
		e.counters.DropDestination++
		return
	case !qp.takeRecv():
		e.counters.UnreliableNoRecv++
		return
	}
	if p.ECN == wire.ECNCE {
		e.counters.MarkedCE++
		qp.stats.MarkedCE++
	}
	length := wire.GRHLen + uint32(len(payload))
	if length > s.recv.total {
		e.counters.UnreliableErrors++
		return // the receive serves the next one
	}
	var grh [wire.GRHLen]byte
	p.GRH(grh[:])
	status := StatusSuccess
	if !qp.scatterAt(0, grh[:]) || !qp.scatterAt(wire.GRHLen, payload) {
		status = StatusLocProtErr
	}
	s.held = false
	qp.stats.PacketsReceived++
	qp.stats.BytesIn += uint64(len(payload))
	wc := qp.recvCQ.next()
	if wc == nil {
		qp.cqOverran()
		return
	}
	wc.set(s.recv.id, status, CompRecv, qp.Num)
	wc.Flags, wc.SrcQP, wc.ByteLen = WithGRH, h.SrcQP(), length
	if p.Op == wire.UDSendOnlyImm {
		wc.Flags |= WithImm
		wc.Imm = p.Imm()
	}
	qp.recvCQ.add(wc, p.Solicited)
}
