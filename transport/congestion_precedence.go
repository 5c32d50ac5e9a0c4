package transport

import (
	"net/netip"
	"slices"

	"github.com/goroce/goroce/cc"
)

// precedence keeps virtual priorities strict among the flows of one endpoint to one peer where the
// port has no time stamps: a flow does not send while one of a higher priority has something to
// send and may send it. Such flows share their whole path, so no measurement is needed to order
// them, and the gaps between polls, which blur delays on such ports, are wider than the priorities'
// channels. An endpoint without prioritised flows has none. OURS.
type precedence struct {
	flows map[cc.Flow]*rankedFlow
	peers map[netip.Addr]*rankedPeer
}

// rankedFlow is a flow with a virtual priority.
type rankedFlow struct {
	rank   int
	peer   *rankedPeer // nil: not connected
	claims bool        // it has something to send, and may send it
	waits  bool        // it waits for flows of higher priority
}

// rankedPeer is a destination of such flows.
type rankedPeer struct {
	addr    netip.Addr
	flows   int
	claims  map[int]int // by rank: how many flows have something to send
	top     int         // the highest of these ranks; -1 if there is none
	waiting []*QueuePair
}

// rank records the priority that an algorithm gives a flow.
func (e *Endpoint) rank(f cc.Flow, a cc.Algorithm) {
	r, ok := a.(cc.Ranked)
	if !ok || e.info.Timestamps {
		return
	}
	if e.precedence == nil {
		e.precedence = &precedence{flows: map[cc.Flow]*rankedFlow{},
			peers: map[netip.Addr]*rankedPeer{}}
	}
	e.precedence.flows[f] = &rankedFlow{rank: r.Rank()}
}

// unrank removes the flow's priority.
func (cong *congestion) unrank() {
	qp := cong.conn()
	if p := qp.ep.precedence; p != nil {
		cong.leavePeer()
		delete(p.flows, cong.flow)
	}
}

// joinPeer subjects the queue pair to the precedence among the flows to its peer.
func (cong *congestion) joinPeer(addr netip.Addr) {
	qp := cong.conn()
	p := qp.ep.precedence
	if p == nil || p.flows[cong.flow] == nil {
		return
	}
	peer := p.peers[addr]
	if peer == nil {
		peer = &rankedPeer{addr: addr, claims: map[int]int{}, top: -1}
		p.peers[addr] = peer
	}
	peer.flows++
	p.flows[cong.flow].peer = peer
}

// leavePeer ends that.
func (cong *congestion) leavePeer() {
	qp := cong.conn()
	p := qp.ep.precedence
	if p == nil {
		return
	}
	f := p.flows[cong.flow]
	if f == nil || f.peer == nil {
		return
	}
	peer := f.peer
	f.claim(false, qp.ep)
	f.peer, f.waits = nil, false
	// the flow ID may become another flow's
	peer.waiting = slices.DeleteFunc(peer.waiting, func(w *QueuePair) bool { return w == qp })
	if peer.flows--; peer.flows == 0 {
		delete(p.peers, peer.addr)
	}
}

// mustYield reports whether the queue pair must let another one go first. If so, the queue pair is
// scheduled once none has to go first any more.
func (cong *congestion) mustYield() bool {
	qp := cong.conn()
	p := qp.ep.precedence
	if p == nil {
		return false
	}
	f := p.flows[cong.flow]
	if f == nil || f.peer == nil {
		return false
	}
	f.claim(cong.mayClaim(), qp.ep)
	if f.peer.top <= f.rank {
		return false
	}
	if !f.waits {
		f.waits = true
		f.peer.waiting = append(f.peer.waiting, qp)
	}
	return true
}

// updateClaim updates whether the queue pair has something to send.
func (cong *congestion) updateClaim() {
	qp := cong.conn()
	if p := qp.ep.precedence; p != nil {
		if f := p.flows[cong.flow]; f != nil && f.peer != nil {
			f.claim(cong.mayClaim(), qp.ep)
		}
	}
}

// mayClaim reports whether the queue pair has something to send that only a window, a rate or lack
// of room in the port holds back.
func (cong *congestion) mayClaim() bool {
	qp := cong.conn()
	return qp.state == ReadyToSend && qp.snd.hasNext() && !cong.hold &&
		!qp.loss.isWaitingRNR() && !qp.adm.isBlocked() && qp.isResolved()
}

// claim updates whether the flow has something to send. When no flow of the highest rank has, it
// schedules the queue pairs that waited for them.
func (f *rankedFlow) claim(claims bool, e *Endpoint) {
	peer := f.peer
	if claims == f.claims {
		return
	}
	if f.claims = claims; claims {
		peer.claims[f.rank]++
		peer.top = max(peer.top, f.rank)
		return
	}
	if peer.claims[f.rank]--; peer.claims[f.rank] > 0 {
		return
	}
	delete(peer.claims, f.rank)
	if peer.top != f.rank {
		return
	}
	peer.top = -1
	for rank := range peer.claims {
		peer.top = max(peer.top, rank)
	}
	for _, qp := range peer.waiting {
		if w := e.precedence.flows[qp.cong.flowID()]; w != nil && w.waits {
			w.waits = false
			e.scheduleRequests(qp)
		}
	}
	clear(peer.waiting)
	peer.waiting = peer.waiting[:0]
}
