package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// place is where in its message a packet stands.
type place uint8

const (
	placeFirst place = iota
	placeMiddle
	placeLast
	placeOnly
)

func placeOf(first, last bool) place {
	switch {
	case first && last:
		return placeOnly
	case first:
		return placeFirst
	case last:
		return placeLast
	}
	return placeMiddle
}

// opcodesRC names the packets of each operation by their place (InfiniBand spec table 38).
var opcodesRC = [OpRead][4]wire.Opcode{
	OpSend:     {wire.RCSendFirst, wire.RCSendMiddle, wire.RCSendLast, wire.RCSendOnly},
	OpSendImm:  {wire.RCSendFirst, wire.RCSendMiddle, wire.RCSendLastImm, wire.RCSendOnlyImm},
	OpSendInv:  {wire.RCSendFirst, wire.RCSendMiddle, wire.RCSendLastInv, wire.RCSendOnlyInv},
	OpWrite:    {wire.RCWriteFirst, wire.RCWriteMiddle, wire.RCWriteLast, wire.RCWriteOnly},
	OpWriteImm: {wire.RCWriteFirst, wire.RCWriteMiddle, wire.RCWriteLastImm, wire.RCWriteOnlyImm},
}

// opcodesUC does so for the unreliable connection.
var opcodesUC = [OpRead][4]wire.Opcode{
	OpSend:     {wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLast, wire.UCSendOnly},
	OpSendImm:  {wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLastImm, wire.UCSendOnlyImm},
	OpWrite:    {wire.UCWriteFirst, wire.UCWriteMiddle, wire.UCWriteLast, wire.UCWriteOnly},
	OpWriteImm: {wire.UCWriteFirst, wire.UCWriteMiddle, wire.UCWriteLastImm, wire.UCWriteOnlyImm},
}

// transmit sends up to quantum packets of the queue pair's requests. It answers how many, and
// whether it would send more had it another turn; when it must wait for an event (an ACK, a timer,
// a neighbour) that event gives it its next turn.
func (snd *sender) transmit(now units.Time, quantum int) (sent int, again bool) {
	qp := snd.conn()
	if qp.ep.precedence == nil {
		return snd.transmitNow(now, quantum)
	}
	if qp.cong.gives() {
		return 0, false
	}
	sent, again = snd.transmitNow(now, quantum)
	qp.cong.reclaim()
	return sent, again
}

// transmitNow does so, of a queue pair that no other one goes before.
func (snd *sender) transmitNow(now units.Time, quantum int) (sent int, again bool) {
	sent, again = snd.transmitPackets(now, quantum)
	snd.conn().cong.tellSent(now)
	return sent, again
}

func (snd *sender) transmitPackets(now units.Time, quantum int) (sent int, again bool) {
	qp := snd.conn()
	if qp.state != ReadyToSend && qp.state != SQDrained {
		return 0, false
	}
	if qp.Type == UD {
		return snd.transmitDatagrams(quantum)
	}
	if qp.loss.waitsRNR() || qp.cong.isHeld() {
		return 0, false
	}
	if (snd.next != snd.posted || qp.loss.isRecovering()) && !qp.resolved() {
		qp.loss.awaitNeighbor(now)
		return 0, false
	}
	if qp.loss.isRecovering() {
		var status sendStatus
		if sent, status = qp.loss.resend(now, quantum); status != sendDone {
			return sent, status == sendNoRoom
		}
	}
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
			if w.flags&Fence != 0 && snd.next == snd.begun && !snd.cold().reads.isEmpty() {
				return sent, false
			}
		}
		if qp.cong.hasRate() && sent > 0 { // since the packet before
			return sent, true
		}
		var status sendStatus
		if w.op.answered() {
			status = snd.sendRead(w, now)
		} else {
			status = snd.sendData(w, now)
		}
		switch status {
		case sendBlocked:
			return sent, false
		case sendNoRoom:
			return sent, true
		case sendFailed:
			qp.cong.tellSent(now)
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
	sendNoRoom             // in the port
	sendFailed             // the local memory is not what the request says
)

// open says whether the window admits n bytes more of what was never sent. When it has become
// smaller since the newest packet left, and that asked for no ACK, one more must: nothing else
// would ever open it.
func (loss *lossRecovery) open(n uint32) bool {
	qp := loss.conn()
	return (qp.cong.fits(n) || loss.unasked) && qp.snd.nextPSN().Sub(loss.una) < qp.reach()
}

// fits says whether the window admits n more bytes. Something must always be in flight, or no ACK
// would ever open it: a single packet passes a window smaller than itself.
func (cong *congestion) fits(n uint32) bool {
	qp := cong.conn()
	return qp.loss.flight() == 0 || qp.loss.flight()+units.Bytes(n) <= cong.window
}

