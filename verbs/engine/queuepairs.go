package engine

import (
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// queuePair is a queue pair of a program.
type queuePair struct {
	*transport.QueuePair
	session    *Session
	handle     uint32
	cookie     uint64
	memory     *shared
	send, recv *workQueue // recv is nil with a shared receive queue
	sendCQ     *completionQueue
	recvCQ     *completionQueue
	attr       protocol.QPAttr // as set so far

	maxInline int
	ah        *transport.AddressHandle // the newest that a datagram went to
	ahHandle  uint32
}

// qpTypes are the transport services by enum ibv_qp_type.
var qpTypes = map[uint32]transport.QPType{2: transport.RC, 3: transport.UC, 4: transport.UD}

// inlineOf returns how much inline data a queue pair may send: at least what the smallest slot has
// room for. Rdma_xclient asks for none, and sends 16 bytes.
func (e *Engine) inlineOf(r *protocol.CreateQP) int {
	return min(max(int(r.MaxInline), protocol.WQESize-protocol.WQEBody), e.limits.MaxInline)
}

// ringsOf returns where the rings of a queue pair are in its memory, and how large that is.
func (e *Engine) ringsOf(r *protocol.CreateQP) (send, recv protocol.Ring, size int) {
	var l layout
	send = l.place(r.MaxSendWR, protocol.SendStride(int(max(r.MaxSendSGE, 1)), e.inlineOf(r)))
	if r.SRQ == 0 {
		recv = l.place(r.MaxRecvWR, protocol.RecvStride(int(max(r.MaxRecvSGE, 1))))
	}
	return send, recv, l.size
}

// prepareQP checks the sizes of a new queue pair, and makes its rings.
func (s *Session) prepareQP(body []byte) error {
	r, err := protocol.Decode[protocol.CreateQP](body)
	if err != nil {
		return err
	}
	limits := &s.engine.limits
	if r.MaxSendWR > uint32(limits.MaxQPWR) || r.MaxRecvWR > uint32(limits.MaxQPWR) ||
		r.MaxSendSGE > maxSGE || r.MaxRecvSGE > maxSGE || r.MaxInline > uint32(limits.MaxInline) {
		return fmt.Errorf("queue pair larger than the device's limits: %w", transport.ErrInvalid)
	}
	_, _, size := s.engine.ringsOf(&r)
	return s.prepare("goroce-qp", size)
}

// initOf translates the attributes of a new queue pair.
func (s *Session) initOf(r *protocol.CreateQP) (i transport.QPInit,
	sendCQ, recvCQ *completionQueue, err error) {
	kind, ok := qpTypes[r.Type]
	if !ok {
		return i, nil, nil, fmt.Errorf("queue pair of type %d, want RC, UC or UD: %w", r.Type,
			errUnsupported)
	}
	pd, err := find[protectionDomain](s, r.PD)
	if err != nil {
		return i, nil, nil, err
	}
	if sendCQ, err = find[*completionQueue](s, r.SendCQ); err != nil {
		return i, nil, nil, err
	}
	if recvCQ, err = find[*completionQueue](s, r.RecvCQ); err != nil {
		return i, nil, nil, err
	}
	i = transport.QPInit{Type: kind, PD: pd.ProtectionDomain, SendCQ: sendCQ.CompletionQueue,
		RecvCQ: recvCQ.CompletionQueue, MaxSendWR: int(r.MaxSendWR), MaxRecvWR: int(r.MaxRecvWR),
		MaxSendSGE: int(max(r.MaxSendSGE, 1)), MaxRecvSGE: int(max(r.MaxRecvSGE, 1)),
		SignalAll: r.SignalAll != 0, MaxInline: s.engine.inlineOf(r)}
	if r.SRQ != 0 {
		srq, err := find[*sharedQueue](s, r.SRQ)
		if err != nil {
			return i, nil, nil, err
		}
		i.SRQ, i.MaxRecvWR, i.MaxRecvSGE = srq.SharedReceiveQueue, 0, srq.maxSGE
	}
	return i, sendCQ, recvCQ, nil
}

func (s *Session) createQP(ep *transport.Endpoint, r *protocol.CreateQP) (answer, error) {
	init, sendCQ, recvCQ, err := s.initOf(r)
	if err != nil {
		return answer{}, err
	}
	qp, err := ep.CreateQP(init)
	if err != nil {
		return answer{}, err
	}
	o := &queuePair{QueuePair: qp, session: s, cookie: r.Cookie, sendCQ: sendCQ, recvCQ: recvCQ,
		maxInline: init.MaxInline}
	qp.Context = o
	reply := &protocol.QP{Number: uint32(qp.Num), MaxSendWR: r.MaxSendWR, MaxRecvWR: r.MaxRecvWR,
		MaxSendSGE: uint32(init.MaxSendSGE), MaxRecvSGE: uint32(init.MaxRecvSGE),
		MaxInline: uint32(init.MaxInline)}
	reply.Send, reply.Recv, _ = s.engine.ringsOf(r)
	o.memory = s.takePrepared()
	if err := o.addQueues(reply); err != nil {
		s.removeQP(o)
		return answer{}, err
	}
	if o.handle, err = s.add(o); err != nil {
		s.removeQP(o)
		return answer{}, err
	}
	reply.Handle = o.handle
	return answer{body: reply, memory: []*shared{o.memory}}, nil
}

// addQueues adds the rings of the queue pair's requests to the session's.
func (o *queuePair) addQueues(reply *protocol.QP) error {
	s := o.session
	var err error
	if o.send, err = s.addQueue(o.memory, &reply.Send, s.drainSend); err != nil {
		return err
	}
	o.send.qp = o
	if reply.Recv.Entries == 0 { // it has a shared receive queue
		return nil
	}
	if o.recv, err = s.addQueue(o.memory, &reply.Recv, s.drainRecv); err != nil {
		return err
	}
	o.recv.qp = o
	o.OnNoReceive(func() { s.drainRecv(o.recv) })
	return nil
}

func (s *Session) removeQP(o *queuePair) {
	o.QueuePair.Destroy()
	s.removeQueue(o.send)
	s.removeQueue(o.recv)
	if o.memory != nil {
		s.release(o.memory)
	}
	delete(s.objects, o.handle)
}

func (s *Session) destroyQP(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	o, err := find[*queuePair](s, r.Handle)
	if err == nil {
		s.removeQP(o)
	}
	return answer{}, err
}

func (s *Session) queryQP(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	o, err := find[*queuePair](s, r.Handle)
	if err != nil {
		return answer{}, err
	}
	q := o.Query()
	a := o.attr
	a.Handle, a.State, a.CurState = o.handle, uint32(q.State), uint32(q.State)
	if q.State >= transport.ReadyToReceive && q.State != transport.Errored {
		a.RQPSN, a.SQPSN = uint32(q.RecvPSN), uint32(q.SendPSN)
		a.MTU = mtuCode(q.PathMTU)
	}
	return answer{body: &a}, nil
}
