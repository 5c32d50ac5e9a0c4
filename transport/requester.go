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
func (qp *QueuePair) transmit(now units.Time, quantum int) (sent int, again bool) {
	if qp.ep.precedence == nil {
		return qp.transmitNow(now, quantum)
	}
	if qp.gives() {
		return 0, false
	}
	sent, again = qp.transmitNow(now, quantum)
	qp.reclaim()
	return sent, again
}

// transmitNow does so, of a queue pair that no other one goes before.
func (qp *QueuePair) transmitNow(now units.Time, quantum int) (sent int, again bool) {
	sent, again = qp.transmitPackets(now, quantum)
	qp.tellSent(now)
	return sent, again
}

func (qp *QueuePair) transmitPackets(now units.Time, quantum int) (sent int, again bool) {
	r := &qp.req
	if qp.state != ReadyToSend && qp.state != SQDrained {
		return 0, false
	}
	if qp.Type == UD {
		return qp.transmitDatagrams(quantum)
	}
	if r.rnrWait || r.hold {
		return 0, false
	}
	if (r.next != r.posted || r.recovery != nil) && !qp.resolved() {
		qp.awaitNeighbor(now)
		return 0, false
	}
	if r.recovery != nil {
		var status sendStatus
		if sent, status = qp.resend(now, quantum); status != sendDone {
			return sent, status == sendNoRoom
		}
	}
	for sent < quantum {
		if r.next == r.posted || qp.state == SQDrained && r.next == r.begun {
			return sent, false
		}
		if r.probing && r.sndNxt != r.una {
			return sent, false
		}
		w := &qp.send[r.next&r.mask]
		if r.packet == 0 {
			w.first = r.sndNxt
			if w.flags&Fence != 0 && r.next == r.begun && qp.asked.n > 0 {
				return sent, false
			}
		}
		if r.rate > 0 && sent > 0 { // since the packet before
			return sent, true
		}
		var status sendStatus
		if w.op.answered() {
			status = qp.sendRead(w, now)
		} else {
			status = qp.sendData(w, now)
		}
		switch status {
		case sendBlocked:
			return sent, false
		case sendNoRoom:
			return sent, true
		case sendFailed:
			qp.tellSent(now)
			qp.failAt(r.next, StatusLocProtErr, AsyncQPFatal)
			return sent, false
		}
		sent++
	}
	return sent, r.next != r.posted
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
func (r *requester) open(n uint32) bool {
	return (r.fits(n) || r.unasked) && r.sndNxt.Sub(r.una) < r.reach
}

// fits says whether the window admits n more bytes. Something must always be in flight, or no ACK
// would ever open it: a single packet passes a window smaller than itself.
func (r *requester) fits(n uint32) bool {
	return r.inFlight == 0 || r.inFlight+units.Bytes(n) <= r.window
}

// acknowledgements are what an algorithm hears that is clocked by them: it gets one for each
// packet, or for as many as the responder polls at a time.
var acknowledgements = cc.Events(cc.ACK, cc.ECN, cc.RTT)

// sendData sends the next packet of a SEND or WRITE.
func (qp *QueuePair) sendData(w *sendWQE, now units.Time) sendStatus {
	r := &qp.req
	size := min(w.length-r.packet<<qp.mtuShift, qp.mtu)
	if !r.open(size) || qp.adm != nil && !qp.admitsNext(w, now) {
		return sendBlocked
	}
	ends := r.packet+1 == w.packets
	ask := qp.Type == RC && (ends || qp.wants&acknowledgements != 0 ||
		r.packet%ackEvery == ackEvery-1 || !r.roomAfter(size, qp.mtu) || r.probing || r.late(now))
	if status := qp.buildData(w, r.next&r.mask, r.packet, ask); status != sendDone {
		return status
	}
	r.unasked = !ask
	if ask && qp.adm != nil {
		qp.adm.round.begin(r.sndNxt, now)
	}
	qp.sentPSNs(1, size, now)
	r.packet++
	r.begin()
	if ends {
		r.packet = 0
		r.next++
		if qp.Type == UC {
			qp.finishUnreliable()
		}
	}
	return sendDone
}

// buildData puts packet k of a SEND or WRITE in line to leave; ask asks for an ACK.
func (qp *QueuePair) buildData(w *sendWQE, slot, k uint32, ask bool) sendStatus {
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
	if qp.limits.hops > 0 {
		outer, extra = wire.XDATA, wire.INTLen(int(qp.limits.hops))+int(op.Info().Ext)
	} else if qp.bolt {
		outer, extra = wire.XDATA, wire.BoltLen+int(op.Info().Ext)
	}
	flags, a := wire.Solicited.When(ends && w.flags&Solicited != 0), qp.adm
	if a != nil {
		if a.gate != nil {
			flags |= a.took(e.now)
		}
		if a.grants {
			outer, extra = wire.XDATA, wire.GrantLen+int(op.Info().Ext)
		}
	}
	if ask {
		flags |= wire.AckReq | wire.AskTiming.When(qp.timing && qp.wants.Has(cc.RTT))
	}
	ext, total := qp.tmpl.Build(room, wire.Fields{Op: outer, Flags: flags, PSN: w.first.Add(k)},
		extra+int(size))
	frame := room[:total]
	data := ext
	if qp.limits.hops > 0 {
		data += qp.openINT(frame[ext:], op)
	} else if qp.bolt {
		data += qp.openBolt(frame[ext:], op)
	} else if a != nil && a.grants {
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
	if !qp.gather(frame[data:data+int(size)], w, slot, offset) {
		return sendFailed
	}
	if a != nil && a.marks.Classed {
		qp.tmpl.SetFrameTOS(frame, a.marks.TrafficClass)
	}
	qp.tmpl.Seal(frame)
	b.SetLen(total)
	e.push(qp.class)
	return sendDone
}

// begin notes that the request at next has left in part.
func (r *requester) begin() {
	if r.next == r.begun {
		r.begun++
	}
}

// roomAfter says whether a full packet may follow this one of size bytes without an ACK.
func (r *requester) roomAfter(size, mtu uint32) bool {
	return r.inFlight+units.Bytes(size)+units.Bytes(mtu) <= r.window
}

// late says that the timer has run for a while: with a paced flow the next packet that would ask
// for an ACK may come after it has expired.
func (r *requester) late(now units.Time) bool {
	return r.rtoAt != 0 && now.After(r.rtoAt.Add(-r.timeout/4*3))
}

// finishUnreliable completes what has left: nobody will acknowledge it.
func (qp *QueuePair) finishUnreliable() {
	r := &qp.req
	r.una, r.inFlight = r.sndNxt, 0
	for r.done != r.next {
		w := &qp.send[r.done&r.mask]
		r.done++
		qp.complete(w, StatusSuccess)
	}
	qp.noticeDrained()
}

// sentPSNs moves on by n PSNs that carry, or ask for, size bytes.
func (qp *QueuePair) sentPSNs(n, size uint32, now units.Time) {
	r := &qp.req
	qp.stats.PacketsSent++
	qp.stats.BytesSent += uint64(size)
	first := r.sndNxt
	r.sndNxt = r.sndNxt.Add(n)
	if qp.Type == RC {
		r.inFlight += units.Bytes(size)
		qp.ep.stake.ask(now)
	} else {
		r.una = r.sndNxt // nobody will acknowledge it: no window holds the rest of the message
	}
	if r.sndNxt.After(r.sndMax) {
		r.sndMax = r.sndNxt
		if qp.Type == RC {
			qp.stamp(first, n, now)
		}
	} else {
		qp.stats.Retransmitted++
		qp.ep.counters.Retransmitted++
		r.unstamp(first, n)
	}
	if qp.paced() {
		qp.ep.limiter.Sent(uint32(qp.flow), units.Bytes(size))
	}
	if qp.Type == RC && r.rtoAt == 0 {
		qp.startTimer(now)
	}
	if qp.wants.Has(cc.TX) {
		qp.ep.departed.add(first, n, size)
		if qp.paced() || qp.bolt || qp.Type != RC {
			qp.tellSent(now)
		}
	}
}

// departed is packets that left in a turn without a pace, of which congestion control gets one TX
// event: an event each would take a tenth of the time in which a 4 KB packet is built. Those of a
// paced flow leave one by one, Bolt marks each packet, and without acknowledgements nothing of a
// message is left to report once it is complete.
type departed struct {
	first   wire.PSN
	packets uint32
	bytes   units.Bytes
}

func (d *departed) add(first wire.PSN, packets, bytes uint32) {
	if d.packets == 0 {
		d.first = first
	}
	d.packets += packets
	d.bytes += units.Bytes(bytes)
}

// tellSent tells congestion control of the packets that left since it was told last.
func (qp *QueuePair) tellSent(now units.Time) {
	if d := qp.ep.departed; d.packets > 0 {
		qp.ep.departed = departed{}
		qp.report(cc.Event{Kind: cc.TX, PSN: uint32(d.first), Packets: int(d.packets),
			Bytes: d.bytes}, now)
	}
}

// sendRead sends a READ request for as much of the rest of the message as the window admits, or an
// atomic. The PSNs of the request are those of its responses.
func (qp *QueuePair) sendRead(w *sendWQE, now units.Time) sendStatus {
	r := &qp.req
	first := r.sndNxt == r.sndMax
	if first && qp.asked.full() {
		return sendBlocked
	}
	offset := r.packet << qp.mtuShift
	size, packets := w.length-offset, w.packets-r.packet
	if !r.open(min(size, qp.mtu)) {
		return sendBlocked
	}
	if !first { // again, in the same pieces
		packets = uint32(qp.asked.end(r.sndNxt).Sub(r.sndNxt))
	} else {
		packets = min(packets, qp.readRoom())
	}
	size = min(size, packets<<qp.mtuShift)
	if status := qp.buildRead(w, r.next&r.mask, r.packet, size); status != sendDone {
		return status
	}
	r.unasked = false
	if first {
		qp.asked.add(r.sndNxt.Add(packets))
	}
	qp.sentPSNs(packets, size, now)
	qp.adm.asks(units.Bytes(size))
	r.begin()
	if r.packet += packets; r.packet == w.packets {
		r.packet = 0
		r.next++
	}
	return sendDone
}

// buildRead puts a request for size bytes from packet k of a READ on, or an atomic, in line to
// leave.
func (qp *QueuePair) buildRead(w *sendWQE, slot, k, size uint32) sendStatus {
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
		args := qp.beside.atomics[slot]
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
	r := &qp.req
	for ; r.done != i; r.done++ {
		qp.complete(&qp.send[r.done&r.mask], StatusWRFlushErr)
	}
	if r.done != r.posted {
		w := &qp.send[r.done&r.mask]
		r.done++
		qp.complete(w, s)
	}
	qp.fatal(kind)
}

// failHead ends the oldest outstanding request with an error.
func (qp *QueuePair) failHead(s Status) { qp.failAt(qp.req.done, s, AsyncQPFatal) }

// left answers what is posted and not acknowledged. In a recovery what came behind the gap is not
// acknowledged either.
func (qp *QueuePair) left() units.Bytes {
	r := &qp.req
	if r.done == r.begun {
		return qp.posted
	}
	w := &qp.send[r.done&r.mask]
	return qp.posted - qp.span(w, 0, uint32(r.una.Sub(w.first)))
}

// outstanding returns what Event.Left reports: 0 only when nothing is posted, so messages without
// payload count as a byte.
func (qp *QueuePair) outstanding() units.Bytes {
	if qp.req.done == qp.req.posted {
		return 0
	}
	return max(1, qp.left())
}

// beginWork tells congestion control that there is something to send again, before it leaves.
func (qp *QueuePair) beginWork(now units.Time) {
	qp.req.fresh = false
	if qp.state == ReadyToSend || qp.state == SQDrained {
		qp.report(cc.Event{Kind: cc.POST, PSN: uint32(qp.req.una)}, now)
	}
}

// report tells congestion control of an event, and takes over what it decides.
func (qp *QueuePair) report(ev cc.Event, now units.Time) {
	e := qp.ep
	e.event = ev
	e.event.Flow, e.event.SndNxt, e.event.InFlight, e.event.Left = qp.flow, uint32(qp.req.sndNxt),
		qp.req.inFlight, qp.outstanding()
	e.cc.Report(&e.event, now)
	qp.heedDecision()
}
