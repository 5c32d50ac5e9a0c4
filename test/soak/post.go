package main

import (
	"errors"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// afterFailure is how many messages are still posted to a queue pair in the error state.
const afterFailure = 3

// post posts the messages that are due while there is room.
func (end *peerEnd) post() {
	for !end.isOver() && end.next < len(end.script) && !end.aborted {
		m := end.script[end.next]
		// the program learns of an error from a completion, but posts no more until then
		if end.errored || end.qp.State() == transport.Errored {
			if end.postedAfterError >= afterFailure {
				break
			}
			end.postedAfterError++
		} else if m.at.After(end.session.sim.net.Now()) {
			end.postAt(m.at)
			break
		}
		if end.qp.SendRoom() == 0 {
			if err := end.qp.PostSend(&transport.WorkRequest{}); !errors.Is(err,
				transport.ErrQueueFull) {
				end.failf(m, "posted to a full queue: %v, want ErrQueueFull", err)
			}
			break
		}
		end.postInvalid()
		if err := end.qp.PostSend(end.request(m)); err != nil {
			end.failf(m, "%v", err)
			return
		}
		m.progress = posted
		end.next++
	}
	if end.next != end.done {
		end.watch() // room appears later; the last one may end without a completion
	}
	end.session.endIfFinished()
}

// postAt schedules the next post.
func (end *peerEnd) postAt(at units.Time) {
	if end.postTime == at {
		return
	}
	end.postTime = at
	end.session.sim.net.At(at, func() {
		end.post()
		end.wake()
	})
}

// postInvalid occasionally posts invalid requests, which must be refused without effect.
func (end *peerEnd) postInvalid() {
	r := end.session.sim.rng
	if !end.session.plan.kind.verbErrors || !r.chance(0.02) ||
		end.qp.State() != transport.ReadyToSend {
		return
	}
	room := end.qp.SendRoom()
	for _, wr := range []transport.WorkRequest{
		{SGList: make([]transport.SGE, end.sges+1)},
		{Inline: true, Data: make([]byte, end.inline+1)},
		{Op: transport.OpRead, Inline: true},
		{Op: transport.OpFetchAdd, SGList: []transport.SGE{{Length: 4}}},
		{SGList: []transport.SGE{{Length: 3 << 30}}},
		{Op: 99},
	} {
		if err := end.qp.PostSend(&wr); !errors.Is(err, transport.ErrInvalid) && !errors.Is(err,
			errors.ErrUnsupported) {
			end.failf(nil, "posted %+v: %v, want ErrInvalid or ErrUnsupported", wr, err)
		}
	}
	if end.qp.SendRoom() != room {
		end.failf(nil, "refused requests occupy %d entries, want 0", room-end.qp.SendRoom())
	}
}

// request returns the work request of a message and fills its memory.
func (end *peerEnd) request(m *message) *transport.WorkRequest {
	wr := &transport.WorkRequest{
		ID: sendID(end.number, m.number), Op: m.op, Imm: m.imm, Signaled: m.signaled,
		Fence: m.fence, Solicited: m.solicited, Inline: m.inline,
		SGList: m.local.sges(),
	}
	if end.session.service == transport.UD {
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = end.handle, end.peer.qp.Num, qkey
		if m.mistake == mistakeQKey {
			wr.RemoteQKey++
		}
	}
	switch {
	case m.inline:
		wr.Data = make([]byte, m.size)
		m.key.fill(wr.Data, 0)
		wr.SGList = nil
	case !m.hasResponse():
		if m.resends == nil {
			m.local.fill(m.key)
		}
	case m.op == transport.OpRead:
		if m.readsBack == nil {
			m.remote.fill(m.key)
		}
	case m.atomic != nil:
		wr.CompareAdd, wr.Swap = m.atomic.begin(end)
	}
	target := end.peer.target
	wr.RKey = target.mr.RKey
	switch {
	case m.atomic != nil:
		wr.RKey, wr.RemoteAddr = m.atomic.word.place.in.mr.RKey, m.atomic.word.place.sge().Addr
	case m.isAtomic():
		wr.RemoteAddr = target.mr.Addr
	case len(m.remote) > 0:
		wr.RemoteAddr = m.remote[0].sge().Addr
	}
	if m.op == transport.OpSendInv {
		wr.InvalidateKey = target.mr.RKey
		if m.invalidates != nil {
			wr.InvalidateKey = m.invalidates.mr.RKey
		}
	}
	end.applyMistake(m, wr)
	return wr
}

// applyMistake makes the message's deliberate mistake.
func (end *peerEnd) applyMistake(m *message, wr *transport.WorkRequest) {
	peer := end.peer
	switch m.mistake {
	case mistakeKey:
		wr.RKey ^= badKey
	case mistakeBounds:
		wr.RemoteAddr = peer.target.mr.Addr + uint64(max(0, len(peer.target.region())-m.size+1))
		if m.isAtomic() {
			wr.RemoteAddr = (peer.target.mr.Addr + uint64(len(peer.target.region())) + 7) &^ 7
		}
	case mistakeAccess:
		wr.RemoteAddr, wr.RKey = peer.private.mr.Addr, peer.private.mr.RKey
	case mistakeDomain:
		wr.RemoteAddr, wr.RKey = peer.foreign.mr.Addr, peer.foreign.mr.RKey
	case mistakeAlignment:
		wr.RemoteAddr += 4
	case mistakeLocalKey:
		last := len(wr.SGList) - 1
		for wr.SGList[last].Length == 0 {
			last--
		}
		wr.SGList[last].LKey ^= badKey
	}
}
