package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// transmit sends up to quantum packets of the queue pair's requests. It returns how many, and
// whether it would send more in another turn. If it must wait for an event (an ACK, a timer, a
// neighbour), that event schedules the queue pair again.
func (snd *sender) transmit(now units.Time, quantum int) (sent int, more bool) {
	qp := snd.conn()
	if qp.ep.precedence == nil {
		return snd.transmitNow(now, quantum)
	}
	if qp.cong.mustYield() {
		return 0, false
	}
	sent, more = snd.transmitNow(now, quantum)
	qp.cong.updateBacklogged()
	return sent, more
}

// transmitNow does so for a queue pair that need not let another one go first.
func (snd *sender) transmitNow(now units.Time, quantum int) (sent int, more bool) {
	sent, more = snd.transmitPackets(now, quantum)
	snd.conn().cong.reportSent(now)
	snd.returnQueue() // of an unreliable service
	return sent, more
}

func (snd *sender) transmitPackets(now units.Time, quantum int) (sent int, more bool) {
	qp := snd.conn()
	if qp.state != ReadyToSend && qp.state != SQDrained {
		return 0, false
	}
	if qp.Type == UD {
		return snd.transmitDatagrams(quantum)
	}
	if qp.loss.isWaitingRNR() || qp.cong.isHeld() {
		return 0, false
	}
	if (snd.next != snd.posted || qp.loss.isRecovering()) && !qp.isResolved() {
		snd.executeLocals()
		if snd.hasNext() && !snd.isDraining() || qp.loss.isRecovering() {
			qp.loss.awaitNeighbor(now)
		}
		return 0, false
	}
	if qp.loss.isRecovering() {
		var status sendStatus
		if sent, status = qp.loss.retransmit(now, quantum); status != sendDone {
			return sent, status == sendNoRoom
		}
	}
	sent += snd.transmitRun(now, quantum-sent)
	for sent < quantum {
		if snd.next == snd.posted || qp.state == SQDrained && snd.next == snd.begun {
			return sent, false
		}
		if qp.loss.isProbing() && snd.sndNxt != qp.loss.oldest() {
			return sent, false
		}
		w := snd.at(snd.next)
		if snd.packet == 0 {
			w.first = snd.sndNxt
			if w.flags&fence != 0 && snd.next == snd.begun && !snd.cold().reads.isEmpty() {
				return sent, false
			}
		}
		if qp.cong.hasRate() && sent > 0 { // set by the packet before
			return sent, true
		}
		var status sendStatus
		switch {
		case w.op.hasPayload():
			status = snd.sendData(w, now)
		case w.op.isLocal():
			if status = snd.executeLocal(w); status == sendDone {
				continue // without a packet
			}
		default:
			status = snd.sendRead(w, now)
		}
		switch status {
		case sendBlocked:
			return sent, false
		case sendNoRoom:
			return sent, true
		case sendFailed:
			qp.cong.reportSent(now)
			qp.failAt(snd.next, StatusLocProtErr, AsyncQPFatal)
			return sent, false
		}
		sent++
	}
	return sent, snd.next != snd.posted
}

type sendStatus uint8

const (
	sendDone    sendStatus = iota
	sendBlocked            // by the window or the limit of outstanding READs
	sendNoRoom             // the port has none
	sendFailed             // the local memory does not match the request
)

// hasWindow reports whether the window admits n more bytes that were never sent. If it has become
// smaller since the newest packet left, and that asked for no ACK, one more packet must leave:
// nothing else would open the window again.
func (loss *lossRecovery) hasWindow(n uint32) bool {
	qp := loss.conn()
	return (qp.cong.hasRoom(n) || loss.noAckRequested) &&
		qp.snd.nextPSN().Sub(loss.una) < qp.maxPSNsInFlight()
}

// hasRoom reports whether the window admits n more bytes. Something must always be in flight, or no
// ACK would open the window: a single packet passes a window smaller than itself.
func (cong *congestion) hasRoom(n uint32) bool {
	qp := cong.conn()
	return qp.loss.flight() == 0 || qp.loss.flight()+units.Bytes(n) <= cong.window
}

