package transport

import (
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// respond sends the queue pair's responses: READ responses and atomic results in the order of their
// requests, then the ACK or NAK. What concerns congestion goes first, a probe of its own included.
// An ACK leaves only after all older responses, because it would imply to the peer that they were
// lost.
func (rcv *receiver) respond(quantum int) (sent int, more bool) {
	qp := rcv.conn()
	if rcv.reads.pending == 0 && rcv.pendingAck == ackNone && !qp.cong.hasCNP() &&
		!qp.cong.hasProbeToAck() &&
		!qp.cong.mayProbe() && !qp.adm.hasGateControl() && !qp.adm.hasCreditDue() ||
		qp.neighbor == nil {
		return 0, false
	}
	if !qp.isResolved() {
		qp.ep.awaitNeighbor(qp)
		return 0, false
	}
	if qp.cong.hasCNP() && !qp.cong.sendCNP() || qp.cong.hasProbeToAck() &&
		!qp.cong.sendProbeAck() ||
		qp.cong.mayProbe() &&
			!qp.cong.sendProbe(qp.ep.now) || qp.adm.hasCreditDue() && !qp.adm.sendCredit() {
		return 0, true
	}
	for range gateKinds {
		if qp.adm.hasGateControl() && !qp.adm.sendGateControl() {
			return 0, true
		}
	}
	for rcv.reads.pending > 0 {
		if sent == quantum {
			return sent, true
		}
		if !rcv.respondRead() {
			if rcv.reads.pending > 0 {
				return sent, true
			}
			break // refused: only a NAK is left to send
		}
		sent++
	}
	if rcv.pendingAck == ackNone {
		return sent, false
	}
	if !rcv.sendAck() {
		return sent, true
	}
	return sent + 1, false
}

// ackSyndrome returns the syndrome and the PSN of the ACK or NAK to send, and counts it.
func (rcv *receiver) ackSyndrome() (syndrome wire.Syndrome, psn wire.PSN) {
	qp := rcv.conn()
	c := &qp.ep.counters
	syndrome, psn = wire.SyndromeAck, rcv.ePSN.Add(wire.PSNMask) // the one before
	switch rcv.pendingAck {
	case ackRNR:
		syndrome, psn = wire.RNRSyndrome(rcv.nakCode), rcv.nakPSN
	case ackNak:
		syndrome, psn = wire.NakSyndrome(rcv.nakCode), rcv.nakPSN
		if rcv.nakCode == wire.NakPSNSequence {
			c.NakSequence++
		}
	default:
		c.AcksSent++
	}
	if t := qp.ep.trace; t != nil {
		t.onAckSent(qp, syndrome, psn)
	}
	return syndrome, psn
}

// sendAck sends the scheduled ACK or NAK. It covers everything accepted so far: one for a whole
// burst.
func (rcv *receiver) sendAck() bool {
	qp := rcv.conn()
	e := qp.ep
	class := packet.ClassAck
	// it must not overtake a response that is still in the port, or on its way
	if rcv.reads.head != rcv.reads.tail || qp.state == Errored {
		class = packet.ClassData
	}
	b := e.frame(class)
	if b == nil {
		return false
	}
	syndrome, psn := rcv.ackSyndrome()
	echo, timing, sack, bits := qp.cong.echoLen(), qp.cong.timingLen(), 0, 0
	if rcv.reorder != nil && syndrome == wire.SyndromeAck && !rcv.reorder.present.isEmpty() {
		bits = rcv.reorder.sackBits(rcv.ePSN)
		sack = extension.SACKLen(bits)
		e.counters.SelectiveAcksSent++
	}
	telemetry, flags, credit := qp.cong.echoINTLen(), qp.cong.boltEchoLen(), qp.adm.creditLen()
	if echo+timing+sack+flags+credit+telemetry > extension.MaxTLVs {
		telemetry = 0 // left for the next ACK
	}
	op, tlvs := wire.RCAck, echo+timing+telemetry+flags+sack+credit
	if tlvs > 0 {
		op = wire.XACK
	}
	frame := b.Room()
	ext, total := qp.tmpl.Build(frame, wire.Fields{Op: op, Flags: wire.BECN.When(echo > 0),
		PSN: psn}, tlvs)
	frame = frame[:total]
	if tlvs > 0 {
		wire.View[wire.XCH](frame[ext:]).Set(qp.sendTag, tlvs)
		ext += wire.XCHLen
		area := frame[ext+wire.AETHLen:][:tlvs]
		if echo > 0 {
			extension.ECNEcho(area[:echo]).Set(qp.cong.receivedMarks())
		}
		if timing > 0 {
			qp.cong.putTiming(area[echo:][:timing])
		}
		if telemetry > 0 {
			qp.cong.echoINT(extension.INTEcho(area[echo+timing:][:telemetry]))
		}
		if flags > 0 {
			extension.BoltEcho(area[echo+timing+telemetry:]).Set(qp.cong.receivedBolt())
		}
		if sack > 0 {
			rcv.reorder.writeSACK(extension.SACK(area[echo+timing+telemetry+flags:]), rcv.ePSN,
				bits)
		}
		if credit > 0 {
			qp.adm.putCredit(area[tlvs-credit:])
		}
	}
	wire.View[wire.AETH](frame[ext:]).Set(syndrome, rcv.msn)
	tos := rcv.tos
	if class == packet.ClassData {
		tos = qp.tmpl.TOS() &^ wire.ECNMask
	}
	if tos != qp.tmpl.TOS() {
		qp.tmpl.SetFrameTOS(frame, tos)
	}
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(class)
	rcv.pendingAck = ackNone
	return true
}

// respondRead sends the next packet of a READ response or atomic result.
func (rcv *receiver) respondRead() bool {
	qp := rcv.conn()
	q := &rcv.reads
	if part := q.repeated(); part != nil {
		en := q.at(part.entry)
		switch rcv.sendResponse(en, part.next, part.span(en)) {
		case sendNoRoom:
			return false
		case sendFailed:
			q.removePart(0)
			qp.ep.counters.RepeatsRefused++
		default:
			q.sentAgain(part)
		}
		return true
	}
	en := q.oldest()
	switch rcv.sendResponse(en, en.next, en.span()) {
	case sendNoRoom:
		return false
	case sendFailed:
		if !en.done {
			rcv.onRegionDeregistered(en.first.Add(en.next))
			return false
		}
		// It was answered in full before. The peer's program may know that, and ours may have taken
		// its memory back: this request must not end the connection.
		q.abandon(en)
		qp.ep.counters.RepeatsRefused++
	default:
		q.sent(en)
	}
	return true
}

// onRegionDeregistered refuses the rest of a READ whose memory was deregistered meanwhile.
func (rcv *receiver) onRegionDeregistered(psn wire.PSN) {
	qp := rcv.conn()
	rcv.reads.clear()
	qp.ep.counters.NakAccess++
	rcv.nakCode, rcv.nakPSN, rcv.pendingAck = wire.NakRemoteAccess, psn, ackNak
	qp.ep.scheduleResponses(qp)
	qp.fatal(AsyncQPAccessErr)
}

// sendResponse sends packet k of a READ response, of which in is the span, or an atomic's result.
// It fails if the memory is no longer registered.
func (rcv *receiver) sendResponse(en *readEntry, k uint32, in span) sendStatus {
	qp := rcv.conn()
	e := qp.ep
	b := e.frame(packet.ClassData)
	if b == nil {
		return sendNoRoom
	}
	room := b.Room()
	psn := en.first.Add(k)
	if en.atomic {
		ext, total := qp.tmpl.Build(room, wire.Fields{Op: wire.RCAtomicAck, PSN: psn}, 0)
		frame := room[:total]
		wire.View[wire.AETH](frame[ext:]).Set(wire.SyndromeAck, en.msn)
		wire.View[wire.BE64](frame[ext+wire.AETHLen:]).Set(en.found)
		qp.tmpl.Seal(frame)
		rcv.pushResponse(b, total)
		if e.trace != nil {
			e.trace.onResponse(qp, wire.RCAtomicAck, psn, 0)
		}
		return sendDone
	}
	offset := k << qp.mtuShift
	size := min(in.length-offset, qp.mtu)
	src, ok := rcv.pd.source(en.addr+uint64(offset), size, en.rkey, RemoteRead, en.length-offset,
		offset == 0)
	if !ok {
		return sendFailed
	}
	at := placeOf(k == in.begin, k+1 == in.end)
	ext, total := qp.tmpl.Build(room, wire.Fields{Op: responses[at], PSN: psn}, int(size))
	frame := room[:total]
	if at != placeMiddle {
		wire.View[wire.AETH](frame[ext:]).Set(wire.SyndromeAck, en.msn)
		ext += wire.AETHLen
	}
	qp.tmpl.SealCopy(frame, ext, src)
	rcv.pushResponse(b, total)
	if e.trace != nil {
		e.trace.onResponse(qp, responses[at], psn, size)
	}
	return sendDone
}

// pushResponse queues a sealed response of n bytes for transmission.
func (rcv *receiver) pushResponse(b *packet.Buf, n int) {
	e := rcv.conn().ep
	b.SetLen(n)
	e.push(packet.ClassData)
	e.readsServedFirst = true
}

var responses = [...]wire.Opcode{
	placeFirst: wire.RCReadResponseFirst, placeMiddle: wire.RCReadResponseMiddle,
	placeLast: wire.RCReadResponseLast, placeOnly: wire.RCReadResponseOnly,
}
