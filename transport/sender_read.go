package transport

import (
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// sendRead sends an atomic, or a READ request for as much of the rest of the message as the window
// admits. The request takes the PSNs of its responses.
func (snd *sender) sendRead(w *sendWQE, now units.Time) sendStatus {
	qp := snd.conn()
	first := snd.sndNxt == qp.loss.highest()
	if first && snd.cold().reads.isFull() {
		return sendBlocked
	}
	offset := snd.packet << qp.mtuShift
	size, packets := w.length-offset, w.packets-snd.packet
	if !qp.loss.hasWindow(min(size, qp.mtu)) {
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
	qp.adm.addReadInFlight(units.Bytes(size))
	snd.markBegun()
	if snd.packet += packets; snd.packet == w.packets {
		snd.packet = 0
		snd.next++
	}
	return sendDone
}

// buildRead builds an atomic, or a request for size bytes from packet k of a READ on, and queues it
// for transmission.
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
		wire.View[wire.RETH](frame[ext:]).Set(w.remoteAddr+uint64(k<<qp.mtuShift), w.rkey,
			size)
	} else {
		args := snd.q.atomics[slot]
		swapAdd, compare := args.compareAdd, uint64(0)
		if w.op == OpCmpSwap {
			swapAdd, compare = args.swap, args.compareAdd
		}
		wire.View[wire.AtomicETH](frame[ext:]).Set(w.remoteAddr, w.rkey, swapAdd, compare)
	}
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(qp.class)
	return sendDone
}

// readBurst is how long the responses to one request of a paced READ take at the flow's rate, at
// most: they leave the responder as fast as its port allows.
const readBurst = 10 * units.Microsecond

// readRoom returns how many packets one request of a READ may ask for: as many as the window
// admits, and with a pace no longer a burst than readBurst, unless as many requests as may be
// outstanding would then not fill the window.
func (snd *sender) readRoom() uint32 {
	qp := snd.conn()
	room := qp.cong.limit() - qp.loss.flight()
	if n := snd.cold().reads.limit(); qp.cong.isPaced() && n > 0 {
		room = min(room, max(qp.cong.bytesIn(readBurst), qp.cong.limit()/units.Bytes(n)))
	}
	return uint32(min(max(room>>qp.mtuShift, 1), maxOutstanding))
}
