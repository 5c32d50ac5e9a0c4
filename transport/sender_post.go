package transport

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// PostSend puts a work request into the send queue (ibv_post_send). It copies the request, and with
// Inline its data. If it returns an error, the request has no effect; a later failure ends in a
// completion with an error.
func (qp *QueuePair) PostSend(wr *WorkRequest) error {
	if wr.Op >= sendOps {
		return fmt.Errorf("transport: QP %#x: post send: %v; want an operation of a send queue: %w",
			uint32(qp.Num), wr.Op, ErrInvalid)
	}
	switch qp.state {
	case ReadyToSend, SQDrained:
	case Errored, SQErrored: // completes at once, as in libibverbs
		if !qp.snd.canComplete() {
			return qp.errCompletionsFull("post send")
		}
		w := sendWQE{id: wr.ID, op: wr.Op, flags: signaled}
		qp.snd.complete(&w, StatusWRFlushErr)
		return nil
	default:
		return qp.requireState("post a send", ReadyToSend)
	}
	return qp.snd.post(wr)
}

// post copies a work request into the queue.
func (snd *sender) post(wr *WorkRequest) error {
	qp := snd.conn()
	if snd.posted-snd.done >= snd.cold().limit {
		return fmt.Errorf("transport: QP %#x: post send: all %d requests are outstanding: %w",
			uint32(qp.Num), snd.cold().limit, ErrQueueFull)
	}
	if snd.q == noRequests {
		snd.borrowQueue()
	}
	slot := snd.slot(snd.posted)
	w := snd.at(snd.posted)
	if len(wr.SGList) == 1 && !wr.Inline {
		w.sge, w.sges, w.length = wr.SGList[0], 1, wr.SGList[0].Length
	} else if err := snd.takeSource(w, wr, slot); err != nil {
		snd.returnQueue()
		return err
	}
	if qp.Type != RC || wr.Op >= OpRead || w.length > maxMessage {
		if err := snd.checkRequest(w, wr, slot); err != nil {
			snd.returnQueue()
			return err
		}
	}
	w.id, w.op, w.flags = wr.ID, wr.Op, wr.flags()
	w.remoteAddr, w.rkey = wr.RemoteAddr, wr.RKey
	w.imm = wr.Imm
	if wr.Op == OpSendInv {
		w.imm = wr.InvalidateKey
	}
	w.packets = max(1, uint32((uint64(w.length)+uint64(qp.mtu)-1)>>qp.mtuShift))
	snd.cold().pending += units.Bytes(w.length)
	if snd.posted == snd.done && qp.cong.expects(cc.POST) {
		qp.cong.setNewWork(qp.Type == RC)
	}
	snd.posted++
	if qp.adm != nil {
		qp.adm.onPosted(w)
	}
	qp.ep.scheduleRequests(qp)
	return nil
}

// takeSource copies a scatter/gather list or inline data into the slot.
func (snd *sender) takeSource(w *sendWQE, wr *WorkRequest, slot uint32) error {
	qp := snd.conn()
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("transport: QP %#x: post send: %s: %w", uint32(qp.Num),
			fmt.Sprintf(format, args...), ErrInvalid)
	}
	if wr.Inline {
		if wr.Op >= OpRead {
			return refuse("%v cannot be inline", wr.Op)
		}
		room := int(snd.cold().maxInline)
		if len(wr.Data) > room {
			return refuse("%d bytes inline, the queue takes %d", len(wr.Data), room)
		}
		copy(snd.q.inline[int(slot)*room:], wr.Data)
		w.sges, w.length = 0, uint32(len(wr.Data))
		return nil
	}
	if len(wr.SGList) > int(snd.cold().maxSGE) {
		return refuse("%d elements, the queue takes %d", len(wr.SGList), snd.cold().maxSGE)
	}
	total := uint64(0)
	extra := snd.q.sges[int(slot)*(int(snd.cold().maxSGE)-1):]
	for i, s := range wr.SGList {
		total += uint64(s.Length)
		if i == 0 {
			w.sge = s
		} else {
			extra[i-1] = s
		}
	}
	if total > maxMessage {
		return refuse("%d bytes are more than a message may have", total)
	}
	w.sges, w.length = uint8(len(wr.SGList)), uint32(total)
	return nil
}

