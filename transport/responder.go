package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiveRequest handles a request packet of a connected peer, in the order of the checks of the
// InfiniBand spec, figure 9.7.4 and section 9.7.4.1: sequence, opcode sequence, length, rights, and
// only then execution.
func (qp *QueuePair) receiveRequest(p *wire.Packet, info *wire.OpcodeInfo) {
	e, s := qp.ep, &qp.resp
	if p.ECN == wire.ECNCE {
		qp.marked(e.now)
	}
	if !qp.commEstablished {
		qp.firstRequest()
	}
	if qp.adm != nil && qp.adm.granter != nil {
		qp.adm.arrives(p, info)
	}
	if qp.Type == UC {
		if !qp.admitUnreliable(p, info) {
			return
		}
	} else if p.PSN != s.ePSN {
		if p.PSN.Before(s.ePSN) {
			qp.receiveDuplicate(p, info)
			return
		}
		e.counters.OutOfSequence++
		switch {
		case qp.selective() && qp.hold(p, info):
			qp.owe(answerAck, 0) // one that says what is here
		case !s.nakked: // once for each gap (InfiniBand spec 9.7.5.2.4)
			s.nakked = true
			qp.owe(answerNak, wire.NakPSNSequence)
		}
		return
	}
	qp.execute(p, info)
}

// execute does what the packet whose turn it is asks for, or refuses it.
func (qp *QueuePair) execute(p *wire.Packet, info *wire.OpcodeInfo) {
	if code, ok := qp.inOrder(p, info); !ok {
		qp.refuseRequest(code)
		return
	}
	switch info.Kind {
	case wire.Send, wire.Write:
		qp.receiveData(p, info)
	case wire.Read:
		qp.receiveRead(p)
	default:
		qp.receiveAtomic(p, info)
	}
}

// inOrder checks that the opcode may follow what came before, and that its payload has the length
// that its place in the message asks for (InfiniBand spec 9.7.4.1.2 to 9.7.4.1.6).
func (qp *QueuePair) inOrder(p *wire.Packet, info *wire.OpcodeInfo) (nak uint8, ok bool) {
	s := &qp.resp
	size := uint32(p.End - p.PayloadOff)
	switch info.Kind {
	case wire.Send, wire.Write:
		inside := messageSend
		if info.Kind == wire.Write {
			inside = messageWrite
		}
		if info.First != (s.message == messageNone) || !info.First && s.message != inside {
			return wire.NakInvalidRequest, false
		}
		if !info.Last && size != qp.mtu || size > qp.mtu || info.Last && !info.First && size == 0 {
			return wire.NakInvalidRequest, false
		}
	default:
		if s.message != messageNone {
			return wire.NakInvalidRequest, false
		}
	}
	return 0, true
}

// receiveData executes a packet of a SEND or WRITE.
func (qp *QueuePair) receiveData(p *wire.Packet, info *wire.OpcodeInfo) {
	s := &qp.resp
	payload := p.Payload()
	if info.First {
		s.received = 0
		if info.Kind == wire.Write {
			if nak, ok := qp.beginWrite(p, info, payload); !ok {
				qp.refuseRequest(nak)
				return
			}
		}
	} else if info.Kind == wire.Write {
		if uint32(len(payload)) > s.left || info.Last != (uint32(len(payload)) == s.left) {
			qp.refuseRequest(wire.NakInvalidRequest)
			return
		}
	}
	// A SEND needs its receive at the first packet, a WRITE with immediate at the last.
	if info.Kind == wire.Send && info.First || info.Imm && info.Kind == wire.Write {
		if !qp.takeRecv() {
			qp.notReady()
			return
		}
	}
	if info.Kind == wire.Write {
		if !qp.placeWrite(payload) {
			qp.refuseRequest(wire.NakRemoteAccess)
			return
		}
	} else {
		if s.received+uint32(len(payload)) > s.recv.total {
			qp.failRecv(StatusLocLenErr)
			qp.refuseRequest(wire.NakInvalidRequest)
			return
		}
		if !qp.scatter(payload) {
			qp.failRecv(StatusLocProtErr)
			qp.refuseRequest(wire.NakRemoteOperational)
			return
		}
	}
	if info.Inv && !qp.invalidate(p.IETH()) {
		qp.failRecv(StatusLocProtErr)
		qp.refuseRequest(wire.NakRemoteAccess)
		return
	}
	if qp.timing && p.BTH().AskTiming() {
		qp.time(p)
	}
	s.received += uint32(len(payload))
	qp.stats.PacketsReceived++
	qp.stats.BytesIn += uint64(len(payload))
	qp.accept(1)
	if !info.Last {
		s.message = messageSend
		if info.Kind == wire.Write {
			s.message = messageWrite
		}
		if p.AckReq && qp.Type == RC {
			qp.owe(answerAck, 0)
		}
		return
	}
	s.message = messageNone
	s.msn++
	completes := info.Kind == wire.Send || info.Imm
	if qp.adm != nil {
		qp.adm.delivers(units.Bytes(s.received), completes)
	}
	if completes {
		qp.deliver(p, info)
	}
	if p.AckReq && qp.Type == RC {
		qp.owe(answerAck, 0)
	}
}

