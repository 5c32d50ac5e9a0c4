package transport

import (
	"encoding/binary"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// receiveRequest handles a request packet of a connected peer. Its checks have the order of the
// InfiniBand spec, figure 9.7.4 and section 9.7.4.1: sequence, opcode sequence, length, rights, and
// only then execution.
func (rcv *receiver) receiveRequest(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := rcv.conn()
	e := qp.ep
	if p.ECN == wire.ECNCE {
		qp.cong.onMarked(e.now)
	}
	if !qp.commEstablished {
		qp.firstRequest()
	}
	if qp.adm.hasGranter() {
		qp.adm.onArrival(p, info)
	}
	if qp.Type == UC {
		if !rcv.admitUnreliable(p, info) {
			return
		}
	} else if p.PSN != rcv.ePSN {
		if p.PSN.Before(rcv.ePSN) {
			rcv.receiveDuplicate(p, info)
			return
		}
		e.counters.OutOfSequence++
		switch {
		case qp.isSelective() && rcv.keepOutOfOrder(p, info):
			rcv.scheduleAck(ackPositive, 0) // a SACK of what is held
		case !rcv.nakSent: // once for each gap (InfiniBand spec 9.7.5.2.4)
			rcv.nakSent = true
			rcv.scheduleAck(ackNak, wire.NakPSNSequence)
		}
		return
	}
	rcv.execute(p, info)
}

// execute executes the packet whose turn it is, or refuses it.
func (rcv *receiver) execute(p *wire.Packet, info *wire.OpcodeInfo) {
	if code, ok := rcv.inOrder(p, info); !ok {
		rcv.refuseRequest(code)
		return
	}
	switch info.Kind {
	case wire.Send, wire.Write:
		rcv.receiveData(p, info)
	case wire.Read:
		rcv.receiveRead(p)
	default:
		rcv.receiveAtomic(p, info)
	}
}

// inOrder checks that the opcode may follow the one before, and that the payload has the length
// that its place in the message requires (InfiniBand spec 9.7.4.1.2 to 9.7.4.1.6).
func (rcv *receiver) inOrder(p *wire.Packet, info *wire.OpcodeInfo) (nak uint8, ok bool) {
	qp := rcv.conn()
	size := uint32(p.End - p.PayloadOff)
	switch info.Kind {
	case wire.Send, wire.Write:
		inside := messageSend
		if info.Kind == wire.Write {
			inside = messageWrite
		}
		if info.First != (rcv.message == messageNone) || !info.First && rcv.message != inside {
			return wire.NakInvalidRequest, false
		}
		if !info.Last && size != qp.mtu || size > qp.mtu || info.Last && !info.First && size == 0 {
			return wire.NakInvalidRequest, false
		}
	default:
		if rcv.message != messageNone {
			return wire.NakInvalidRequest, false
		}
	}
	return 0, true
}

// receiveData executes a packet of a SEND or WRITE.
func (rcv *receiver) receiveData(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := rcv.conn()
	payload := p.Payload()
	if info.First {
		rcv.received = 0
		if info.Kind == wire.Write {
			if nak, ok := rcv.beginWrite(p, info, payload); !ok {
				rcv.refuseRequest(nak)
				return
			}
		}
	} else if info.Kind == wire.Write {
		n := uint32(len(payload))
		if n > rcv.remaining || info.Last != (n == rcv.remaining) {
			rcv.refuseRequest(wire.NakInvalidRequest)
			return
		}
	}
	// A SEND needs its receive at the first packet, a WRITE with immediate at the last.
	if info.Kind == wire.Send && info.First || info.Imm && info.Kind == wire.Write {
		if !rcv.takeRecv() {
			rcv.notReady()
			return
		}
	}
	if info.Kind == wire.Write {
		if !rcv.placeWrite(payload) {
			rcv.refuseRequest(wire.NakRemoteAccess)
			return
		}
	} else {
		if rcv.received+uint32(len(payload)) > rcv.wqe.total {
			rcv.failRecv(StatusLocLenErr)
			rcv.refuseRequest(wire.NakInvalidRequest)
			return
		}
		if !rcv.scatter(rcv.received, payload, !info.Last) {
			rcv.failRecv(StatusLocProtErr)
			rcv.refuseRequest(wire.NakRemoteOperational)
			return
		}
	}
	if info.Inv && !rcv.invalidate(p.IETH()) {
		rcv.failRecv(StatusLocProtErr)
		rcv.refuseRequest(wire.NakRemoteAccess)
		return
	}
	if p.BTH().AskTiming() && qp.cong.hasTiming() {
		qp.cong.recordArrival(p)
	}
	rcv.received += uint32(len(payload))
	rcv.packetsReceived++
	rcv.bytesReceived += uint64(len(payload))
	rcv.accept(1)
	if !info.Last {
		rcv.message = messageSend
		if info.Kind == wire.Write {
			rcv.message = messageWrite
		}
		if p.AckReq && qp.Type == RC {
			rcv.scheduleAck(ackPositive, 0)
		}
		return
	}
	rcv.endMessage(p, info)
}

// endMessage ends the message whose last packet is p.
func (rcv *receiver) endMessage(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := rcv.conn()
	rcv.message = messageNone
	rcv.msn++
	completes := info.Kind == wire.Send || info.Imm
	if qp.adm != nil {
		qp.adm.onDelivered(units.Bytes(rcv.received), completes)
	}
	if completes {
		rcv.deliver(p, info)
	}
	if p.AckReq && qp.Type == RC {
		rcv.scheduleAck(ackPositive, 0)
	}
}

// beginWrite checks a WRITE's RETH: key, bounds and rights for the whole message.
func (rcv *receiver) beginWrite(p *wire.Packet, info *wire.OpcodeInfo, payload []byte) (nak uint8,
	ok bool) {
	qp := rcv.conn()
	reth := p.RETH()
	length := reth.Len.Get()
	if length > maxMessage || info.Last && length != uint32(len(payload)) || !info.Last &&
		length <= qp.mtu {
		return wire.NakInvalidRequest, false
	}
	if qp.access&RemoteWrite == 0 { // not supported by this queue pair, rather than denied by a key
		return wire.NakInvalidRequest, false
	}
	if _, ok := rcv.pd.find(reth.VA.Get(), length, reth.RKey.Get(), RemoteWrite); !ok {
		return wire.NakRemoteAccess, false
	}
	rcv.remote, rcv.remaining, rcv.rkey = reth.VA.Get(), length, reth.RKey.Get()
	return 0, true
}

// placeWrite writes a packet of a WRITE to memory. It looks up the key again each time: the region
// may have been deregistered between two packets.
func (rcv *receiver) placeWrite(payload []byte) bool {
	n := uint32(len(payload))
	if !rcv.pd.place(rcv.conn(), false, rcv.remote, rcv.rkey, RemoteWrite, payload,
		n < rcv.remaining) {
		return false
	}
	rcv.remote += uint64(n)
	rcv.remaining -= n
	return true
}

// scatter writes a packet of a SEND into the receive in progress, at an offset. More follows or
// not.
func (rcv *receiver) scatter(offset uint32, payload []byte, more bool) bool {
	if len(payload) == 0 {
		return true
	}
	qp, w := rcv.conn(), &rcv.wqe
	if w.sges == 1 {
		return rcv.pd.place(qp, false, w.sge.Addr+uint64(offset), w.sge.LKey, LocalWrite, payload,
			more)
	}
	return walkSGEs(w.sge, rcv.sges, w.sges, offset, uint32(len(payload)), func(p piece) bool {
		part := payload[:p.n]
		payload = payload[p.n:]
		return rcv.pd.place(qp, false, p.addr, p.key, LocalWrite, part, more || !p.last)
	})
}

// failPlacement refuses the message in progress: packets of it could not be written.
func (rcv *receiver) failPlacement() {
	if rcv.message == messageWrite {
		rcv.refuseRequest(wire.NakRemoteAccess)
		return
	}
	rcv.failRecv(StatusLocProtErr)
	rcv.refuseRequest(wire.NakRemoteOperational)
}

// invalidate ends the key that a SEND with invalidate names (InfiniBand spec 9.4.1.1.3).
func (rcv *receiver) invalidate(rkey uint32) bool {
	qp := rcv.conn()
	mr := qp.ep.regions.find(rkey)
	if mr == nil || mr.pd != rcv.pd || mr.access&RemoteInvalidate == 0 {
		return false
	}
	mr.Deregister()
	return true
}

// deliver completes the receive of a message.
func (rcv *receiver) deliver(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := rcv.conn()
	rcv.hasReceive = false
	wc := rcv.cq.next()
	if wc == nil {
		qp.cqOverran()
		return
	}
	wc.set(rcv.wqe.id, StatusSuccess, OpRecv, qp.Num)
	wc.ByteLen = rcv.received
	if info.Kind == wire.Write {
		wc.Op = OpRecvWriteImm
	}
	if info.Imm {
		wc.WithImm, wc.Imm = true, p.Imm()
	}
	if info.Inv {
		wc.WithInv, wc.Imm = true, p.IETH()
	}
	rcv.cq.add(wc, p.Solicited)
}

// failRecv completes the receive in progress with an error.
func (rcv *receiver) failRecv(status Status) {
	qp := rcv.conn()
	if qp.Type != RC || !rcv.hasReceive {
		return
	}
	rcv.hasReceive = false
	rcv.completeRecv(rcv.wqe.id, status, true)
}

// accept advances by n PSNs.
func (rcv *receiver) accept(n uint32) {
	rcv.ePSN = rcv.ePSN.Add(n)
	rcv.nakSent = false
	if rcv.pendingAck >= ackRNR && rcv.nakPSN.Before(rcv.ePSN) {
		rcv.pendingAck = ackPositive // what was missing arrived before the NAK left
	}
}

// scheduleAck schedules an answer: an ACK of everything so far, or a NAK of the expected packet.
func (rcv *receiver) scheduleAck(a ackKind, code uint8) {
	qp := rcv.conn()
	if a == ackPositive {
		if rcv.pendingAck != ackNone || qp.state == Errored {
			// a NAK also acknowledges what is before it; in ERR nothing more is acknowledged
			return
		}
	} else {
		rcv.nakCode, rcv.nakPSN = code, rcv.ePSN
	}
	rcv.pendingAck = a
	qp.ep.scheduleResponses(qp)
}

// refuseRequest refuses a request that must not be executed. For RC that ends the connection, for
// UC the message (InfiniBand spec 9.7.5.2, 9.8.3).
func (rcv *receiver) refuseRequest(code uint8) {
	qp := rcv.conn()
	c := &qp.ep.counters
	if qp.Type == UC {
		c.UnreliableErrors++
		rcv.message = messageSkip
		rcv.accept(1)
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
	rcv.scheduleAck(ackNak, code)
	qp.fatal(kind)
}

// notReady handles a message for which no receive is posted: with an RNR NAK, or silently for UC.
func (rcv *receiver) notReady() {
	qp := rcv.conn()
	if qp.Type == UC {
		qp.ep.counters.UnreliableNoRecv++
		rcv.message = messageSkip
		rcv.accept(1)
		return
	}
	qp.ep.counters.RNRSent++
	rcv.nakSent = true // what follows is behind a gap that the peer knows of
	rcv.scheduleAck(ackRNR, rcv.minRNRTimer)
}

// receiveRead handles a READ request: it schedules the response.
func (rcv *receiver) receiveRead(p *wire.Packet) {
	qp := rcv.conn()
	reth := p.RETH()
	length := reth.Len.Get()
	if length > maxMessage || qp.packetsFor(length) > maxReadPSNs || rcv.reads.isFull() {
		rcv.refuseRequest(wire.NakInvalidRequest)
		return
	}
	if qp.access&RemoteRead == 0 {
		rcv.refuseRequest(wire.NakInvalidRequest)
		return
	}
	if _, ok := rcv.pd.find(reth.VA.Get(), length, reth.RKey.Get(), RemoteRead); !ok {
		rcv.refuseRequest(wire.NakRemoteAccess)
		return
	}
	packets := qp.packetsFor(length)
	rcv.msn++
	rcv.reads.add(readEntry{first: rcv.ePSN, packets: packets, addr: reth.VA.Get(), length: length,
		rkey: reth.RKey.Get(), msn: rcv.msn})
	rcv.accept(packets)
	rcv.packetsReceived++
	qp.ep.scheduleResponses(qp)
}

// packetsFor returns how many packets length bytes take.
func (qp *QueuePair) packetsFor(length uint32) uint32 {
	return max(1, (length+qp.mtu-1)>>qp.mtuShift)
}

// receiveAtomic executes an atomic, once, and keeps the result for its duplicates.
func (rcv *receiver) receiveAtomic(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := rcv.conn()
	h := p.AtomicETH()
	if h.VA.Get()&7 != 0 || rcv.reads.isFull() {
		rcv.refuseRequest(wire.NakInvalidRequest)
		return
	}
	if qp.access&RemoteAtomic == 0 {
		rcv.refuseRequest(wire.NakInvalidRequest)
		return
	}
	addr, key := h.VA.Get(), h.RKey.Get()
	mem, ok := rcv.pd.source(addr, 8, key, RemoteAtomic, 8, true)
	if !ok {
		rcv.refuseRequest(wire.NakRemoteAccess)
		return
	}
	found := binary.NativeEndian.Uint64(mem)
	value := found + h.SwapAdd.Get()
	if info.Kind == wire.CmpSwap {
		value = found
		if found == h.Compare.Get() {
			value = h.SwapAdd.Get()
		}
	}
	changed := qp.ep.made[:8]
	binary.NativeEndian.PutUint64(changed, value)
	if !rcv.pd.place(qp, false, addr, key, RemoteAtomic, changed, false) {
		rcv.refuseRequest(wire.NakRemoteAccess)
		return
	}
	rcv.msn++
	rcv.reads.add(readEntry{first: rcv.ePSN, packets: 1, atomic: true, found: found, msn: rcv.msn})
	rcv.accept(1)
	rcv.packetsReceived++
	qp.ep.scheduleResponses(qp)
}

// receiveDuplicate handles a request that was executed before (InfiniBand spec 9.7.5.1.2): a SEND
// or WRITE is acknowledged again, a READ is read again, an atomic's result is sent again.
func (rcv *receiver) receiveDuplicate(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := rcv.conn()
	e := qp.ep
	known := true
	switch info.Kind {
	case wire.Send, wire.Write:
		if p.AckReq {
			rcv.scheduleAck(ackPositive, 0)
		}
	case wire.Read:
		known = rcv.reads.rewind(p.PSN, qp.mtuShift, p.RETH(), qp.isSelective())
	default:
		known = rcv.reads.replay(p.PSN)
	}
	if !known {
		e.counters.DropDuplicate++
		return
	}
	e.counters.DuplicateRequests++
	rcv.duplicates++
	if rcv.reads.pending > 0 {
		e.scheduleResponses(qp)
	}
}

// admitUnreliable reports whether a packet of a UC peer is to be executed. A gap in the PSNs ends
// the message in progress, and packets are dropped until the next one begins (InfiniBand spec
// 9.8.2.2).
func (rcv *receiver) admitUnreliable(p *wire.Packet, info *wire.OpcodeInfo) bool {
	qp := rcv.conn()
	if p.PSN != rcv.ePSN || rcv.message == messageSkip || info.First && rcv.message != messageNone {
		if !info.First {
			qp.ep.counters.UCLost++
			rcv.message = messageSkip
			rcv.ePSN = p.PSN.Add(1)
			return false
		}
		rcv.message = messageNone // the receive it held is used for the new message
	}
	rcv.ePSN = p.PSN
	return true
}

// receiveXDATA handles a request inside an XDATA, with telemetry, Bolt's flags or a grant.
func (rcv *receiver) receiveXDATA(p *wire.Packet) {
	qp := rcv.conn()
	info, reads, flags := p.Inner().Info(), wire.Features(rcv.xdata),
		extension.TLVs(p.TLVs()).Bolt()
	if !info.Request || info.Transport != wire.RC || extension.TLVs(p.TLVs()).INT() != nil &&
		reads&wire.FeatureINT == 0 ||
		extension.TLVs(p.TLVs()).Grant() != nil && reads&wire.FeatureToken == 0 || flags != nil &&
		reads&wire.FeatureBolt == 0 {
		qp.ep.counters.DropUnnegotiated++
		return
	}
	if t := extension.TLVs(p.TLVs()).INT(); t != nil && t.Filled() > 0 {
		m := qp.cong.ackEcho()
		if m.telemetry == nil {
			m.telemetry = qp.ep.telemetries.get()
		}
		m.telemetry.psn, m.telemetry.pending = p.PSN, true
		copy(m.telemetry.area[:], t)
	}
	if flags != nil {
		qp.cong.onBoltFlags(flags)
	}
	rcv.receiveRequest(p, info)
	if rcv.reorder != nil {
		rcv.executeReordered()
	}
}
