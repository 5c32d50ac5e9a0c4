package transport

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/internal/pace"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// tokenPacer spaces the TOKENs of an endpoint so that the data which they release fits its link:
// each token is followed by as much time as what it releases takes. Granters are served by rank,
// and in turns within a rank.
type tokenPacer struct {
	lists   [cc.Ranks]struct{ head, tail *admission }
	pending [maxTokenQueue]pendingToken // a ring, of granters with a queue here
	first   int
	count   int
	pacer   *pace.Limiter // its only flow is the endpoint; nil before the first token
	ep      *Endpoint
}

// maxTokenQueue is the longest queue that a granter may request.
const maxTokenQueue = 16

// pendingToken is a token that waits for its time, as in the queue of a switch.
type pendingToken struct {
	adm     *admission
	message cc.ControlMessage
}

// pacerFlow is the ID of the pacer's flow.
const pacerFlow = 0

// queue makes a granter wait for its turn to send a token. From one with a queue here it takes the
// tokens that are due.
func (t *tokenPacer) queue(a *admission, now units.Time) {
	if t.pacer == nil {
		t.pacer = pace.NewLimiter(now, pace.PacketSlot)
		t.pacer.Rate(pacerFlow, t.ep.tokenRate(), now)
	}
	if room := min(a.granter.QueueCapacity(), maxTokenQueue); room > 0 {
		t.takeDue(a, room, now)
	} else if !a.queued {
		a.queued, a.queuedAt, a.next = true, now, nil
		list := &t.lists[min(max(a.granter.Rank(), 0), cc.Ranks-1)]
		if list.tail == nil {
			list.head = a
		} else {
			list.tail.next = a
		}
		list.tail = a
	}
	t.pacer.Wait(pacerFlow, extension.TokenLen, now)
}

// takeDue takes a granter's tokens that are due into the ring, and drops those that find it full.
func (t *tokenPacer) takeDue(a *admission, room int, now units.Time) {
	// such a granter spaces its tokens itself; one that does not must not occupy the core
	for range room + maxTokenQueue {
		if next := a.granter.Next(); next == 0 || next.After(now) {
			break
		}
		n, ok := a.granter.Emit(a.qp.adm.hasMissing(), now)
		switch {
		case !ok:
		case t.count < room:
			t.pending[(t.first+t.count)%maxTokenQueue] = pendingToken{a, n}
			t.count++
		default:
			t.ep.counters.TokensDropped++
		}
	}
	a.qp.setTimer()
}

// waiting reports whether a token waits for its turn.
func (t *tokenPacer) waiting() bool {
	if t.count > 0 {
		return true
	}
	for i := range t.lists {
		if t.lists[i].head != nil {
			return true
		}
	}
	return false
}

// serve sends the tokens that are due. It returns how many.
func (t *tokenPacer) serve(now units.Time, budget int) (sent int) {
	if t.pacer == nil {
		return 0
	}
	for sent < budget {
		if _, due := t.pacer.Head(now); !due {
			break
		}
		b := t.ep.frame(packet.ClassControl)
		if b == nil {
			break // the port has no room
		}
		size, ok := t.send(b, now)
		if ok {
			t.pacer.Sent(pacerFlow, size)
			sent++
		}
		if !t.waiting() {
			t.pacer.Leave(pacerFlow)
			break
		}
		if ok {
			t.pacer.Again(pacerFlow, extension.TokenLen)
		}
	}
	return sent
}

// send builds the token whose turn it is. It returns the bytes that this takes on the link, and
// false if the granter whose turn it was had no token.
func (t *tokenPacer) send(b *packet.Buf, now units.Time) (size units.Bytes, some bool) {
	if t.count > 0 {
		h := &t.pending[t.first]
		t.first, t.count = (t.first+1)%maxTokenQueue, t.count-1
		if !h.adm.maySendToken() {
			return 0, false
		}
		return h.adm.sendToken(b, &h.message), true
	}
	rank := t.nextRank(now)
	if rank < 0 {
		return 0, false
	}
	list := &t.lists[rank]
	a := list.head
	if list.head = a.next; list.head == nil {
		list.tail = nil
	}
	a.queued, a.next = false, nil
	if !a.maySendToken() {
		return 0, false
	}
	n, ok := a.granter.Emit(a.qp.adm.hasMissing(), now)
	if ok {
		size = a.sendToken(b, &n)
	}
	a.scheduleGranter(now)
	return size, ok
}

// maxRankWait is how long a granter may wait for its turn behind those of higher ranks: less than
// minGateTimeout, or its sender would consider this endpoint gone.
const maxRankWait = 50 * units.Millisecond

// nextRank returns the rank whose turn it is: the highest, unless a granter of another one has
// waited too long; -1 if none waits.
func (t *tokenPacer) nextRank(now units.Time) int {
	next := -1
	for rank := range t.lists {
		if a := t.lists[rank].head; a != nil {
			if next = rank; now.Sub(a.queuedAt) > maxRankWait {
				break
			}
		}
	}
	return next
}

// next returns when the next token may leave, and false if none waits.
func (t *tokenPacer) next() (units.Time, bool) {
	if t.pacer == nil {
		return 0, false
	}
	return t.pacer.Next()
}

// tokenRate returns the rate at which the endpoint can receive.
func (e *Endpoint) tokenRate() units.BitRate {
	if e.info.LinkRate > 0 {
		return e.info.LinkRate
	}
	return unknownRate
}

// unknownRate is the rate of a port that reports none: tokens leave as fast as they come.
const unknownRate = 10_000 * units.Gbps

// maySendToken reports whether a token may leave. If the address of the next hop is not known, the
// granter is scheduled again when it is.
func (a *admission) maySendToken() bool {
	qp := a.qp
	if a.detached {
		return false
	}
	if !qp.isReceiving() || qp.neighbor == nil {
		return false
	}
	if !qp.isResolved() {
		qp.ep.awaitNeighbor(qp)
		return false
	}
	return true
}
