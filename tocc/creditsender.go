package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// CreditSender is the sender's half of credits (ExpressPass): each lets one packet go, and is lost
// when there is none. An RTS requests credits, one that ends stops them.
type CreditSender struct {
	sender
	credits []credit // ring of those in hand
	first   int
	n       int
	spent   units.Bytes // sent on credits
	stopped bool        // the receiver was told to stop
	since   units.Time  // of the counts of credits
	came    int         // credits since then
	before  int         // in the round trip before
}

// credit is one in hand.
type credit struct {
	number uint16
	bytes  units.Bytes
	at     units.Time
}

func newCreditSender(p *plan) *CreditSender {
	return &CreditSender{sender: sender{plan: p, patience: newPatience(p.path.BaseRTT)},
		credits: make([]credit, min(max(p.bdp/p.unit, 8), 128))}
}

// Marks implements cc.Gate.
func (s *CreditSender) Marks() cc.MarkSet { return cc.MarkUnscheduled | cc.MarkGrant }

// Posted implements cc.Gate.
func (s *CreditSender) Posted(bytes units.Bytes, b cc.Backlog, now units.Time) {
	if s.waits == 0 {
		s.came, s.before = 0, 0 // none are under way
	}
	s.posted(bytes, b, now)
	s.settle(now)
}

// Ready implements cc.Gate.
func (s *CreditSender) Ready(p *cc.Outgoing, now units.Time) bool {
	if s.isUnscheduled(p) || p.Bytes == 0 {
		return true
	}
	for i := range s.n {
		if c := s.at(i); !s.old(c, now) {
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

func (s *CreditSender) old(c *credit, now units.Time) bool {
	return s.age != 0 && now.Sub(c.at) >= s.age
}

// Sent implements cc.Gate.
func (s *CreditSender) Sent(p *cc.Outgoing, now units.Time) cc.Marks {
	s.expire(now)
	marks, _ := s.took(p, now)
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
	s.settle(now)
	return marks
}

func (s *CreditSender) drop() {
	if s.first++; s.first == len(s.credits) {
		s.first = 0
	}
	s.n--
}

func (s *CreditSender) expire(now units.Time) {
	for s.n > 0 && s.old(s.at(0), now) {
		s.tally.Discarded += s.at(0).bytes
		s.drop()
	}
}

// Lost implements cc.Gate.
func (s *CreditSender) Lost(_ units.Bytes, b cc.Backlog, now units.Time) {
	s.lost(b)
	s.settle(now)
}

// Receive implements cc.Gate.
func (s *CreditSender) Receive(n *cc.ControlMessage, b cc.Backlog, now units.Time) error {
	switch {
	case n.Kind != cc.TOKEN:
		return errNoToken
	case n.Flags&cc.FlagSingle == 0:
		return errCounter
	case n.Limit == 0 || units.Bytes(n.Limit) > s.most:
		return errNoCredit
	}
	s.backlog(b)
	s.expire(now)
	s.progress(s.blocked(), now)
	s.heard(n, now)
	s.count(now)
	s.tally.Granted += units.Bytes(n.Limit)
	if s.n == len(s.credits) { // the oldest is of no use any more
		s.tally.Discarded += s.at(0).bytes
		s.drop()
	}
	s.n++
	*s.at(s.n - 1) = credit{n.Seq, units.Bytes(n.Limit), now}
	if s.waits == 0 { // it comes though nothing is left: wasted, and the stop may be lost
		s.askBy(s.patience.said.Add(2*s.path.BaseRTT), now)
	}
	s.settle(now)
	return nil
}

// count counts the credits of a round trip.
func (s *CreditSender) count(now units.Time) {
	switch passed := now.Sub(s.since); {
	case passed >= 2*s.path.BaseRTT || passed < 0:
		s.since, s.before, s.came = now, 0, 0
	case passed >= s.path.BaseRTT:
		s.since, s.before, s.came = now, s.came, 0
	}
	s.came++
}

// blocked says that what waits needs credits, and none is here.
func (s *CreditSender) blocked() bool { return s.needs() > 0 && s.allowance == 0 && s.n == 0 }

// settle decides when to say what.
func (s *CreditSender) settle(now units.Time) {
	for s.waits == 0 && s.n > 0 {
		s.tally.Unneeded += s.at(0).bytes
		s.drop()
	}
	switch {
	case s.waits == 0 && s.open && !s.stopped: // CREDIT_STOP
		s.ask(now)
	case s.needs() > 0 && (s.stopped || !s.open) && !s.early(): // CREDIT_REQUEST
		s.ask(now)
	case s.needs() > 0 && !s.stopped && s.early(): // enough credits are under way
		s.ask(now)
	}
	s.next = s.timers()
	if s.n > 0 && s.age != 0 {
		s.next = sooner(s.next, moment(s.at(0).at.Add(s.age)))
	}
	if s.blocked() {
		s.next = sooner(s.next, s.patience.until())
	}
}

// early says whether the credits of the last whole round trip, as many as are under way, are enough
// for what waits. Those of the present one are no sign: where one comes in a round trip, none
// follows when it stops.
func (s *CreditSender) early() bool {
	return units.Bytes(s.before) >= (s.needs()+s.unit-1)/s.unit && s.open
}

// Emit implements cc.Gate.
func (s *CreditSender) Emit(b cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	s.backlog(b)
	s.expire(now)
	repeat := s.blocked() && !s.patience.until().After(now)
	n, ok := s.emit(repeat, now)
	if ok {
		n.Spent, n.Demand = uint32(s.spent), uint32(s.spent+s.needs())
		if s.stopped = s.waits == 0 || s.early() && !repeat; s.stopped {
			n.Flags |= cc.FlagEnd
		}
	}
	s.settle(now)
	return n, ok
}
