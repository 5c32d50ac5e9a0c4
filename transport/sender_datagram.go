package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// transmitDatagrams sends up to quantum datagrams (InfiniBand spec 9.8.3).
func (snd *sender) transmitDatagrams(quantum int) (sent int, more bool) {
	qp := snd.conn()
	e := qp.ep
	for sent < quantum {
		if snd.next == snd.posted || qp.state == SQDrained {
			return sent, false
		}
		slot := snd.slot(snd.next)
		w, to := &snd.q.wqes[slot], snd.q.datagrams[slot]
		if !to.ah.resolved() {
			qp.loss.awaitNeighbor(e.now)
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
			wire.Fields{Op: op, Flags: wire.Solicited.When(w.flags&solicited != 0),
				PSN: snd.sndNxt},
			int(w.length))
		frame := room[:total]
		qkey := to.qkey
		if int32(qkey) < 0 { // the high bit selects the queue pair's own (InfiniBand spec 10.2.5)
			qkey = qp.qkey
		}
		wire.View[wire.DETH](frame[ext:]).Set(qkey, qp.Num)
		ext += wire.DETHLen
		if w.op == OpSendImm {
			binary.BigEndian.PutUint32(frame[ext:], w.imm)
			ext += wire.ImmDtLen
		}
		if !snd.sealPayload(&to.ah.tmpl, frame, ext, w, slot, 0, w.length) {
			qp.failAt(snd.next, StatusLocProtErr, AsyncQPFatal)
			return sent, false
		}
		b.SetLen(total)
		e.push(packet.ClassData)
		if t := e.trace; t != nil {
			t.onResponse(qp, op, snd.sndNxt, w.length)
		}
		snd.packetsSent++
		snd.bytesSent += uint64(w.length)
		snd.sndNxt = snd.sndNxt.Add(1)
		qp.loss.setHighest(snd.sndNxt)
		snd.markBegun()
		snd.next++
		sent++
		snd.finishUnreliable()
	}
	return sent, snd.next != snd.posted
}
