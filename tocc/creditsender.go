package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// CreditSender is the sender's half of credits (ExpressPass). Each credit admits one packet, and is
// wasted when there is none to send. An RTS requests credits, or stops them (FlagEnd).
type CreditSender struct {
	sender
	credits        []credit // ring of unused credits
	first          int
	n              int
	spent          units.Bytes // bytes sent on credits
	stopped        bool        // the newest RTS stops the credits
	countedSince   units.Time  // start of the current count of credits
	received       int         // credits since countedSince
	receivedBefore int         // credits in the round trip before
}

// credit is an unused credit.
type credit struct {
	number uint16
	bytes  units.Bytes
	at     units.Time
}

func newCreditSender(p *plan) *CreditSender {
	return &CreditSender{sender: sender{plan: p, backoff: newBackoff(p.path.BaseRTT)},
		credits: make([]credit, min(max(p.bdp/p.unit, 8), 128))}
}

// Marks implements cc.Gate.
func (s *CreditSender) Marks() cc.MarkSet { return cc.MarkUnscheduled | cc.MarkGrant }

// Posted implements cc.Gate.
func (s *CreditSender) Posted(bytes units.Bytes, b cc.Backlog, now units.Time) {
	if s.unsent == 0 {
		s.received, s.receivedBefore = 0, 0 // no credits are in flight
	}
	s.onPosted(bytes, b, now)
	s.reschedule(now)
}

// Ready implements cc.Gate.
func (s *CreditSender) Ready(p *cc.Outgoing, now units.Time) bool {
	if s.isUnscheduled(p) || p.Bytes == 0 {
		return true
	}
	for i := range s.n {
		if c := s.at(i); !s.isExpired(c, now) {
			return p.Bytes <= c.bytes
		}
	}
	return false
}

func (s *CreditSender) at(i int) *credit {
	if i += s.first; i >= len(s.credits) {
		i -= len(s.credits)
	}
	return &s.credits[i]
}

func (s *CreditSender) isExpired(c *credit, now units.Time) bool {
	return s.age != 0 && now.Sub(c.at) >= s.age
}

// Sent implements cc.Gate.
func (s *CreditSender) Sent(p *cc.Outgoing, now units.Time) cc.Marks {
	s.expire(now)
	marks, _ := s.onSent(p, now)
	marks.Set &^= cc.MarkWantsMore | cc.MarkTokenMarked
	if marks.Set&cc.MarkUnscheduled == 0 && s.n > 0 {
		c := s.at(0)
		marks.Set |= cc.MarkGrant
		marks.Grant = c.number
		s.spent += p.Bytes
		if c.bytes -= p.Bytes; c.bytes < s.unit {
			s.drop()
		}
	}
	s.reschedule(now)
	return marks
}

func (s *CreditSender) drop() {
	if s.first++; s.first == len(s.credits) {
		s.first = 0
	}
	s.n--
}

func (s *CreditSender) expire(now units.Time) {
	for s.n > 0 && s.isExpired(s.at(0), now) {
		s.stats.Discarded += s.at(0).bytes
		s.drop()
	}
}

// Lost implements cc.Gate.
func (s *CreditSender) Lost(_ units.Bytes, b cc.Backlog, now units.Time) {
	s.onLost(b)
	s.reschedule(now)
}

// Receive implements cc.Gate.
func (s *CreditSender) Receive(n *cc.ControlMessage, b cc.Backlog, now units.Time) error {
	switch {
	case n.Kind != cc.TOKEN:
		return errNoToken
	case n.Flags&cc.FlagSingle == 0:
		return errCounter
	case n.Limit == 0 || units.Bytes(n.Limit) > s.maxWindow:
		return errNoCredit
	}
	s.setBacklog(b)
	s.expire(now)
	s.onProgress(s.isBlocked(), now)
	s.onToken(n, now)
	s.countCredit(now)
	s.stats.Granted += units.Bytes(n.Limit)
	if s.n == len(s.credits) { // the ring is full: drop the oldest
		s.stats.Discarded += s.at(0).bytes
		s.drop()
	}
	s.n++
	*s.at(s.n - 1) = credit{n.Seq, units.Bytes(n.Limit), now}
	if s.unsent == 0 { // nothing is left to send: the RTS that stops credits may be lost
		s.scheduleRTSAt(s.backoff.sentAt.Add(2*s.path.BaseRTT), now)
	}
	s.reschedule(now)
	return nil
}

// countCredit counts the credits of a round trip.
func (s *CreditSender) countCredit(now units.Time) {
	switch passed := now.Sub(s.countedSince); {
	case passed >= 2*s.path.BaseRTT || passed < 0:
		s.countedSince, s.receivedBefore, s.received = now, 0, 0
	case passed >= s.path.BaseRTT:
		s.countedSince, s.receivedBefore, s.received = now, s.received, 0
	}
	s.received++
}

// isBlocked reports whether the backlog needs credits and there are none.
func (s *CreditSender) isBlocked() bool { return s.needed() > 0 && s.allowance == 0 && s.n == 0 }

// reschedule computes when the next RTS is due.
func (s *CreditSender) reschedule(now units.Time) {
	for s.unsent == 0 && s.n > 0 {
		s.stats.Unneeded += s.at(0).bytes
		s.drop()
	}
	switch {
	case s.unsent == 0 && s.announcedDemand && !s.stopped: // CREDIT_STOP
		s.scheduleRTS(now)
	case s.needed() > 0 && (s.stopped || !s.announcedDemand) &&
		!s.hasEnoughInFlight(): // CREDIT_REQUEST
		s.scheduleRTS(now)
	// enough credits are in flight: CREDIT_STOP
	case s.needed() > 0 && !s.stopped && s.hasEnoughInFlight():
		s.scheduleRTS(now)
	}
	s.next = s.nextRTS()
	if s.n > 0 && s.age != 0 {
		s.next = earlier(s.next, nonZero(s.at(0).at.Add(s.age)))
	}
	if s.isBlocked() {
		s.next = earlier(s.next, s.backoff.deadline())
	}
}

// hasEnoughInFlight reports whether the credits of the last whole round trip, as many as are in
// flight, suffice for the backlog. Those of the current round trip do not count: where one credit
// arrives per round trip, none follows when it stops.
func (s *CreditSender) hasEnoughInFlight() bool {
	return units.Bytes(s.receivedBefore) >= (s.needed()+s.unit-1)/s.unit && s.announcedDemand
}

// Emit implements cc.Gate.
func (s *CreditSender) Emit(b cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	s.setBacklog(b)
	s.expire(now)
	repeat := s.isBlocked() && !s.backoff.deadline().After(now)
	n, ok := s.emitRTS(repeat, now)
	if ok {
		n.Spent, n.Demand = uint32(s.spent), uint32(s.spent+s.needed())
		if s.stopped = s.unsent == 0 || s.hasEnoughInFlight() && !repeat; s.stopped {
			n.Flags |= cc.FlagEnd
		}
	}
	s.reschedule(now)
	return n, ok
}
