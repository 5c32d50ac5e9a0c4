package engine

import (
	"errors"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/verbs/protocol"
)

var errUnsupported = errors.ErrUnsupported

// hasWork reports whether a queue of the session has requests.
func (s *Session) hasWork() bool {
	for i, q := range s.queues {
		if q != nil && s.tails[i].Load() != q.head {
			return true
		}
	}
	return false
}

// drain posts what is in the queues of the session, and reports whether there was anything.
func (s *Session) drain() (busy bool) {
	for i, q := range s.queues {
		if q != nil && s.tails[i].Load() != q.head && q.drain(q) {
			busy = true
		}
	}
	s.sendPending()
	return busy
}

// drain posts what is in the queue pair's queues.
func (o *queuePair) drain() {
	if o.recv != nil {
		o.session.drainRecv(o.recv)
	}
	o.session.drainSend(o.send)
}

// discard drops what is in the queue pair's queues.
func (o *queuePair) discard() {
	for _, q := range []*workQueue{o.send, o.recv} {
		if q != nil {
			o.session.take(q, o.session.tails[q.number].Load()-q.head)
		}
	}
}

// take passes slots that have been used.
func (s *Session) take(q *workQueue, n uint32) bool {
	if n == 0 {
		return false
	}
	q.head += n
	s.heads[q.number].Store(q.head)
	return true
}

func (s *Session) drainRecv(q *workQueue) bool {
	n := min(q.posted(s.tails), uint32(q.qp.RecvRoom()))
	return s.take(q, s.receives(q, n, q.qp.PostRecv))
}

func (s *Session) drainSRQ(q *workQueue) bool {
	n := min(q.posted(s.tails), uint32(max(q.srq.Room(), 0)))
	return s.take(q, s.receives(q, n, q.srq.PostRecv))
}

// receives posts up to n receives and returns how many it took. Those that the transport refuses
// are gone: the library has checked them, so that their program is broken.
func (s *Session) receives(q *workQueue, n uint32, post func(*transport.RecvRequest) error) uint32 {
	e := s.engine
	for i := range n {
		slot := q.slot(q.head + i)
		r := readRQE(slot)
		room := (len(slot) - protocol.RQEBody) / protocol.SGESize
		e.rr = transport.RecvRequest{ID: r.WRID,
			SGList: s.elements(slot[protocol.RQEBody:], min(int(r.Elements), room))}
		if err := post(&e.rr); errors.Is(err, transport.ErrQueueFull) {
			return i
		}
	}
	return n
}

// elements copies n elements out of a slot.
func (s *Session) elements(slot []byte, n int) []transport.SGE {
	list := s.engine.sges[:min(n, maxSGE)]
	for i := range list {
		e := readSGE(slot[i*protocol.SGESize:])
		list[i] = transport.SGE{Addr: e.Addr, Length: e.Length, LKey: e.LKey}
	}
	return list
}

// sendOps are the operations by enum ibv_wr_opcode; noOp is not supported.
const noOp = transport.OpRecv

var sendOps = [...]transport.Op{transport.OpWrite, transport.OpWriteImm, transport.OpSend,
	transport.OpSendImm, transport.OpRead, transport.OpCmpSwap, transport.OpFetchAdd,
	transport.OpLocalInv, noOp, transport.OpSendInv}

// Bits of enum ibv_send_flags.
const (
	sendFence = 1 << iota
	sendSignaled
	sendSolicited
	sendInline
)

func (s *Session) drainSend(q *workQueue) bool {
	qp := q.qp
	n := q.posted(s.tails)
	i := uint32(0)
	for ; i < n && qp.SendRoom() > 0; i++ {
		slot := q.slot(q.head + i)
		w := readWQE(slot)
		err := qp.request(&s.engine.wr, &w, slot)
		if err == nil {
			err = qp.PostSend(&s.engine.wr)
		}
		if errors.Is(err, transport.ErrQueueFull) {
			break
		}
		if err != nil {
			qp.refuse(&w)
		}
	}
	return s.take(q, i)
}

// request translates a send request. What it does not check, PostSend does.
func (o *queuePair) request(wr *transport.WorkRequest, w *protocol.WQE, slot []byte) error {
	if int(w.Opcode) >= len(sendOps) || sendOps[w.Opcode] == noOp {
		return transport.ErrInvalid
	}
	*wr = transport.WorkRequest{ID: w.WRID, Op: sendOps[w.Opcode], Imm: w.Imm,
		Signaled: w.Flags&sendSignaled != 0, Fence: w.Flags&sendFence != 0,
		Solicited: w.Flags&sendSolicited != 0, RemoteAddr: w.RemoteAddr, RKey: w.RKey}
	body := slot[protocol.WQEBody:]
	if w.Flags&sendInline != 0 {
		if int(w.Length) > min(len(body), o.maxInline) {
			return transport.ErrInvalid
		}
		wr.Inline, wr.Data = true, body[:w.Length]
	} else {
		if int(w.Elements) > len(body)/protocol.SGESize {
			return transport.ErrInvalid
		}
		wr.SGList = o.session.elements(body, int(w.Elements))
	}
	switch {
	case o.Type == transport.UD:
		return o.address(wr, w)
	case wr.Op == transport.OpCmpSwap || wr.Op == transport.OpFetchAdd:
		wr.CompareAdd = readUint64(slot[protocol.WQEAtomic:])
		wr.Swap = readUint64(slot[protocol.WQEAtomic+8:])
		if wr.RemoteAddr%8 != 0 {
			return transport.ErrInvalid
		}
	case wr.Op == transport.OpSendInv || wr.Op == transport.OpLocalInv:
		wr.Imm, wr.InvalidateKey = 0, w.Imm
	}
	return nil
}

// address sets where a datagram goes.
func (o *queuePair) address(wr *transport.WorkRequest, w *protocol.WQE) error {
	handle := uint32(w.RemoteAddr)
	if handle != o.ahHandle || o.ah == nil {
		ah, err := find[addressHandle](o.session, handle)
		if err != nil {
			return err
		}
		o.ah, o.ahHandle = ah.AddressHandle, handle
	}
	wr.AH, wr.RemoteQPN, wr.RemoteQKey = o.ah, wire.QPN(w.RemoteAddr>>32), w.RKey
	wr.RemoteAddr, wr.RKey = 0, 0
	return nil
}

// statusLocQPOpErr is IBV_WC_LOC_QP_OP_ERR.
const statusLocQPOpErr transport.Status = 2

// refuse ends a request that cannot be executed, as an adapter that finds it in its queue: with a
// completion, after which the queue pair is in error, or the send queue alone of UC and UD.
func (o *queuePair) refuse(w *protocol.WQE) {
	o.Endpoint().Setup().FailSends(o.Num)
	if o.State() != transport.SQErrored {
		_ = o.Modify(transport.Errored, transport.QPAttr{})
	}
	e := o.session.engine
	e.copyCompletions(o.sendCQ)
	if o.sendCQ.room() > 0 {
		o.sendCQ.put(&transport.WorkCompletion{ID: w.WRID, Status: statusLocQPOpErr, QPN: o.Num})
	}
	e.markDirty(o.sendCQ)
}
