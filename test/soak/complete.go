package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// watch makes the node look at the side in each round.
func (x *side) watch() {
	if !x.watched {
		x.watched = true
		x.node.watch = append(x.node.watch, x)
	}
}

// look does what no completion tells of: it sees requests end silently, and posts into the room.
// Every completion that there is has been judged.
func (x *side) look() {
	if x.over() {
		return
	}
	if x.next != x.done && x.qp.SendRoom() == x.depth && x.node.queue.Len() == 0 {
		x.silently(x.next)
	}
	x.post()
}

// silently ends the messages before number n, of whose success nobody was to be told.
func (x *side) silently(n int) {
	for ; x.done < n; x.done++ {
		m := x.script[x.done]
		if x.dead || x.signalAll || m.flags&transport.Signaled != 0 {
			x.violated(m, "ended without a completion")
		}
		x.succeeded(m)
	}
}

// completed judges the completion of a send.
func (x *side) completed(n int, wc *transport.WorkCompletion) {
	if n >= x.next || n < x.done {
		x.violated(nil, "completion %+v of message %d: %d to %d are outstanding", *wc, n, x.done,
			x.next-1)
		return
	}
	m := x.script[n]
	x.silently(n)
	x.done++
	if wc.Status != transport.StatusSuccess {
		x.failed(m, wc.Status)
		return
	}
	if x.dead {
		x.violated(m, "succeeded after another had failed")
	}
	if wc.Op != completionOps[m.op] || m.answered() && int(wc.ByteLen) != m.size {
		x.violated(m, "completion %+v", *wc)
	}
	if !x.signalAll && m.flags&transport.Signaled == 0 {
		x.violated(m, "a completion that was not asked for")
	}
	x.succeeded(m)
}

// succeeded checks what a success promises, and puts the memory to rest.
func (x *side) succeeded(m *message) {
	m.progress = succeeded
	stats := &x.session.world.stats
	stats.Messages++
	stats.Bytes += uint64(m.size)
	switch {
	case x.session.service != transport.RC:
		m.local.restore()
		return // whether it arrives nobody knows
	case m.wrong != wrongNot:
		x.violated(m, "succeeded, and must not")
		return
	case m.isAtomic():
		x.found(m)
	case m.op == transport.OpRead:
		if err := m.local.verify(m.key, m.size); err != nil {
			x.violated(m, "read: %v", err)
		}
	case m.op == transport.OpWrite:
		x.written(m)
	case !m.arrived && !x.peer.gone:
		x.violated(m, "succeeded, but its receive has not completed")
	}
	m.release()
}

// written checks that a WRITE is in its place. A receiver that has heard of what came behind it has
// seen it already.
func (x *side) written(m *message) {
	if m.arrived {
		return
	}
	m.arrived = true
	if err := m.remote.verify(m.key, m.size); err != nil {
		x.violated(m, "written: %v", err)
	}
}

// failed judges an error.
func (x *side) failed(m *message, status transport.Status) {
	m.progress, x.dead = failed, true
	stats := &x.session.world.stats
	if status == transport.StatusWRFlushErr {
		if x.failures == 0 && !x.mayFlush() {
			x.violated(m, "flushed, though nothing had failed")
		}
		return
	}
	if x.failures++; x.failures > 1 {
		x.violated(m, "%v, and it is not the first to fail", status)
	}
	switch {
	case m.wrong != wrongNot && status == fates[m.wrong].sender,
		x.peer.withdrawn && status == transport.StatusRemAccessErr:
		stats.Refused++
	case status == transport.StatusRetryExcErr:
		stats.Exhausted++
		if !x.excused(m) {
			x.violated(m, "retries exceeded, and nothing justifies it; peer: %s", x.peer.status())
		}
	default:
		x.violated(m, "%v", status)
	}
}

// mayFlush says whether requests may be flushed before any has failed: because the program or a
// request of the peer took the queue pair to the error state, or because a request failed that
// others are waiting before.
func (x *side) mayFlush() bool {
	if x.aborted || x.closed || x.withdrawn {
		return true
	}
	for _, m := range x.script[x.done-1 : x.next] {
		if m.wrong == wrongLocalKey {
			return true
		}
	}
	for _, m := range x.peer.script[:x.peer.next] {
		switch m.wrong {
		case wrongNot, wrongLocalKey, wrongNever:
		default:
			return true
		}
	}
	return false
}

// excused says whether something justifies that retries were exceeded.
func (x *side) excused(m *message) bool {
	p, now := x.session.plan, x.session.world.net.Now()
	peer := x.peer
	if peer.over() || x.fragile || x.misled() || peer.misled() || x.starved(x.patience) {
		return true
	}
	if peer.qp.State() == transport.Errored &&
		(peer.aborted || peer.failures > 0 || p.faults.any()) {
		return true
	}
	// What the earlier life of the queue pair sent may come late. The new one refuses it as out of
	// sequence, and the sender takes that for its own: each costs a try.
	if x.again != nil && x.qp.Stats().SequenceNaks > uint64(x.retries) {
		return true
	}
	need := x.shortest * units.Duration(max(0, int(x.retries)-1))
	out := p.faults.out(now.Add(-x.patience-p.slack), now)
	return out > 0 && out >= need
}

// starved says whether packets of classes that go first may have kept those of the side out of a
// link for so long: they have sent enough to fill the slowest one for half of that time. A
// requester that is told to come again in 10 µs, for as long as no receive is posted, does so.
func (x *side) starved(long units.Duration) bool {
	p := x.session.plan
	const queueShift = 5 // of a traffic class: eight DSCPs a queue
	sent := uint64(0)
	for _, other := range p.sessions {
		if other.class>>queueShift <= x.session.class>>queueShift {
			continue
		}
		for _, y := range other.sides {
			if y.qp != nil {
				sent += y.qp.Stats().BytesSent
			}
		}
	}
	return units.Bytes(sent) >= p.topology.slowest.Bytes(long/2)
}

// release puts memory to rest that nobody needs any more.
func (m *message) release() {
	if m.relays != nil {
		m.relays.drop()
	}
	if m.reads != nil {
		m.reads.drop()
	}
	m.drop()
}

func (m *message) drop() {
	if m.users--; m.users == 0 {
		if m.relays == nil {
			m.local.restore()
		}
		if m.reads == nil {
			m.remote.restore()
		}
	}
}

// abandon checks what a message that did not succeed has left behind, or one of which nobody knows
// whether it did: what it may write is either written or at rest.
func (x *side) abandon(m *message) {
	certain := x.session.service == transport.RC && m.progress == succeeded
	if certain && m.users == 0 {
		return
	}
	var err error
	switch {
	case certain || m.isAtomic():
	case m.op == transport.OpRead && m.wrong != wrongNot && m.wrong != wrongLocalKey:
		err = m.local.verify(m.key, 0)
	case m.op == transport.OpRead:
		err = m.local.verifyPart(m.key)
	case m.isWrite():
		err = m.remote.verifyPart(m.key)
	}
	if err != nil {
		x.violated(m, "given up, but %v", err)
	}
	m.local.restore()
	m.remote.restore()
}
