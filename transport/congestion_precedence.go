package transport

import (
	"net/netip"
	"slices"

	"github.com/goroce/goroce/cc"
)

// precedence keeps virtual priorities strict among the flows of one endpoint to one peer, where its
// port has no time stamps: a flow does not send while one with a higher priority has something to
// send, and may. Such flows share all of their way, so nobody need measure who is before whom, and
// the gaps between polls, by which delays are uncertain there, are wider than channels. An endpoint
// without flows that have priorities has none. OURS.
type precedence struct {
	flows map[cc.Flow]*rankedFlow
	peers map[netip.Addr]*rankedPeer
}

// rankedFlow is a flow with a virtual priority.
type rankedFlow struct {
	rank   int
	peer   *rankedPeer // nil: not connected
	claims bool        // it has something to send, and may
	waits  bool        // for those before it
}

// rankedPeer is where such flows go.
type rankedPeer struct {
	addr    netip.Addr
	flows   int
	claims  map[int]int // by rank: how many flows have something to send
	top     int         // the highest of these ranks; -1 without
	waiting []*QueuePair
}

// rank notes the priority that an algorithm gives a flow.
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

// unrank forgets it.
func (cong *congestion) unrank() {
	qp := cong.conn()
	if p := qp.ep.precedence; p != nil {
		cong.leavePeer()
		delete(p.flows, cong.flow)
	}
}

// joinPeer begins the precedence of a queue pair among those to its peer.
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

// leavePeer ends it.
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
	// its name may become another's
	peer.waiting = slices.DeleteFunc(peer.waiting, func(w *QueuePair) bool { return w == qp })
	if peer.flows--; peer.flows == 0 {
		delete(p.peers, peer.addr)
	}
}

// mustYield reports whether a queue pair has to let another one go first, and gives it a turn when
// that
// has gone.
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

// updateClaim notes whether a queue pair still has something to send.
func (cong *congestion) updateClaim() {
	qp := cong.conn()
	if p := qp.ep.precedence; p != nil {
		if f := p.flows[cong.flow]; f != nil && f.peer != nil {
			f.claim(cong.mayClaim(), qp.ep)
		}
	}
}

// mayClaim reports whether the queue pair has something to send that only a window, a rate or room
// in the port keeps.
func (cong *congestion) mayClaim() bool {
	qp := cong.conn()
	return qp.state == ReadyToSend && qp.snd.hasNext() && !cong.hold &&
		!qp.loss.isWaitingRNR() && !qp.adm.isShut() && qp.isResolved()
}

// claim keeps the books of who has something to send, and gives turns to those that waited for a
// rank which has not any more.
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
