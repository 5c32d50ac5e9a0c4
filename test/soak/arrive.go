package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// consumers returns the messages of the peer that consume receives.
func (end *peerEnd) consumers() []*message {
	if end.consuming == nil {
		end.consuming = []*message{}
		for _, m := range end.peer.script {
			if m.consumesReceive() {
				end.consuming = append(end.consuming, m)
			}
		}
	}
	return end.consuming
}

// received checks a message of a reliable peer: it must be the next one in order.
func (end *peerEnd) received(at *slot, wc *transport.WorkCompletion) {
	m := end.expectedMessage()
	if m == nil || m.progress == waiting {
		end.failf(m, "receive %+v completed, want none: no message was sent", *wc)
		return
	}
	if m.mistake != mistakeNone {
		end.peer.failf(m, "received, want an error")
	}
	// WRITEs before it are on the same queue pair, so they must be in place.
	for _, before := range end.peer.script[end.nextRecv:m.number] {
		if before.op == transport.OpWrite {
			end.peer.checkWritten(before)
		}
	}
	end.nextRecv = m.number + 1
	m.arrived = true
	if wrongs := completionMismatch(m, wc, 0); wrongs != "" {
		end.peer.failf(m, "received as %+v: %s", *wc, wrongs)
	}
	if m.op == transport.OpSendInv && m.invalidates.mr.Valid() {
		end.peer.failf(m, "its key is still valid")
	}
	err := at.pieces.verify(m.key, m.receiveBytes())
	if err == nil && m.op == transport.OpWriteImm {
		err = m.remote.verify(m.key, m.size)
	}
	if err != nil {
		end.peer.failf(m, "received: %v", err)
	}
	end.consume(units.Bytes(wc.ByteLen))
}

// expectedMessage returns the message of the peer that the next receive is for.
func (end *peerEnd) expectedMessage() *message {
	for _, m := range end.peer.script[end.nextRecv:] {
		if m.consumesReceive() {
			return m
		}
	}
	return nil
}

// completionMismatch names what differs between a completion and its message, and returns "" if
// nothing does. extra is the number of bytes before the payload in the receive.
func completionMismatch(m *message, wc *transport.WorkCompletion, extra int) string {
	op, size := transport.OpRecv, m.receiveBytes()
	withImm, withInv, imm := false, false, uint32(0)
	switch m.op {
	case transport.OpSendImm:
		withImm, imm = true, m.imm
	case transport.OpWriteImm:
		op, size, withImm, imm = transport.OpRecvWriteImm, m.size, true, m.imm
	case transport.OpSendInv:
		withInv, imm = true, m.invalidates.mr.RKey
	}
	switch {
	case wc.Op != op:
		return "operation"
	case int(wc.ByteLen) != size+extra:
		return "length"
	case wc.WithImm != withImm || wc.WithInv != withInv || wc.WithGRH != (extra > 0):
		return "flags"
	case wc.Imm != imm:
		return "immediate data"
	}
	return ""
}

// receiveFailed checks a receive that completed with an error.
func (end *peerEnd) receiveFailed(at *slot, wc *transport.WorkCompletion) {
	m := end.expectedMessage()
	if wc.Status != transport.StatusWRFlushErr {
		if m == nil || m.mistake == mistakeNone || outcomes[m.mistake].receiver != wc.Status {
			end.failf(m, "receive %+v", *wc)
			return
		}
		end.nextRecv = m.number + 1
	} else if end.qp.State() != transport.Errored {
		end.failf(nil, "receive %+v flushed in %v", *wc, end.qp.State())
	}
	if end.session.service != transport.RC || m == nil {
		return
	}
	if err := at.pieces.verifyPart(m.key); err != nil { // it may have arrived in part
		end.peer.failf(m, "flushed at its receiver: %v", err)
	}
}

// receivedUnreliable checks a message of an unreliable peer: it must be complete and have been
// sent. It may arrive twice only if the network duplicates, and out of order only if the network
// reorders.
func (end *peerEnd) receivedUnreliable(at *slot, wc *transport.WorkCompletion) {
	extra := 0
	if end.session.service == transport.UD {
		extra = datagramRoom
		if wc.SrcQP != end.peer.qp.Num {
			end.failf(nil, "datagram %+v, want it from QP %#x", *wc, uint32(end.peer.qp.Num))
		}
	}
	once, ordered := !end.session.plan.mayDuplicate(), !end.session.plan.mayReorder()
	content := at.content()
	if len(content) < extra {
		end.failf(nil, "datagram %+v is shorter than a GRH", *wc)
		return
	}
	for _, m := range end.peer.script[:end.peer.next] {
		if once && m.arrived || ordered && m.number < end.nextRecv || m.mistake != mistakeNone ||
			!m.consumesReceive() || completionMismatch(m, wc, extra) != "" {
			continue
		}
		body := content[extra:]
		if m.key.mismatch(body[:m.receiveBytes()], 0) >= 0 {
			continue
		}
		m.arrived = true
		if ordered {
			end.nextRecv = m.number + 1
		}
		// UC may leave part of a lost message behind the payload.
		if end.session.service == transport.UD && !isIdle(body[m.receiveBytes():]) {
			end.peer.failf(m, "bytes behind the message were written")
		}
		if m.op == transport.OpWriteImm {
			if err := m.remote.verify(m.key, m.size); err != nil {
				end.peer.failf(m, "received: %v", err)
			}
		}
		end.session.sim.stats.Datagrams++
		return
	}
	end.failf(nil, "receive %+v matches no message in flight", *wc)
}

// checkAllArrived checks, in a simulation without loss, that all unreliable messages of the end
// arrived, unless the receiver ran out of receives.
func (end *peerEnd) checkAllArrived() {
	if end.destroyed || end.peer.destroyed ||
		end.peer.node.endpoint.Stats().UnreliableNoRecv > 0 {
		return
	}
	for _, m := range end.script {
		if m.consumesReceive() && m.progress == succeeded && !m.arrived {
			end.failf(m, "did not arrive in a simulation without loss")
		}
	}
}

// content returns the content of the slot's pieces, in order.
func (at *slot) content() []byte {
	var all []byte
	for _, e := range at.pieces {
		all = append(all, e.bytes()...)
	}
	return all
}
