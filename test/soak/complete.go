package main

import (
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// watch makes the node update the end in the next round.
func (end *peerEnd) watch() {
	if !end.watched {
		end.watched = true
		end.node.watched = append(end.node.watched, end)
	}
}

// update completes requests that end without a completion, and posts into the free room. Every
// available completion has been checked before.
func (end *peerEnd) update() {
	if end.isOver() {
		return
	}
	if end.next != end.done && end.qp.SendRoom() == end.depth && end.node.queue.Len() == 0 {
		end.completeUnsignaled(end.next)
	}
	end.post()
}

// completeUnsignaled completes the messages before number n, which must be unsignaled.
func (end *peerEnd) completeUnsignaled(n int) {
	for ; end.done < n; end.done++ {
		m := end.script[end.done]
		if end.errored || end.signalAll || m.signaled {
			end.failf(m, "ended without a completion")
		}
		end.succeeded(m)
	}
}

// completed checks the completion of a send.
func (end *peerEnd) completed(n int, wc *transport.WorkCompletion) {
	if n >= end.next || n < end.done {
		end.failf(nil, "completion %+v of message %d: %d to %d are outstanding", *wc, n, end.done,
			end.next-1)
		return
	}
	m := end.script[n]
	end.completeUnsignaled(n)
	end.done++
	if wc.Status != transport.StatusSuccess {
		end.failed(m, wc.Status)
		return
	}
	if end.errored {
		end.failf(m, "succeeded after a failed message")
	}
	if wc.Op != m.op || m.hasResponse() && int(wc.ByteLen) != m.size {
		end.failf(m, "completion %+v", *wc)
	}
	if !end.signalAll && !m.signaled {
		end.failf(m, "a completion of an unsignaled request")
	}
	end.succeeded(m)
}

// succeeded checks the effects of a successful message and releases its memory.
func (end *peerEnd) succeeded(m *message) {
	m.progress = succeeded
	stats := &end.session.sim.stats
	stats.Messages++
	stats.Bytes += uint64(m.size)
	switch {
	case end.session.service != transport.RC:
		m.local.restore()
		return // whether it arrived is unknown
	case m.mistake != mistakeNone:
		end.failf(m, "succeeded, want an error")
		return
	case m.isAtomic():
		end.checkAtomic(m)
	case m.op == transport.OpRead:
		if err := m.local.verify(m.key, m.size); err != nil {
			end.failf(m, "read: %v", err)
		}
	case m.op == transport.OpWrite:
		end.checkWritten(m)
	case !m.arrived && !end.peer.destroyed:
		end.failf(m, "succeeded, but its receive has not completed")
	}
	m.release()
}

// checkWritten checks that a WRITE is in place, unless the receiver has checked it on the arrival
// of a later message.
func (end *peerEnd) checkWritten(m *message) {
	if m.arrived {
		return
	}
	m.arrived = true
	if err := m.remote.verify(m.key, m.size); err != nil {
		end.failf(m, "written: %v", err)
	}
}

// failed checks an error.
func (end *peerEnd) failed(m *message, status transport.Status) {
	m.progress, end.errored = failed, true
	stats := &end.session.sim.stats
	if status == transport.StatusWRFlushErr {
		if end.failures == 0 && !end.mayFlush() {
			end.failf(m, "flushed before any failure")
		}
		return
	}
	if end.failures++; end.failures > 1 {
		end.failf(m, "%v after an earlier failure", status)
	}
	switch {
	case m.mistake != mistakeNone && status == outcomes[m.mistake].sender,
		end.peer.withdrawn && status == transport.StatusRemAccessErr:
		stats.Refused++
	case status == transport.StatusRetryExcErr:
		stats.Exhausted++
		if !end.mayExceedRetries(m) {
			end.failf(m, "retries exceeded without a cause; peer: %s", end.peer.status())
		}
	default:
		end.failf(m, "%v", status)
	}
}

// mayFlush reports whether requests may be flushed before one has failed: because the program or a
// request of the peer moved the queue pair to the error state, or because a request with a local
// error failed behind others that are still outstanding.
func (end *peerEnd) mayFlush() bool {
	if end.aborted || end.closed || end.withdrawn {
		return true
	}
	for _, m := range end.script[end.done-1 : end.next] {
		if m.mistake == mistakeLocalKey {
			return true
		}
	}
	for _, m := range end.peer.script[:end.peer.next] {
		switch m.mistake {
		case mistakeNone, mistakeLocalKey, mistakeNoReceive:
		default:
			return true
		}
	}
	return false
}

// mayExceedRetries reports whether faults explain that retries were exceeded.
func (end *peerEnd) mayExceedRetries(m *message) bool {
	p, now := end.session.plan, end.session.sim.net.Now()
	peer := end.peer
	if peer.isOver() || end.mayExhaust || end.hadWrongMAC() || peer.hadWrongMAC() ||
		end.mayBeStarved(end.retryTime) {
		return true
	}
	if peer.qp.State() == transport.Errored &&
		(peer.aborted || peer.failures > 0 || p.faults.isAny()) {
		return true
	}
	// A READ is not answered again when its region has been deregistered since.
	if peer.withdrawn && m.op == transport.OpRead && peer.qp.Endpoint().Stats().RepeatsRefused > 0 {
		return true
	}
	// Packets from before the reset of a reused queue pair may arrive late. The peer NAKs them as
	// out of sequence, and the sender counts each NAK as one for its new packets, which costs a
	// retry.
	if end.reused != nil && end.qp.Stats().SequenceNaks > uint64(end.retries) {
		return true
	}
	need := end.minTimeout * units.Duration(max(0, int(end.retries)-1))
	out := p.faults.outageBetween(now.Add(-end.retryTime-p.maxRTT), now, p.longestPause())
	return out > 0 && out >= need
}

// mayBeStarved reports whether packets of higher classes may have kept those of the end off a link
// for a time: they were enough to fill the slowest link for half of it. For example, a requester
// with an RNR timer of 10 µs resends that often until a receive is posted.
func (end *peerEnd) mayBeStarved(long units.Duration) bool {
	p := end.session.plan
	const queueShift = 5 // of a traffic class: 8 DSCPs and 2 ECN bits per queue
	sent := uint64(0)
	for _, other := range p.sessions {
		if other.class>>queueShift <= end.session.class>>queueShift {
			continue
		}
		for _, otherEnd := range other.ends {
			if otherEnd.qp != nil {
				sent += otherEnd.qp.Stats().BytesSent
			}
		}
	}
	return units.Bytes(sent) >= p.topology.slowest.Bytes(long/2)
}

// release returns the memory of a message to idle bytes once no other message uses it.
func (m *message) release() {
	if m.resends != nil {
		m.resends.unref()
	}
	if m.readsBack != nil {
		m.readsBack.unref()
	}
	m.unref()
}

func (m *message) unref() {
	if m.users--; m.users == 0 {
		if m.resends == nil {
			m.local.restore()
		}
		if m.readsBack == nil {
			m.remote.restore()
		}
	}
}

// checkAbandoned checks the memory of a message that did not succeed, or whose success is unknown:
// what it may write is either written or idle.
func (end *peerEnd) checkAbandoned(m *message) {
	certain := end.session.service == transport.RC && m.progress == succeeded
	if certain && m.users == 0 {
		return
	}
	var err error
	switch {
	case certain || m.isAtomic():
	case m.op == transport.OpRead && m.mistake != mistakeNone && m.mistake != mistakeLocalKey:
		err = m.local.verify(m.key, 0)
	case m.op == transport.OpRead:
		err = m.local.verifyPart(m.key)
	case m.isWrite():
		err = m.remote.verifyPart(m.key)
	}
	if err != nil {
		end.failf(m, "abandoned: %v", err)
	}
	m.local.restore()
	m.remote.restore()
}