// acknowledgements are what an algorithm hears that is clocked by them: it gets one for each
// packet, or for as many as the responder polls at a time.
var acknowledgements = cc.Events(cc.ACK, cc.ECN, cc.RTT)

// sendData sends the next packet of a SEND or WRITE.
func (snd *sender) sendData(w *sendWQE, now units.Time) sendStatus {
	qp := snd.conn()
	size := min(w.length-snd.packet<<qp.mtuShift, qp.mtu)
	if !qp.loss.open(size) || qp.adm != nil && !qp.adm.admitsNext(w, snd.packet, now) {
		return sendBlocked
	}
	ends := snd.packet+1 == w.packets
	ask := qp.Type == RC && (ends || qp.cong.isClockedByAcks() ||
		snd.packet%ackEvery == ackEvery-1 || !qp.cong.roomAfter(size, qp.mtu) ||
		qp.loss.isProbing() ||
		qp.loss.late(now))
	if status := snd.buildData(w, snd.slot(snd.next), snd.packet, ask); status != sendDone {
		return status
	}
	if ask {
		qp.adm.onAsked(snd.sndNxt, now)
	}
	snd.onSent(1, size, ask, now)
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

// buildData puts packet k of a SEND or WRITE in line to leave; ask asks for an ACK.
func (snd *sender) buildData(w *sendWQE, slot, k uint32, ask bool) sendStatus {
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
		outer, extra = wire.XDATA, wire.INTLen(qp.cong.telemetry())+int(op.Info().Ext)
	} else if qp.cong.hasBolt() {
		outer, extra = wire.XDATA, wire.BoltLen+int(op.Info().Ext)
	}
	flags, a := wire.Solicited.When(ends && w.flags&Solicited != 0), qp.adm
	if a != nil {
		flags |= a.onLeave(e.now)
		if a.hasGrants() {
			outer, extra = wire.XDATA, wire.GrantLen+int(op.Info().Ext)
		}
	}
	if ask {
		flags |= wire.AckReq | wire.AskTiming.When(qp.cong.asksTiming())
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
		wire.RETH(frame[data:data+wire.RETHLen]).Set(w.remoteAddr, w.rkey, w.length)
		data += wire.RETHLen
	}
	if ends && (w.op == OpSendImm || w.op == OpSendInv || w.op == OpWriteImm) {
		binary.BigEndian.PutUint32(frame[data:], w.imm)
		data += wire.ImmDtLen
	}
	if !snd.gather(frame[data:data+int(size)], w, slot, offset) {
		return sendFailed
	}
	if class, ok := a.trafficClass(); ok {
		qp.tmpl.SetFrameTOS(frame, class)
	}
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(qp.class)
	return sendDone
}

// markBegun notes that the request at next has left in part.
func (snd *sender) markBegun() {
	if snd.next == snd.begun {
		snd.begun++
	}
}

// roomAfter says whether a full packet may follow this one of size bytes without an ACK.
func (cong *congestion) roomAfter(size, mtu uint32) bool {
	qp := cong.conn()
	return qp.loss.flight()+units.Bytes(size)+units.Bytes(mtu) <= cong.window
}

// late says that the timer has run for a while: with a paced flow the next packet that would ask
// for an ACK may come after it has expired.
func (loss *lossRecovery) late(now units.Time) bool {
	return loss.rtoAt != 0 && now.After(loss.rtoAt.Add(-loss.timeout/4*3))
}

// finishUnreliable completes what has left: nobody will acknowledge it.
func (snd *sender) finishUnreliable() {
	qp := snd.conn()
	qp.loss.acceptAll(snd.sndNxt)
	for snd.done != snd.next {
		w := snd.at(snd.done)
		snd.done++
		snd.complete(w, StatusSuccess)
	}
	qp.noticeDrained()
}

// onSent moves on by n PSNs that carry, or ask for, size bytes; ask says whether an ACK was asked
// for.
func (snd *sender) onSent(n, size uint32, ask bool, now units.Time) {
	qp, first := snd.conn(), snd.sndNxt
	snd.count(size)
	snd.sndNxt = first.Add(n)
	qp.loss.onSent(first, n, size, ask, now)
	qp.cong.onSent(size)
	qp.loss.expectAnswer(now)
	if qp.cong.expects(cc.TX) {
		qp.cong.addSent(first, n, size, now)
	}
}

// count counts a packet that carries, or asks for, size bytes.
func (snd *sender) count(size uint32) {
	snd.packetsSent++
	snd.bytesSent += uint64(size)
}