// checkRequest checks what only some requests need.
func (snd *sender) checkRequest(w *sendWQE, wr *WorkRequest, slot uint32) error {
	qp := snd.conn()
	refuse := func(err error, format string, args ...any) error {
		return fmt.Errorf("transport: QP %#x: post %v: %s: %w", uint32(qp.Num), wr.Op,
			fmt.Sprintf(format, args...), err)
	}
	if w.length > maxMessage {
		return refuse(ErrInvalid, "%d bytes are more than a message may have", w.length)
	}
	switch qp.Type {
	case RC:
		if wr.Op.hasResponse() && snd.cold().reads.limit() == 0 {
			return refuse(errors.ErrUnsupported, "max_rd_atomic is 0")
		}
		if n := qp.packetsFor(w.length); wr.Op == OpRead && n > maxReadPSNs {
			return refuse(ErrInvalid, "%d bytes take %d PSNs at path MTU %d; want at most %d",
				w.length, n, qp.mtu, maxReadPSNs)
		}
		if wr.Op.isAtomic() {
			if w.length != 8 {
				return refuse(ErrInvalid, "the result takes 8 bytes, not %d", w.length)
			}
			snd.q.atomics[slot] = atomicArgs{wr.CompareAdd, wr.Swap}
		}
	case UC:
		if wr.Op.hasResponse() || wr.Op == OpSendInv {
			return refuse(errors.ErrUnsupported, "%v has no such operation", qp.Type)
		}
	case UD:
		switch {
		case wr.Op != OpSend && wr.Op != OpSendImm:
			return refuse(errors.ErrUnsupported, "%v has no such operation", qp.Type)
		case wr.AH == nil || wr.AH.ep != qp.ep || wr.AH.pd == nil:
			return refuse(ErrInvalid, "want an address handle of this endpoint, not destroyed")
		case wr.RemoteQPN > wire.QPNMask:
			return refuse(ErrInvalid, "queue pair number %#x has more than 24 bits",
				uint32(wr.RemoteQPN))
		case w.length > qp.mtu:
			return refuse(ErrInvalid, "%d bytes; a datagram holds at most %d", w.length, qp.mtu)
		}
		snd.q.datagrams[slot] = datagramArgs{wr.AH, wr.RemoteQPN, wr.RemoteQKey}
	}
	if wr.Op.isLocal() {
		if len(wr.SGList) > 0 {
			return refuse(ErrInvalid, "%d scatter/gather elements; it takes none", len(wr.SGList))
		}
		snd.putLocal(slot, wr)
	}
	return nil
}

// PostRecv puts a receive request into the receive queue (ibv_post_recv).
func (qp *QueuePair) PostRecv(rr *RecvRequest) error {
	switch {
	case qp.rcv.isShared():
		return fmt.Errorf("transport: QP %#x: post receive: it receives from a shared queue: %w",
			uint32(qp.Num), ErrInvalid)
	case qp.state == Reset:
		return qp.requireState("post a receive", Init)
	case qp.state == Errored:
		if !qp.rcv.canComplete() {
			return qp.errCompletionsFull("post receive")
		}
		qp.rcv.completeRecv(rr.ID, StatusWRFlushErr, false)
		return nil
	}
	err := qp.rcv.post(rr)
	if err == nil && qp.adm != nil {
		qp.adm.onReceivePosted()
	}
	return err
}

// RecvRoom returns how many more receives PostRecv accepts now. It is 0 with a shared queue.
func (qp *QueuePair) RecvRoom() int {
	if qp.rcv.isShared() {
		return 0
	}
	return qp.rcv.room()
}

// OnNoReceive sets a function that is called when a message finds no receive in the queue pair's
// own queue. It may post some, which the message then uses.
func (qp *QueuePair) OnNoReceive(f func()) {
	if !qp.rcv.isShared() {
		qp.rcv.onNoReceive(f)
	}
}

// errCompletionsFull is returned for a request to a queue pair in Errored whose completion queue
// has no room for the completion.
func (qp *QueuePair) errCompletionsFull(what string) error {
	return fmt.Errorf("transport: QP %#x: %s: state %v, and the completion queue is full: %w",
		uint32(qp.Num), what, qp.state, ErrQueueFull)
}

// canComplete reports whether the completion queue has room.
func (snd *sender) canComplete() bool { return !snd.cold().cq.isFull() }

// complete adds the completion of a send work request if it is signaled, or failed.
func (snd *sender) complete(w *sendWQE, s Status) {
	qp := snd.conn()
	snd.cold().pending -= units.Bytes(w.length)
	if qp.adm != nil {
		qp.adm.onCompleted(w)
	}
	if s == StatusSuccess && w.flags&signaled == 0 && !snd.cold().signalAll {
		return
	}
	wc := snd.cold().cq.next()
	if wc == nil {
		qp.cqOverran()
		return
	}
	wc.set(w.id, s, w.op, qp.Num)
	if w.op.hasResponse() && s == StatusSuccess {
		wc.ByteLen = w.length
	}
	snd.cold().cq.add(wc, false)
}

// cqOverran stops a queue pair that lost a completion: the program must not go on as if it had all
// of them. The state keeps the flush, which loses more, from coming here again.
func (qp *QueuePair) cqOverran() {
	if qp.state != Errored {
		qp.setState(Errored) // so that no packet is handled before Poll flushes it
		qp.ep.overrun = append(qp.ep.overrun, qp)
	}
}
