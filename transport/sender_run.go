package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// transmitRun sends a run: SENDs or WRITEs of one packet each, which differ in PSN, addresses and
// contents alone, so that what transmitPackets finds out for each packet is found out once. It
// returns how many packets it sent, and leaves to transmitPackets whatever is not such a run, and
// whatever stops it.
func (snd *sender) transmitRun(now units.Time, limit int) (sent int) {
	limit = min(limit, int(snd.posted-snd.next))
	if limit < 2 || !snd.mayRun() {
		return 0
	}
	qp := snd.conn()
	first := snd.at(snd.next)
	limit = min(limit, qp.loss.roomFor(first.length))
	mr := snd.q.pd.region(first.sge.LKey)
	if limit < 2 || mr == nil {
		return 0
	}
	for sent < limit {
		bufs := qp.ep.frames(qp.class, limit-sent)
		n := snd.buildRun(first, mr, bufs)
		if n == 0 {
			break
		}
		qp.ep.pushed(qp.class, n)
		snd.onRunSent(uint32(n), first.length, now)
		sent += n
	}
	return sent
}

// mayRun reports whether all packets of a run are treated alike, and the next one begins a run.
func (snd *sender) mayRun() bool {
	qp := snd.conn()
	return qp.Type == RC && qp.state == ReadyToSend && qp.adm == nil && qp.loss.isSteady() &&
		!qp.cong.hasRate() && !qp.cong.hasTelemetry() && !qp.cong.hasBolt() &&
		!qp.cong.expects(cc.TX) && snd.packet == 0 && snd.next == snd.begun &&
		snd.at(snd.next).isPlain()
}

// isPlain reports whether the request is a SEND or WRITE of one packet from memory in one piece.
func (w *sendWQE) isPlain() bool {
	return w.packets == 1 && w.length > 0 && w.sges == 1 && w.flags&(inline|fence) == 0 &&
		(w.op == OpSend || w.op == OpWrite)
}

// isLike reports whether the headers of two plain requests differ in PSN and addresses alone, and
// their memory is in the same region.
func (w *sendWQE) isLike(first *sendWQE) bool {
	return w.op == first.op && w.length == first.length && w.sge.LKey == first.sge.LKey &&
		(w.flags^first.flags)&solicited == 0 && w.isPlain()
}

// buildRun builds as many packets as there are buffers, from the next request on, while requests
// are like the first one of the run and lie in its region. It returns how many it built.
func (snd *sender) buildRun(first *sendWQE, mr *MemoryRegion, bufs []packet.Buf) (n int) {
	qp, psn := snd.conn(), snd.sndNxt
	fields := wire.Fields{Op: opcodesRC[first.op][placeOnly],
		Flags: wire.AckReq | wire.AskTiming.When(qp.cong.requestsTiming()) |
			wire.Solicited.When(first.flags&solicited != 0)}
	size, data, total := int(first.length), 0, 0
	for n < len(bufs) {
		w := snd.at(snd.next + uint32(n))
		if !w.isLike(first) || !mr.contains(w.sge.Addr, first.length) {
			break
		}
		var src []byte
		if ok := true; mr.foreign == nil {
			src = mr.slice(w.sge.Addr, first.length)
		} else if src, ok = mr.source(w.sge.Addr, first.length, first.length, true); !ok {
			break
		}
		b := &bufs[n]
		frame := b.Room()
		if fields.PSN = psn; n == 0 {
			data, total = qp.tmpl.Build(frame, fields, size)
		} else {
			qp.tmpl.BuildLike(frame, bufs[0].Room(), psn)
		}
		frame = frame[:total]
		payload := data
		if first.op == OpWrite {
			wire.View[wire.RETH](frame[data:]).Set(w.remoteAddr, w.rkey, first.length)
			payload += wire.RETHLen
		}
		qp.tmpl.SealCopy(frame, payload, src)
		b.SetLen(total)
		w.first = psn
		psn = psn.Add(1)
		n++
	}
	return n
}

// onRunSent records that n requests of one packet of size bytes have left.
func (snd *sender) onRunSent(n, size uint32, now units.Time) {
	qp, psn := snd.conn(), snd.sndNxt
	snd.packetsSent += uint64(n)
	snd.bytesSent += uint64(n) * uint64(size)
	snd.sndNxt = psn.Add(n)
	snd.next += n
	snd.begun = snd.next
	qp.loss.onRunSent(psn, n, size, now)
	if t := qp.ep.trace; t != nil {
		t.onRunSent(qp, psn, opcodesRC[snd.at(snd.begun-n).op][placeOnly], n, size)
	}
	qp.loss.expectAck(now)
}

// isSteady reports whether nothing is lost, and nothing to be sent again.
func (loss *lossRecovery) isSteady() bool {
	return loss.recovery == nil && !loss.probing && loss.conn().snd.nextPSN() == loss.sndMax
}

// roomFor returns how many packets of size bytes the window and the PSNs in flight admit.
func (loss *lossRecovery) roomFor(size uint32) int {
	qp := loss.conn()
	psns := qp.maxPSNsInFlight() - loss.sndMax.Sub(loss.una)
	return int(min((qp.cong.limit()-loss.inFlight)/units.Bytes(size), units.Bytes(psns)))
}

// onRunSent records that n packets of size bytes are in flight that were never sent before and
// request ACKs.
func (loss *lossRecovery) onRunSent(first wire.PSN, n, size uint32, now units.Time) {
	qp := loss.conn()
	loss.noAckRequested = false
	loss.inFlight += units.Bytes(n) * units.Bytes(size)
	qp.ep.responseWait.onSent(now)
	for range n {
		loss.sndMax = first.Add(1)
		qp.cong.recordSendTime(first, 1, now)
		first = loss.sndMax
	}
}
