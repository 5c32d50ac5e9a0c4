package transport

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// heldPatience is how long packets are held behind a gap that does not move. OURS: libibverbs'
// customary timeout of 14 and seven retries make 8 x 67 ms, after which a peer that lost the packet
// has given up.
const heldPatience = units.Second

// shares says whose the buffers are that are held behind gaps: which queue pair has most of them,
// and whose gap has not moved for longest. A peer that never sends what is missing keeps no more
// than its share while others need theirs: when all are in use, a queue pair gets one of those of
// whoever holds most, until it holds as many (max-min fairness). Every step takes as long for a
// thousand queue pairs as for one.
type shares struct {
	byCount [psnWindow]*reorderBuffer // lists of those that hold so many
	// which of them are not empty; a gap has fewer than psnWindow packets behind it
	some  psnSet
	stale *reorderBuffer // the list of all, by when their gap last moved
	fresh *reorderBuffer // its end
}

// share is a queue pair's place in the lists.
type share struct {
	qp           *QueuePair
	count        int // buffers
	moved        units.Time
	more, less   *reorderBuffer // beside it in the list of its count
	newer, older *reorderBuffer
}

// join adds a queue pair that holds nothing yet.
func (s *shares) join(a *reorderBuffer, qp *QueuePair, now units.Time) {
	a.share = share{qp: qp}
	s.enlist(a)
	s.append(a, now)
}

// leave removes one.
func (s *shares) leave(a *reorderBuffer) {
	s.delist(a)
	s.remove(a)
	a.share = share{}
}

// count notes that a queue pair holds n more.
func (s *shares) count(a *reorderBuffer, n int) {
	s.delist(a)
	a.share.count += n
	s.enlist(a)
}

// move notes that its gap has moved.
func (s *shares) move(a *reorderBuffer, now units.Time) {
	s.remove(a)
	s.append(a, now)
}

// most returns the one that holds most; nil when there is none.
func (s *shares) most() *reorderBuffer {
	for i := len(s.some) - 1; i >= 0; i-- {
		if w := s.some[i]; w != 0 {
			return s.byCount[64*i+bits.Len64(w)-1]
		}
	}
	return nil
}

// stuck returns one whose gap has not moved for heldPatience; nil when there is none.
func (s *shares) stuck(now units.Time) *reorderBuffer {
	if a := s.stale; a != nil && now.Sub(a.share.moved) >= heldPatience {
		return a
	}
	return nil
}

func (s *shares) enlist(a *reorderBuffer) {
	n := a.share.count
	a.share.less, a.share.more = nil, s.byCount[n]
	if next := a.share.more; next != nil {
		next.share.less = a
	}
	s.byCount[n] = a
	s.some[n/64] |= 1 << (n % 64)
}

func (s *shares) delist(a *reorderBuffer) {
	h, n := &a.share, a.share.count
	if h.more != nil {
		h.more.share.less = h.less
	}
	if h.less != nil {
		h.less.share.more = h.more
	} else if s.byCount[n] = h.more; h.more == nil {
		s.some[n/64] &^= 1 << (n % 64)
	}
}

func (s *shares) append(a *reorderBuffer, now units.Time) {
	a.share.moved, a.share.older, a.share.newer = now, s.fresh, nil
	if s.fresh != nil {
		s.fresh.share.newer = a
	} else {
		s.stale = a
	}
	s.fresh = a
}

func (s *shares) remove(a *reorderBuffer) {
	h := &a.share
	if h.older != nil {
		h.older.share.newer = h.newer
	} else {
		s.stale = h.newer
	}
	if h.newer != nil {
		h.newer.share.older = h.older
	} else {
		s.fresh = h.older
	}
}
