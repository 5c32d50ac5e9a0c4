package transport

import (
	"math/bits"

	"github.com/goroce/goroce/units"
)

// heldTimeout is how long packets are held behind a gap that does not move. OURS: libibverbs'
// customary timeout of 14 and seven retries make 8 x 67 ms, after which a peer that lost the packet
// has given up.
const heldTimeout = units.Second

// shares tracks which queue pairs hold buffers behind gaps: which of them holds most, and whose gap
// has not moved for longest. A peer that never sends what is missing keeps no more than its share
// while others need theirs: when all buffers are in use, a queue pair takes one from the queue pair
// that holds most, until it holds as many (max-min fairness). Every operation takes the same time
// for a thousand queue pairs as for one.
type shares struct {
	byCount [psnWindow]*reorderBuffer // lists, by the number of held buffers
	// bits of the lists that are not empty; fewer than psnWindow packets are behind a gap
	nonEmpty psnSet
	oldest   *reorderBuffer // head of the list of all, by when their gap last moved
	newest   *reorderBuffer // its tail
}

// share is the place of a queue pair's reorder buffer in the lists.
type share struct {
	qp           *QueuePair
	count        int // buffers
	movedAt      units.Time
	more, less   *reorderBuffer // neighbours in the list of its count
	newer, older *reorderBuffer
}

// join adds a queue pair's reorder buffer, which holds nothing yet.
func (s *shares) join(a *reorderBuffer, qp *QueuePair, now units.Time) {
	a.share = share{qp: qp}
	s.addByCount(a)
	s.append(a, now)
}

// leave removes a reorder buffer.
func (s *shares) leave(a *reorderBuffer) {
	s.removeByCount(a)
	s.remove(a)
	a.share = share{}
}

// count records that a reorder buffer holds n packets more.
func (s *shares) count(a *reorderBuffer, n int) {
	s.removeByCount(a)
	a.share.count += n
	s.addByCount(a)
}

// move records that the gap of a reorder buffer has moved.
func (s *shares) move(a *reorderBuffer, now units.Time) {
	s.remove(a)
	s.append(a, now)
}

// largest returns the reorder buffer that holds most, or nil if there is none.
func (s *shares) largest() *reorderBuffer {
	for i := len(s.nonEmpty) - 1; i >= 0; i-- {
		if w := s.nonEmpty[i]; w != 0 {
			return s.byCount[64*i+bits.Len64(w)-1]
		}
	}
	return nil
}

// expired returns a reorder buffer whose gap has not moved for heldTimeout, or nil if there is
// none.
func (s *shares) expired(now units.Time) *reorderBuffer {
	if a := s.oldest; a != nil && now.Sub(a.share.movedAt) >= heldTimeout {
		return a
	}
	return nil
}

func (s *shares) addByCount(a *reorderBuffer) {
	n := a.share.count
	a.share.less, a.share.more = nil, s.byCount[n]
	if next := a.share.more; next != nil {
		next.share.less = a
	}
	s.byCount[n] = a
	s.nonEmpty[n/64] |= 1 << (n % 64)
}

func (s *shares) removeByCount(a *reorderBuffer) {
	h, n := &a.share, a.share.count
	if h.more != nil {
		h.more.share.less = h.less
	}
	if h.less != nil {
		h.less.share.more = h.more
	} else if s.byCount[n] = h.more; h.more == nil {
		s.nonEmpty[n/64] &^= 1 << (n % 64)
	}
}

func (s *shares) append(a *reorderBuffer, now units.Time) {
	a.share.movedAt, a.share.older, a.share.newer = now, s.newest, nil
	if s.newest != nil {
		s.newest.share.newer = a
	} else {
		s.oldest = a
	}
	s.newest = a
}

func (s *shares) remove(a *reorderBuffer) {
	h := &a.share
	if h.older != nil {
		h.older.share.newer = h.newer
	} else {
		s.oldest = h.newer
	}
	if h.newer != nil {
		h.newer.share.older = h.older
	} else {
		s.newest = h.older
	}
}
