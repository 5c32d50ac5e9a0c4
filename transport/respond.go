package transport

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// respond sends what the queue pair owes its peer: READ responses and atomic results in the order
// of their requests, then the ACK or NAK; before them what is about congestion, its own probe too.
// Only when nothing older is left to say does an ACK go out, for it would tell the peer that those
// responses were lost.
func (qp *QueuePair) respond(quantum int) (sent int, again bool) {
	if qp.reads.pending == 0 && qp.resp.answer == answerNone && !qp.owesCNP() && !qp.owesProbe() &&
		!qp.mayProbe() && !qp.gateSpeaks() && !qp.owesCredit() || qp.neighbor == nil {
		return 0, false
	}
	if !qp.resolved() {
		qp.ep.await(qp)
		return 0, false
	}
	if qp.owesCNP() && !qp.sendCNP() || qp.owesProbe() && !qp.sendProbeAck() || qp.mayProbe() &&
		!qp.sendProbe(qp.ep.now) || qp.owesCredit() && !qp.sendCredit() {
		return 0, true
	}
	for range gateKinds {
		if qp.gateSpeaks() && !qp.sendGateNotice() {
			return 0, true
		}
	}
	for qp.reads.pending > 0 {
		if sent == quantum {
			return sent, true
		}
		if !qp.respondRead() {
			if qp.reads.pending > 0 {
				return sent, true
			}
			break // refused, and a NAK is all that is left to say
		}
		sent++
	}
	if qp.resp.answer == answerNone {
		return sent, false
	}
	if !qp.sendAnswer() {
		return sent, true
	}
	return sent + 1, false
}

// sendAnswer sends the ACK or NAK that is owed. It covers everything accepted so far: one for a
// whole burst.
func (qp *QueuePair) sendAnswer() bool {
	e, s := qp.ep, &qp.resp
	class := packet.ClassAck
	// it must not overtake a response that is still in the port, or on its way
	if qp.reads.head != qp.reads.tail || qp.state == Errored {
		class = packet.ClassData
	}
	b := e.frame(class)
	if b == nil {
		return false
	}
	syndrome, psn := wire.SyndromeAck, s.ePSN.Add(wire.PSNMask) // the one before
	switch s.answer {
	case answerRNR:
		syndrome, psn = wire.RNRSyndrome(s.nakCode), s.nakPSN
	case answerNak:
		syndrome, psn = wire.NakSyndrome(s.nakCode), s.nakPSN
		if s.nakCode == wire.NakPSNSequence {
			e.counters.NakSequence++
		}
	default:
		e.counters.AcksSent++
	}
	echo, timing, sack, bits := qp.echoLen(), qp.timingLen(), 0, 0
	if s.ahead != nil && syndrome == wire.SyndromeAck && !s.ahead.here.empty() {
		bits = s.ahead.sackBits(s.ePSN)
		sack = wire.SACKLen(bits)
		e.counters.SelectiveAcksSent++
	}
	telemetry, flags, credit := qp.echoINTLen(), qp.boltEchoLen(), qp.creditLen()
	if echo+timing+sack+flags+credit+telemetry > wire.MaxTLVs {
		telemetry = 0 // the next ACK
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
		wire.XCH(frame[ext:]).Set(qp.sendTag, tlvs)
		ext += wire.XCHLen
		area := frame[ext+wire.AETHLen:][:tlvs]
		if echo > 0 {
			wire.ECNEcho(area[:echo]).Set(qp.marks.seen)
		}
		if timing > 0 {
			qp.tellTiming(area[echo:][:timing])
		}
		if telemetry > 0 {
			qp.echoINT(wire.INTEcho(area[echo+timing:][:telemetry]))
		}
		if flags > 0 {
			wire.BoltEcho(area[echo+timing+telemetry:]).Set(qp.marks.bolt.seen)
		}
		if sack > 0 {
			s.ahead.writeSACK(wire.SACK(area[echo+timing+telemetry+flags:]), s.ePSN, bits)
		}
		if credit > 0 {
			qp.putCredit(area[tlvs-credit:])
		}
	}
	wire.AETH(frame[ext:ext+wire.AETHLen]).Set(syndrome, s.msn)
	tos := s.tos
	if class == packet.ClassData {
		tos = qp.tmpl.TOS() &^ wire.ECNMask
	}
	if tos != qp.tmpl.TOS() {
		qp.tmpl.SetFrameTOS(frame, tos)
	}
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(class)
	s.answer = answerNone
	return true
}

// respondRead sends the next packet of what READs and atomics wait for.
func (qp *QueuePair) respondRead() bool {
	q := &qp.reads
	if part := q.repeated(); part != nil {
		en := q.at(part.entry)
		switch qp.sendResponse(en, part.next, part.span(en)) {
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
	switch qp.sendResponse(en, en.next, en.span()) {
	case sendNoRoom:
		return false
	case sendFailed:
		if !en.done {
			qp.regionGone(en.first.Add(en.next))
			return false
		}
		// It was answered in full before, the peer may have told the program so, and the program
		// taken its memory back: this request is no reason to end the connection.
		q.giveUp(en)
		qp.ep.counters.RepeatsRefused++
	default:
		q.sent(en)
	}
	return true
}

// regionGone refuses what is left of a READ whose memory was deregistered meanwhile.
func (qp *QueuePair) regionGone(psn wire.PSN) {
	qp.reads.clear()
	qp.ep.counters.NakAccess++
	qp.resp.nakCode, qp.resp.nakPSN, qp.resp.answer = wire.NakRemoteAccess, psn, answerNak
	qp.ep.owe(qp)
	qp.fatal(AsyncQPAccessErr)
}

// sendResponse sends packet k of a READ response, which stands in a span, or an atomic's result. It
// fails when the memory is not registered any more.
func (qp *QueuePair) sendResponse(en *readEntry, k uint32, in span) sendStatus {
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
		wire.AETH(frame[ext:ext+wire.AETHLen]).Set(wire.SyndromeAck, en.msn)
		wire.AtomicAckETH(frame[ext+wire.AETHLen : ext+wire.AETHLen+
			wire.AtomicAckETHLen]).SetOriginal(en.found)
		qp.finishResponse(b, frame)
		return sendDone
	}
	offset := k << qp.mtuShift
	size := min(in.length-offset, qp.mtu)
	src, ok := qp.pd.memory(en.addr+uint64(offset), size, en.rkey, RemoteRead)
	if !ok {
		return sendFailed
	}
	at := placeOf(k == in.begin, k+1 == in.end)
	ext, total := qp.tmpl.Build(room, wire.Fields{Op: responses[at], PSN: psn}, int(size))
	frame := room[:total]
	if at != placeMiddle {
		wire.AETH(frame[ext:ext+wire.AETHLen]).Set(wire.SyndromeAck, en.msn)
		ext += wire.AETHLen
	}
	copy(frame[ext:], src)
	qp.finishResponse(b, frame)
	return sendDone
}

func (qp *QueuePair) finishResponse(b *packet.Buf, frame []byte) {
	qp.tmpl.Seal(frame)
	b.SetLen(len(frame))
	qp.ep.push(packet.ClassData)
}

var responses = [...]wire.Opcode{
	placeFirst: wire.RCReadResponseFirst, placeMiddle: wire.RCReadResponseMiddle,
	placeLast: wire.RCReadResponseLast, placeOnly: wire.RCReadResponseOnly,
}
