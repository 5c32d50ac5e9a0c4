package main

import (
	"errors"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// afterFailure is how many messages are still posted to a queue pair in the error state.
const afterFailure = 3

// post posts what is due, as far as there is room.
func (x *side) post() {
	for !x.over() && x.next < len(x.script) && !x.aborted {
		m := x.script[x.next]
		if x.dead {
			if x.extra >= afterFailure {
				break
			}
			x.extra++
		} else if m.at.After(x.session.world.net.Now()) {
			x.postAt(m.at)
			break
		}
		if x.qp.SendRoom() == 0 {
			if err := x.qp.PostSend(&transport.WorkRequest{}); !errors.Is(err,
				transport.ErrQueueFull) {
				x.violated(m, "posted to a full queue: %v", err)
			}
			break
		}
		x.refusals()
		if err := x.qp.PostSend(x.request(m)); err != nil {
			x.violated(m, "%v", err)
			return
		}
		m.progress = posted
		x.next++
	}
	if x.next != x.done {
		x.watch() // there will be room; the last may end without a completion
	}
	x.session.check()
}

// postAt makes the side post again at a time.
func (x *side) postAt(at units.Time) {
	if x.alarm == at {
		return
	}
	x.alarm = at
	x.session.world.net.At(at, func() {
		x.post()
		x.wake()
	})
}

// refusals posts, now and then, what must be refused and change nothing.
func (x *side) refusals() {
	d := x.session.world.dice
	if !x.session.plan.kind.oddities || !d.chance(0.02) || x.qp.State() != transport.ReadyToSend {
		return
	}
	room := x.qp.SendRoom()
	for _, wr := range []transport.WorkRequest{
		{SGList: make([]transport.SGE, x.sges+1)},
		{Flags: transport.Inline, Data: make([]byte, x.inline+1)},
		{Op: transport.OpRead, Flags: transport.Inline},
		{Op: transport.OpFetchAdd, SGList: []transport.SGE{{Length: 4}}},
		{SGList: []transport.SGE{{Length: 3 << 30}}},
		{Op: 99},
	} {
		if err := x.qp.PostSend(&wr); !errors.Is(err, transport.ErrInvalid) && !errors.Is(err,
			transport.ErrUnsupported) {
			x.violated(nil, "posted %+v: %v", wr, err)
		}
	}
	if x.qp.SendRoom() != room {
		x.violated(nil, "refused requests took %d places", room-x.qp.SendRoom())
	}
}

// request makes the work request of a message and fills its memory.
func (x *side) request(m *message) *transport.WorkRequest {
	wr := &transport.WorkRequest{
		ID: sendID(x.number, m.number), Op: m.op, Flags: m.flags, Imm: m.imm,
		SGList: m.local.sges(),
	}
	if x.session.service == transport.UD {
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = x.handle, x.peer.qp.Num, qkey
		if m.wrong == wrongQKey {
			wr.RemoteQKey++
		}
	}
	switch {
	case m.flags&transport.Inline != 0:
		wr.Data = make([]byte, m.size)
		m.key.fill(wr.Data, 0)
		wr.SGList = nil
	case !m.answered():
		if m.relays == nil {
			m.local.fill(m.key)
		}
	case m.op == transport.OpRead:
		if m.reads == nil {
			m.remote.fill(m.key)
		}
	case m.atomic != nil:
		wr.CompareAdd, wr.Swap = m.atomic.begin(x)
	}
	target := x.peer.target
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
		if m.doomed != nil {
			wr.InvalidateKey = m.doomed.mr.RKey
		}
	}
	x.spoil(m, wr)
	return wr
}

// spoil makes the mistake that the message is about.
func (x *side) spoil(m *message, wr *transport.WorkRequest) {
	peer := x.peer
	switch m.wrong {
	case wrongKey:
		wr.RKey ^= badKey
	case wrongBounds:
		wr.RemoteAddr = peer.target.mr.Addr + uint64(max(0, len(peer.target.region())-m.size+1))
		if m.isAtomic() {
			wr.RemoteAddr = (peer.target.mr.Addr + uint64(len(peer.target.region())) + 7) &^ 7
		}
	case wrongAccess:
		wr.RemoteAddr, wr.RKey = peer.vault.mr.Addr, peer.vault.mr.RKey
	case wrongDomain:
		wr.RemoteAddr, wr.RKey = peer.exile.mr.Addr, peer.exile.mr.RKey
	case wrongAlignment:
		wr.RemoteAddr += 4
	case wrongLocalKey:
		last := len(wr.SGList) - 1
		for wr.SGList[last].Length == 0 {
			last--
		}
		wr.SGList[last].LKey ^= badKey
	}
}
