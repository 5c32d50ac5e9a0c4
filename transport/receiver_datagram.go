package transport

import "github.com/goroce/goroce/transport/wire"

// receiveDatagram delivers a datagram, or drops it silently.
func (rcv *receiver) receiveDatagram(p *wire.Packet) {
	qp := rcv.conn()
	e := qp.ep
	h := p.DETH()
	payload := p.Payload()
	switch {
	case !qp.isReceiving():
		e.counters.DropState++
		return
	case !samePartition(p.PKey, qp.pkey):
		e.counters.DropPKey++
		return
	case h.QKey.Get() != qp.qkey:
		e.counters.DropQKey++
		return
	case !e.neighbors.Owns(p.DstIP()):
		e.counters.DropDestination++
		return
	case !rcv.takeRecv():
		e.counters.UnreliableNoRecv++
		return
	}
	if p.ECN == wire.ECNCE {
		qp.cong.countMark()
	}
	length := wire.GRHLen + uint32(len(payload))
	if length > rcv.wqe.total {
		e.counters.UnreliableErrors++
		return // the receive stays for the next datagram
	}
	grh := e.made[:]
	p.GRH(grh)
	status := StatusSuccess
	if !rcv.scatter(0, grh, len(payload) > 0) || !rcv.scatter(wire.GRHLen, payload, false) {
		status = StatusLocProtErr
	}
	rcv.hasReceive = false
	rcv.packetsReceived++
	rcv.bytesReceived += uint64(len(payload))
	wc := rcv.cq.next()
	if wc == nil {
		qp.cqOverran()
		return
	}
	wc.set(rcv.wqe.id, status, OpRecv, qp.Num)
	wc.WithGRH, wc.V6, wc.SrcQP, wc.ByteLen = true, p.V6, wire.QPN(h.SrcQP.Get()), length
	if p.Op == wire.UDSendOnlyImm {
		wc.WithImm, wc.Imm = true, p.Imm()
	}
	rcv.cq.add(wc, p.Solicited)
}