// acknowledgements are the events of an algorithm that is clocked by ACKs. Each of its packets asks
// for one; the responder sends one for as many packets as it polls at a time.
var acknowledgements = cc.Events(cc.ACK, cc.ECN, cc.RTT)

// sendData sends the next packet of a SEND or WRITE.
func (snd *sender) sendData(w *sendWQE, now units.Time) sendStatus {
	qp := snd.conn()
	size := min(w.length-snd.packet<<qp.mtuShift, qp.mtu)
	if !qp.loss.hasWindow(size) || qp.adm != nil && !qp.adm.admitsNext(w, snd.packet, now) {
		return sendBlocked
	}
	ends := snd.packet+1 == w.packets
	ackRequest := qp.Type == RC && (ends || qp.cong.isClockedByAcks() ||
		snd.packet%ackEvery == ackEvery-1 || !qp.cong.hasRoomAfter(size, qp.mtu) ||
		qp.loss.isProbing() ||
		qp.loss.isTimeoutNear(now))
	if status := snd.buildData(w, snd.slot(snd.next), snd.packet, ackRequest); status != sendDone {
		return status
	}
	if ackRequest {
		qp.adm.onAckRequested(snd.sndNxt, now)
	}
	snd.onSent(1, size, ackRequest, now)
	snd.packet++
	snd.markBegun()
	if ends {
		snd.packet = 0
		snd.next++
		if qp.Type == UC {
			snd.finishUnreliable()
		}
	}
	return sendDone
}

// buildData builds packet k of a SEND or WRITE and queues it for transmission, with or without a
// request for an ACK.
func (snd *sender) buildData(w *sendWQE, slot, k uint32, ackRequest bool) sendStatus {
	qp := snd.conn()
	e := qp.ep
	b := e.frame(qp.class)
	if b == nil {
		return sendNoRoom
	}
	offset := k << qp.mtuShift
	size := min(w.length-offset, qp.mtu)
	at := placeOf(k == 0, k+1 == w.packets)
	op := opcodesRC[w.op][at]
	if qp.Type == UC {
		op = opcodesUC[w.op][at]
	}
	ends := at >= placeLast
	room := b.Room()
	outer, extra := op, 0
	if qp.cong.hasTelemetry() {
		outer, extra = wire.XDATA, extension.INTLen(qp.cong.telemetry())+int(op.Info().Ext)
	} else if qp.cong.hasBolt() {
		outer, extra = wire.XDATA, extension.BoltLen+int(op.Info().Ext)
	}
	flags, a := wire.Solicited.When(ends && w.flags&solicited != 0), qp.adm
	if a != nil {
		flags |= a.onSent(e.now)
		if a.hasGrants() {
			outer, extra = wire.XDATA, extension.GrantLen+int(op.Info().Ext)
		}
	}
	if ackRequest {
		flags |= wire.AckReq | wire.AskTiming.When(qp.cong.requestsTiming())
	}
	ext, total := qp.tmpl.Build(room, wire.Fields{Op: outer, Flags: flags, PSN: w.first.Add(k)},
		extra+int(size))
	frame := room[:total]
	data := ext
	if qp.cong.hasTelemetry() {
		data += qp.cong.openINT(frame[ext:], op)
	} else if qp.cong.hasBolt() {
		data += qp.cong.openBolt(frame[ext:], op)
	} else if a != nil && a.hasGrants() {
		data += a.openGrant(frame[ext:], op)
	}
	if (w.op == OpWrite || w.op == OpWriteImm) && k == 0 {
		wire.View[wire.RETH](frame[data:]).Set(w.remoteAddr, w.rkey, w.length)
		data += wire.RETHLen
	}
	if ends && (w.op == OpSendImm || w.op == OpSendInv || w.op == OpWriteImm) {
		binary.BigEndian.PutUint32(frame[data:], w.imm)
		data += wire.ImmDtLen
	}
	if class, ok := a.trafficClass(); ok {
		qp.tmpl.SetFrameTOS(frame, class)
	}
	if !snd.sealPayload(&qp.tmpl, frame, data, w, slot, offset, size) {
		return sendFailed
	}
	b.SetLen(total)
	e.push(qp.class)
	return sendDone
}