// sendRead sends a READ request for as much of the rest of the message as the window admits, or an
// atomic. The PSNs of the request are those of its responses.
func (snd *sender) sendRead(w *sendWQE, now units.Time) sendStatus {
	qp := snd.conn()
	first := snd.sndNxt == qp.loss.highest()
	if first && snd.cold().reads.isFull() {
		return sendBlocked
	}
	offset := snd.packet << qp.mtuShift
	size, packets := w.length-offset, w.packets-snd.packet
	if !qp.loss.open(min(size, qp.mtu)) {
		return sendBlocked
	}
	if !first { // again, in the same pieces
		packets = uint32(snd.cold().reads.end(snd.sndNxt).Sub(snd.sndNxt))
	} else {
		packets = min(packets, snd.readRoom())
	}
	size = min(size, packets<<qp.mtuShift)
	if status := snd.buildRead(w, snd.slot(snd.next), snd.packet, size); status != sendDone {
		return status
	}
	if first {
		snd.cold().reads.add(snd.sndNxt.Add(packets))
	}
	snd.onSent(packets, size, true, now)
	qp.adm.asks(units.Bytes(size))
	snd.markBegun()
	if snd.packet += packets; snd.packet == w.packets {
		snd.packet = 0
		snd.next++
	}
	return sendDone
}

// buildRead puts a request for size bytes from packet k of a READ on, or an atomic, in line to
// leave.
func (snd *sender) buildRead(w *sendWQE, slot, k, size uint32) sendStatus {
	qp := snd.conn()
	e := qp.ep
	b := e.frame(qp.class)
	if b == nil {
		return sendNoRoom
	}
	room := b.Room()
	fields := wire.Fields{Op: wire.RCReadRequest, Flags: wire.AckReq, PSN: w.first.Add(k)}
	switch w.op {
	case OpCmpSwap:
		fields.Op = wire.RCCmpSwap
	case OpFetchAdd:
		fields.Op = wire.RCFetchAdd
	}
	ext, total := qp.tmpl.Build(room, fields, 0)
	frame := room[:total]
	if w.op == OpRead {
		wire.RETH(frame[ext:ext+wire.RETHLen]).Set(w.remoteAddr+uint64(k<<qp.mtuShift), w.rkey,
			size)
	} else {
		args := snd.q.atomics[slot]
		swapAdd, compare := args.compareAdd, uint64(0)
		if w.op == OpCmpSwap {
			swapAdd, compare = args.swap, args.compareAdd
		}
		wire.AtomicETH(frame[ext:ext+wire.AtomicETHLen]).Set(w.remoteAddr, w.rkey, swapAdd, compare)
	}
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(qp.class)
	return sendDone
}

// failAt ends the request at index i of the send queue with an error, after flushing those before
// it, and everything behind it by the error state.
func (qp *QueuePair) failAt(i uint32, s Status, kind AsyncKind) {
	qp.snd.failAt(i, s)
	qp.fatal(kind)
}

func (snd *sender) failAt(i uint32, s Status) {
	for ; snd.done != i; snd.done++ {
		snd.complete(snd.oldest(), StatusWRFlushErr)
	}
	if !snd.isIdle() {
		snd.finishOldest(s)
	}
}

// failHead ends the oldest outstanding request with an error.
func (qp *QueuePair) failHead(s Status) { qp.failAt(qp.snd.head(), s, AsyncQPFatal) }

// left answers what is posted and not acknowledged. In a recovery what came behind the gap is not
// acknowledged either.
func (snd *sender) left() units.Bytes {
	qp := snd.conn()
	if snd.done == snd.begun {
		return snd.cold().pending
	}
	w := snd.at(snd.done)
	return snd.cold().pending - snd.span(w, 0, uint32(qp.loss.oldest().Sub(w.first)))
}

// outstanding returns what Event.Left reports: 0 only when nothing is posted, so messages without
// payload count as a byte.
func (snd *sender) outstanding() units.Bytes {
	if snd.done == snd.posted {
		return 0
	}
	return max(1, snd.left())
}

// beginWork tells congestion control that there is something to send again, before it leaves.
func (cong *congestion) beginWork(now units.Time) {
	qp := cong.conn()
	cong.fresh = false
	if qp.state == ReadyToSend || qp.state == SQDrained {
		cong.report(cc.Event{Kind: cc.POST, PSN: uint32(qp.loss.oldest())}, now)
	}
}

// report tells congestion control of an event, and takes over what it decides.
func (cong *congestion) report(ev cc.Event, now units.Time) {
	qp := cong.conn()
	e := qp.ep
	e.event = ev
	e.event.Flow, e.event.SndNxt, e.event.InFlight, e.event.Left = cong.flow,
		uint32(qp.snd.nextPSN()),
		qp.loss.flight(), qp.snd.outstanding()
	e.cc.Report(&e.event, now)
	cong.heedDecision()
}
