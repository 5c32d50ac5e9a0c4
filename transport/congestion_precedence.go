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
	rank       int
	peer       *rankedPeer // nil: not connected
	backlogged bool        // it has something to send, and may send it
	waiting    bool        // it waits for flows of higher priority
}

// rankedPeer is a destination of such flows.
type rankedPeer struct {
	addr       netip.Addr
	flows      int
	backlogged map[int]int // by rank: how many flows have something to send
	topRank    int         // the highest of these ranks; -1 if there is none
	waiting    []*QueuePair
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
		peer = &rankedPeer{addr: addr, backlogged: map[int]int{}, topRank: -1}
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
	f.setBacklogged(false, qp.ep)
	f.peer, f.waiting = nil, false
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
	f.setBacklogged(cong.isBacklogged(), qp.ep)
	if f.peer.topRank <= f.rank {
		return false
	}
	if !f.waiting {
		f.waiting = true
		f.peer.waiting = append(f.peer.waiting, qp)
	}
	return true
}

// updateBacklogged updates whether the queue pair has something to send.
func (cong *congestion) updateBacklogged() {
	qp := cong.conn()
	if p := qp.ep.precedence; p != nil {
		if f := p.flows[cong.flow]; f != nil && f.peer != nil {
			f.setBacklogged(cong.isBacklogged(), qp.ep)
		}
	}
}

// isBacklogged reports whether the queue pair has something to send that only a window, a rate or
// lack of room in the port holds back.
func (cong *congestion) isBacklogged() bool {
	qp := cong.conn()
	return qp.state == ReadyToSend && qp.snd.hasNext() && !cong.hold &&
		!qp.loss.isWaitingRNR() && !qp.adm.isBlocked() && qp.isResolved()
}

// setBacklogged updates whether the flow has something to send. When no flow of the highest rank
// has, it schedules the queue pairs that waited for them.
func (f *rankedFlow) setBacklogged(backlogged bool, e *Endpoint) {
	peer := f.peer
	if backlogged == f.backlogged {
		return
	}
	if f.backlogged = backlogged; backlogged {
		peer.backlogged[f.rank]++
		peer.topRank = max(peer.topRank, f.rank)
		return
	}
	if peer.backlogged[f.rank]--; peer.backlogged[f.rank] > 0 {
		return
	}
	delete(peer.backlogged, f.rank)
	if peer.topRank != f.rank {
		return
	}
	peer.topRank = -1
	for rank := range peer.backlogged {
		peer.topRank = max(peer.topRank, rank)
	}
	for _, qp := range peer.waiting {
		if w := e.precedence.flows[qp.cong.flowID()]; w != nil && w.waiting {
			w.waiting = false
			e.scheduleRequests(qp)
		}
	}
	clear(peer.waiting)
	peer.waiting = peer.waiting[:0]
}