// markBegun records that a packet of the request at next has left.
func (snd *sender) markBegun() {
	if snd.next == snd.begun {
		snd.begun++
	}
}

// hasRoomAfter reports whether a full packet may follow this one, of size bytes, without an ACK.
func (cong *congestion) hasRoomAfter(size, mtu uint32) bool {
	qp := cong.conn()
	return qp.loss.flight()+units.Bytes(size)+units.Bytes(mtu) <= cong.window
}

// isTimeoutNear reports whether most of the timeout has passed: the next packet of a paced flow
// that would ask for an ACK may leave after it has expired.
func (loss *lossRecovery) isTimeoutNear(now units.Time) bool {
	return loss.rtoAt != 0 && now.After(loss.rtoAt.Add(-loss.timeout/4*3))
}

// finishUnreliable completes what has left: it will not be acknowledged.
func (snd *sender) finishUnreliable() {
	qp := snd.conn()
	qp.loss.acceptAll(snd.sndNxt)
	for snd.done != snd.next {
		w := snd.at(snd.done)
		snd.done++
		snd.complete(w, StatusSuccess)
	}
	qp.checkDrained()
}

// onSent records that n PSNs left that carry, or ask for, size bytes, with or without a request
// for an ACK.
func (snd *sender) onSent(n, size uint32, ackRequest bool, now units.Time) {
	qp, first := snd.conn(), snd.sndNxt
	snd.count(size)
	if t := qp.ep.trace; t != nil {
		t.onSent(qp, first, n, size)
	}
	snd.sndNxt = first.Add(n)
	qp.loss.onSent(first, n, size, ackRequest, now)
	qp.cong.onSent(size)
	qp.loss.expectAck(now)
	if qp.cong.expects(cc.TX) {
		qp.cong.addSent(first, n, size, now)
	}
}

// count counts a packet that carries, or asks for, size bytes.
func (snd *sender) count(size uint32) {
	snd.packetsSent++
	snd.bytesSent += uint64(size)
}

// onSent records that n PSNs from first on are in flight that carry, or ask for, size bytes.
func (loss *lossRecovery) onSent(first wire.PSN, n, size uint32, ackRequested bool,
	now units.Time) {
	qp, next := loss.conn(), first.Add(n)
	loss.noAckRequested = !ackRequested
	if qp.Type == RC {
		loss.inFlight += units.Bytes(size)
		qp.ep.responseWait.onSent(now)
	} else {
		loss.una = next // not acknowledged: no window holds back the rest of the message
	}
	if !next.After(loss.sndMax) {
		loss.cold().retransmitted++
		qp.ep.counters.Retransmitted++
		qp.cong.forgetSendTimes(first, n)
		return
	}
	loss.sndMax = next
	if qp.Type == RC {
		qp.cong.recordSendTime(first, n, now)
	}
}

// nextPacket returns how many bytes the next packet carries, or asks for; ok is false if it may not
// leave, whatever the pace. transmit checks what nextPacket does not.
func (snd *sender) nextPacket(now units.Time) (size units.Bytes, ok bool) {
	qp := snd.conn()
	switch {
	case qp.loss.isWaitingRNR() || qp.cong.isHeld():
		return 0, false
	case qp.loss.isRecovering() && qp.loss.hasLost():
		return units.Bytes(qp.mtu), qp.loss.hasRoomAgain(qp.loss.oldestLost(), qp.mtu) &&
			qp.loss.maySendLost() &&
			qp.adm.admitsLost(now)
	case snd.next == snd.posted:
		return 0, false
	}
	w := snd.at(snd.next)
	if w.op.isLocal() {
		return 0, snd.done == snd.next
	}
	size = units.Bytes(w.length - snd.packet<<qp.mtuShift)
	first := min(size, units.Bytes(qp.mtu))
	if w.op.hasResponse() {
		size = min(size, units.Bytes(snd.readRoom())<<qp.mtuShift)
	} else {
		size = first
	}
	return size, qp.loss.hasWindow(uint32(first)) && (!w.op.hasPayload() || qp.adm.admitsNext(w,
		snd.packet,
		now))
}