// beginWrite takes a WRITE's RETH: key, bounds and rights for the whole message.
func (qp *QueuePair) beginWrite(p *wire.Packet, info *wire.OpcodeInfo, payload []byte) (nak uint8,
	ok bool) {
	s, reth := &qp.resp, p.RETH()
	length := reth.Len()
	if length > MaxMessage || info.Last && length != uint32(len(payload)) || !info.Last &&
		length <= qp.mtu {
		return wire.NakInvalidRequest, false
	}
	if qp.access&RemoteWrite == 0 { // not supported by this queue pair, rather than denied by a key
		return wire.NakInvalidRequest, false
	}
	if _, ok := qp.pd.memory(reth.VA(), length, reth.RKey(), RemoteWrite); !ok {
		return wire.NakRemoteAccess, false
	}
	s.remote, s.left, s.rkey = reth.VA(), length, reth.RKey()
	return 0, true
}

// placeWrite writes a packet of a WRITE. The key is looked up again each time: the region may have
// been deregistered between two packets.
func (qp *QueuePair) placeWrite(payload []byte) bool {
	s := &qp.resp
	n := uint32(len(payload))
	dst, ok := qp.pd.memory(s.remote, n, s.rkey, RemoteWrite)
	if !ok {
		return false
	}
	copy(dst, payload)
	s.remote += uint64(n)
	s.left -= n
	return true
}

// scatter writes a packet of a SEND into the receive in progress.
func (qp *QueuePair) scatter(payload []byte) bool {
	return qp.scatterAt(qp.resp.received, payload)
}

func (qp *QueuePair) scatterAt(offset uint32, payload []byte) bool {
	if len(payload) == 0 {
		return true
	}
	w := &qp.resp.recv
	if w.sges == 1 {
		dst, ok := qp.pd.memory(w.sge.Addr+uint64(offset), uint32(len(payload)), w.sge.LKey,
			LocalWrite)
		if ok {
			copy(dst, payload)
		}
		return ok
	}
	return walkSGEs(qp.pd, w.sge, qp.beside.receive, w.sges, offset, uint32(len(payload)),
		LocalWrite, func(piece []byte) {
			n := copy(piece, payload)
			payload = payload[n:]
		})
}

// invalidate ends the key that a SEND with invalidate names (InfiniBand spec 9.4.1.1.3).
func (qp *QueuePair) invalidate(rkey uint32) bool {
	mr := qp.ep.regions.find(rkey)
	if mr == nil || mr.pd != qp.pd || mr.access&RemoteInvalidate == 0 {
		return false
	}
	mr.Deregister()
	return true
}

// deliver completes the receive of a message.
func (qp *QueuePair) deliver(p *wire.Packet, info *wire.OpcodeInfo) {
	s := &qp.resp
	s.held = false
	wc := qp.recvCQ.next()
	if wc == nil {
		qp.cqOverran()
		return
	}
	wc.set(s.recv.id, StatusSuccess, CompRecv, qp.Num)
	wc.ByteLen = s.received
	if info.Kind == wire.Write {
		wc.Op = CompRecvWriteImm
	}
	if info.Imm {
		wc.Flags, wc.Imm = WithImm, p.Imm()
	}
	if info.Inv {
		wc.Flags, wc.Imm = WithInv, p.IETH()
	}
	qp.recvCQ.add(wc, p.Solicited)
}

// failRecv completes the receive in progress with an error.
func (qp *QueuePair) failRecv(status Status) {
	if qp.Type != RC || !qp.resp.held {
		return
	}
	qp.resp.held = false
	qp.completeRecv(qp.resp.recv.id, status, true)
}

// accept moves on by n PSNs.
func (qp *QueuePair) accept(n uint32) {
	s := &qp.resp
	s.ePSN = s.ePSN.Add(n)
	s.nakked = false
	if s.answer >= answerRNR && s.nakPSN.Before(s.ePSN) {
		s.answer = answerAck // what was missing came before we said so
	}
}

// owe makes the queue pair answer: an ACK of everything so far, or a NAK of the packet expected.
func (qp *QueuePair) owe(a answer, code uint8) {
	s := &qp.resp
	if a == answerAck {
		if s.answer != answerNone || qp.state == Errored {
			// a NAK acknowledges what is before it, too; what nobody was told of, nobody took
			return
		}
	} else {
		s.nakCode, s.nakPSN = code, s.ePSN
	}
	s.answer = a
	qp.ep.owe(qp)
}

