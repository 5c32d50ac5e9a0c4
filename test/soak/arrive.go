package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// consumers lists the messages of the peer that take receives.
func (x *side) consumers() []*message {
	if x.takes == nil {
		x.takes = []*message{}
		for _, m := range x.peer.script {
			if m.consumes() {
				x.takes = append(x.takes, m)
			}
		}
	}
	return x.takes
}

// received judges a message of a reliable peer: it must be the one after the last.
func (x *side) received(at *slot, wc *transport.WorkCompletion) {
	m := x.nextHeard()
	if m == nil || m.progress == waiting {
		x.violated(m, "receive %+v completed, and nothing was sent", *wc)
		return
	}
	if m.wrong != wrongNot {
		x.peer.violated(m, "was received")
	}
	// of the same queue pair, and in its place
	for _, before := range x.peer.script[x.heard:m.number] {
		if before.op == transport.OpWrite {
			x.peer.written(before)
		}
	}
	x.heard = m.number + 1
	m.arrived = true
	if wrongs := mismatch(m, wc, 0); wrongs != "" {
		x.peer.violated(m, "received as %+v: %s", *wc, wrongs)
	}
	if m.op == transport.OpSendInv && m.doomed.mr.Valid() {
		x.peer.violated(m, "its key is still valid")
	}
	err := at.pieces.verify(m.key, m.carries())
	if err == nil && m.op == transport.OpWriteImm {
		err = m.remote.verify(m.key, m.size)
	}
	if err != nil {
		x.peer.violated(m, "received: %v", err)
	}
	x.consume(units.Bytes(wc.ByteLen))
}

// nextHeard is the message of the peer that the next receive is for.
func (x *side) nextHeard() *message {
	for _, m := range x.peer.script[x.heard:] {
		if m.consumes() {
			return m
		}
	}
	return nil
}

// mismatch says what a completion has that its message has not. extra is what the receive holds
// before the payload.
func mismatch(m *message, wc *transport.WorkCompletion, extra int) string {
	op, size := transport.CompRecv, m.carries()
	flags, imm := transport.CompletionFlags(0), uint32(0)
	switch m.op {
	case transport.OpSendImm:
		flags, imm = transport.WithImm, m.imm
	case transport.OpWriteImm:
		op, size, flags, imm = transport.CompRecvWriteImm, m.size, transport.WithImm, m.imm
	case transport.OpSendInv:
		flags, imm = transport.WithInv, m.doomed.mr.RKey
	}
	if extra > 0 {
		flags |= transport.WithGRH
	}
	switch {
	case wc.Op != op:
		return "operation"
	case int(wc.ByteLen) != size+extra:
		return "length"
	case wc.Flags != flags:
		return "flags"
	case wc.Imm != imm:
		return "immediate data"
	}
	return ""
}

// missed judges a receive that ended without a message.
func (x *side) missed(at *slot, wc *transport.WorkCompletion) {
	m := x.nextHeard()
	if wc.Status != transport.StatusWRFlushErr {
		if m == nil || m.wrong == wrongNot || fates[m.wrong].receiver != wc.Status {
			x.violated(m, "receive %+v", *wc)
			return
		}
		x.heard = m.number + 1
	} else if x.qp.State() != transport.Errored {
		x.violated(nil, "receive %+v flushed in %v", *wc, x.qp.State())
	}
	if x.session.service != transport.RC || m == nil {
		return
	}
	if err := at.pieces.verifyPart(m.key); err != nil { // it had begun to arrive
		x.peer.violated(m, "flushed at its receiver: %v", err)
	}
}

// caught judges a message of an unreliable peer: it is whole, was sent, and comes once unless the
// network repeats, and in order unless frames overtake each other.
func (x *side) caught(at *slot, wc *transport.WorkCompletion) {
	extra := 0
	if x.session.service == transport.UD {
		extra = datagramRoom
		if wc.SrcQP != x.peer.qp.Num {
			x.violated(nil, "datagram %+v is not from %#x", *wc, uint32(x.peer.qp.Num))
		}
	}
	once, ordered := !x.session.plan.repeats(), !x.session.plan.overtakes()
	content := at.content()
	if len(content) < extra {
		x.violated(nil, "datagram %+v is shorter than its GRH", *wc)
		return
	}
	for _, m := range x.peer.script[:x.peer.next] {
		if once && m.arrived || ordered && m.number < x.heard || m.wrong != wrongNot ||
			!m.consumes() || mismatch(m, wc, extra) != "" {
			continue
		}
		body := content[extra:]
		if m.key.differs(body[:m.carries()], 0) >= 0 {
			continue
		}
		m.arrived = true
		if ordered {
			x.heard = m.number + 1
		}
		// what UC lost may lie there
		if x.session.service == transport.UD && !atRest(body[m.carries():]) {
			x.peer.violated(m, "bytes behind it were written")
		}
		if m.op == transport.OpWriteImm {
			if err := m.remote.verify(m.key, m.size); err != nil {
				x.peer.violated(m, "received: %v", err)
			}
		}
		x.session.world.stats.Datagrams++
		return
	}
	x.violated(nil, "receive %+v holds no message that was sent and has not come", *wc)
}

// allArrived checks, in a world where nothing is lost, that the unreliable messages of the side
// came to their receiver, unless that had no receive for some.
func (x *side) allArrived() {
	if x.gone || x.peer.gone || x.peer.node.endpoint.Counters().UnreliableNoRecv > 0 {
		return
	}
	for _, m := range x.script {
		if m.consumes() && m.progress == succeeded && !m.arrived {
			x.violated(m, "did not arrive, though nothing was in its way")
		}
	}
}

// content is what the slot's pieces hold, in order.
func (at *slot) content() []byte {
	var all []byte
	for _, e := range at.pieces {
		all = append(all, e.bytes()...)
	}
	return all
}
