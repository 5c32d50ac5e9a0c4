package transport

import (
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
)

// respond sends what the queue pair owes its peer: READ responses and atomic results in the order
// of their requests, then the ACK or NAK. Only when nothing older is left to say does an ACK go
// out, for it would tell the peer that those responses were lost.
func (qp *QueuePair) respond(quantum int) (sent int, again bool) {
	if qp.reads.pending == 0 && qp.resp.answer == answerNone || qp.neighbor == nil {
		return 0, false
	}
	if !qp.resolved() {
		qp.ep.await(qp)
		return 0, false
	}
	for qp.reads.pending > 0 {
		if sent == quantum {
			return sent, true
		}
		if !qp.sendResponse(qp.reads.oldest()) {
			return sent, qp.reads.pending > 0 || qp.resp.answer != answerNone
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
	b := e.frame(packet.ClassAck)
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
	frame := b.Room()
	ext, total := qp.tmpl.Build(frame, wire.Fields{Op: wire.RCAck, PSN: psn}, 0)
	frame = frame[:total]
	wire.AETH(frame[ext:ext+wire.AETHLen]).Set(syndrome, s.msn)
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(packet.ClassAck)
	s.answer = answerNone
	return true
}

// sendResponse sends the next packet of a READ response, or an atomic's result.
func (qp *QueuePair) sendResponse(en *readEntry) bool {
	e := qp.ep
	b := e.frame(packet.ClassData)
	if b == nil {
		return false
	}
	room := b.Room()
	psn := en.first.Add(en.next)
	if en.atomic {
		ext, total := qp.tmpl.Build(room, wire.Fields{Op: wire.RCAtomicAck, PSN: psn}, 0)
		frame := room[:total]
		wire.AETH(frame[ext:ext+wire.AETHLen]).Set(wire.SyndromeAck, en.msn)
		wire.AtomicAckETH(frame[ext+wire.AETHLen : ext+wire.AETHLen+wire.AtomicAckETHLen]).SetOriginal(en.found)
		qp.finishResponse(b, frame, en)
		return true
	}
	offset := en.next << qp.mtuShift
	size := min(en.length-offset, qp.mtu)
	src, ok := qp.pd.memory(en.addr+uint64(offset), size, en.rkey, RemoteRead)
	if !ok { // deregistered since
		qp.reads.clear()
		qp.ep.counters.NakAccess++
		qp.resp.nakCode, qp.resp.nakPSN, qp.resp.answer = wire.NakRemoteAccess, psn, answerNak
		e.owe(qp)
		qp.fatal(AsyncQPAccessErr)
		return false
	}
	at := placeOf(en.next == 0, en.next+1 == en.packets)
	ext, total := qp.tmpl.Build(room, wire.Fields{Op: responses[at], PSN: psn}, int(size))
	frame := room[:total]
	if at != placeMiddle {
		wire.AETH(frame[ext:ext+wire.AETHLen]).Set(wire.SyndromeAck, en.msn)
		ext += wire.AETHLen
	}
	copy(frame[ext:], src)
	qp.finishResponse(b, frame, en)
	return true
}

func (qp *QueuePair) finishResponse(b *packet.Buf, frame []byte, en *readEntry) {
	qp.tmpl.Seal(frame)
	b.SetLen(len(frame))
	qp.ep.push(packet.ClassData)
	qp.reads.sent(en)
}

var responses = [...]wire.Opcode{
	placeFirst: wire.RCReadResponseFirst, placeMiddle: wire.RCReadResponseMiddle,
	placeLast: wire.RCReadResponseLast, placeOnly: wire.RCReadResponseOnly,
}