// refuseRequest answers a request that must not be executed. For RC that ends the connection, for
// UC the message (InfiniBand spec 9.7.5.2, 9.8.3).
func (qp *QueuePair) refuseRequest(code uint8) {
	c := &qp.ep.counters
	if qp.Type == UC {
		c.UnreliableErrors++
		qp.resp.message = messageSkip
		qp.accept(1)
		return
	}
	kind := AsyncQPReqErr
	switch code {
	case wire.NakInvalidRequest:
		c.NakInvalid++
	case wire.NakRemoteAccess:
		c.NakAccess++
		kind = AsyncQPAccessErr
	default:
		c.NakOperational++
		kind = AsyncQPFatal
	}
	qp.owe(answerNak, code)
	qp.fatal(kind)
}

// notReady answers a message for which no receive is posted.
func (qp *QueuePair) notReady() {
	s := &qp.resp
	if qp.Type == UC {
		qp.ep.counters.UnreliableNoRecv++
		s.message = messageSkip
		qp.accept(1)
		return
	}
	qp.ep.counters.RNRSent++
	s.nakked = true // what follows is behind a gap that the peer knows of
	qp.owe(answerRNR, qp.minRNRTimer)
}

// receiveRead begins the answer to a READ request.
func (qp *QueuePair) receiveRead(p *wire.Packet) {
	reth := p.RETH()
	length := reth.Len()
	if length > MaxMessage || qp.packetsFor(length) > maxReadPSNs || qp.reads.full() {
		qp.refuseRequest(wire.NakInvalidRequest)
		return
	}
	if qp.access&RemoteRead == 0 {
		qp.refuseRequest(wire.NakInvalidRequest)
		return
	}
	if _, ok := qp.pd.memory(reth.VA(), length, reth.RKey(), RemoteRead); !ok {
		qp.refuseRequest(wire.NakRemoteAccess)
		return
	}
	packets := qp.packetsFor(length)
	s := &qp.resp
	s.msn++
	qp.reads.add(readEntry{first: s.ePSN, packets: packets, addr: reth.VA(), length: length,
		rkey: reth.RKey(), msn: s.msn})
	qp.accept(packets)
	qp.stats.PacketsReceived++
	qp.ep.owe(qp)
}

// packetsFor is how many packets length bytes take.
func (qp *QueuePair) packetsFor(length uint32) uint32 {
	return max(1, (length+qp.mtu-1)>>qp.mtuShift)
}

// receiveAtomic executes an atomic, once, and keeps the result for its duplicates.
func (qp *QueuePair) receiveAtomic(p *wire.Packet, info *wire.OpcodeInfo) {
	h := p.AtomicETH()
	if h.VA()&7 != 0 || qp.reads.full() {
		qp.refuseRequest(wire.NakInvalidRequest)
		return
	}
	if qp.access&RemoteAtomic == 0 {
		qp.refuseRequest(wire.NakInvalidRequest)
		return
	}
	mem, ok := qp.pd.memory(h.VA(), 8, h.RKey(), RemoteAtomic)
	if !ok {
		qp.refuseRequest(wire.NakRemoteAccess)
		return
	}
	found := binary.NativeEndian.Uint64(mem)
	value := found + h.SwapAdd()
	if info.Kind == wire.CmpSwap {
		value = found
		if found == h.Compare() {
			value = h.SwapAdd()
		}
	}
	binary.NativeEndian.PutUint64(mem, value)
	s := &qp.resp
	s.msn++
	qp.reads.add(readEntry{first: s.ePSN, packets: 1, atomic: true, found: found, msn: s.msn})
	qp.accept(1)
	qp.stats.PacketsReceived++
	qp.ep.owe(qp)
}

// receiveDuplicate answers a request that was executed before (InfiniBand spec 9.7.5.1.2): a SEND
// or WRITE is acknowledged again, a READ is read again, an atomic's result is sent again.
func (qp *QueuePair) receiveDuplicate(p *wire.Packet, info *wire.OpcodeInfo) {
	e := qp.ep
	known := true
	switch info.Kind {
	case wire.Send, wire.Write:
		if p.AckReq {
			qp.owe(answerAck, 0)
		}
	case wire.Read:
		known = qp.reads.rewind(p.PSN, qp.mtuShift, p.RETH(), qp.selective())
	default:
		known = qp.reads.replay(p.PSN)
	}
	if !known {
		e.counters.DropDuplicate++
		return
	}
	e.counters.DuplicateRequests++
	qp.stats.DuplicateRequests++
	if qp.reads.pending > 0 {
		e.owe(qp)
	}
}

// admitUnreliable follows the PSNs of a UC peer: a gap ends the message in progress, and packets
// are dropped until the next one begins (InfiniBand spec 9.8.2.2).
func (qp *QueuePair) admitUnreliable(p *wire.Packet, info *wire.OpcodeInfo) bool {
	s := &qp.resp
	if p.PSN != s.ePSN || s.message == messageSkip || info.First && s.message != messageNone {
		if !info.First {
			qp.ep.counters.UCLost++
			s.message = messageSkip
			s.ePSN = p.PSN.Add(1)
			return false
		}
		s.message = messageNone // the receive it held serves the new message
	}
	s.ePSN = p.PSN
	return true
}
