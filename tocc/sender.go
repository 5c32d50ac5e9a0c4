package tocc

import (
	"errors"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Sender is the sender's half of counters (section V-A): packets leave before there are tokens
// while the unscheduled phase lasts, then on tokens, oldest first.
type Sender struct {
	sender
	limit  units.Bytes // granted since the connection began
	spent  units.Bytes // of it, used or discarded
	waste  units.Bytes // of spent, discarded
	echoes bool        // a repeated TOKEN is to be answered
	said   units.Bytes // the demand that the receiver knows of, when nothing was lost
	stock  stock
	meter  meter
	gap    units.Duration // smoothed: how long tokens wait for this host to poll
}

func newSender(p *plan) *Sender {
	lots := min(max(2*p.bdp/p.k+2, 8), 128) // twice what is under way: a lot a token
	core := sender{plan: p, patience: newPatience(p.path.BaseRTT),
		cnpGate: cc.CNPGate{Interval: p.cnp}}
	return &Sender{sender: core, stock: stock{lots: make([]lot, lots)}}
}

var (
	errNoToken   = errors.New("tocc: want TOKEN, got another notice")
	errNoRTS     = errors.New("tocc: want RTS, got another notice")
	errSingle    = errors.New("tocc: want a counter TOKEN, got a credit of one packet")
	errCounter   = errors.New("tocc: want a credit of one packet, got a counter TOKEN")
	errSpent     = errors.New("tocc: more tokens spent than were granted")
	errDemand    = errors.New("tocc: less demand than what was spent")
	errDiscarded = errors.New("tocc: more tokens discarded than spent")
	errNoCredit  = errors.New("tocc: credit of 0 bytes, or of more than most")
)

// Marks implements cc.Gate.
func (s *Sender) Marks() cc.MarkSet {
	return cc.MarkUnscheduled | cc.MarkWantsMore | cc.MarkTokenMarked
}

// Posted implements cc.Gate.
func (s *Sender) Posted(bytes units.Bytes, b cc.Backlog, now units.Time) {
	s.posted(bytes, b, now)
	s.settle(now)
}

// usable returns what the tokens in hand that are not too old admit.
func (s *Sender) usable(now units.Time) units.Bytes {
	if s.fresh(now) {
		return s.limit - s.spent
	}
	return s.limit - s.stock.until(now.Add(-s.lifetime()), s.spent)
}

// fresh reports whether no token in hand is too old.
func (s *Sender) fresh(now units.Time) bool {
	return s.age == 0 || s.stock.n == 0 || now.Sub(s.stock.lots[s.stock.first].at) < s.lifetime()
}

// lifetime returns the largest age of tokens. The time they wait for this host to poll does not
// count.
func (s *Sender) lifetime() units.Duration { return s.age + 2*s.gap }

// Ready implements cc.Gate.
func (s *Sender) Ready(p *cc.Outgoing, now units.Time) bool {
	return s.isUnscheduled(p) || p.Bytes <= s.usable(now)
}

// Sent implements cc.Gate.
func (s *Sender) Sent(p *cc.Outgoing, now units.Time) cc.Marks {
	s.expire(now)
	marks, wantsMore := s.took(p, now)
	if marks.Set&cc.MarkUnscheduled == 0 {
		s.spent += p.Bytes
		s.stock.spend(s.spent)
	}
	if wantsMore {
		s.said = max(s.said, s.spent+s.wanted(p.Bytes, marks.Set))
	}
	s.settle(now)
	return marks
}

// Lost implements cc.Gate.
func (s *Sender) Lost(_ units.Bytes, b cc.Backlog, now units.Time) {
	s.lost(b)
	s.settle(now)
}

// Receive implements cc.Gate.
func (s *Sender) Receive(n *cc.ControlMessage, b cc.Backlog, now units.Time) error {
	switch {
	case n.Kind != cc.TOKEN:
		return errNoToken
	case n.Flags&cc.FlagSingle != 0:
		return errSingle
	}
	s.backlog(b)
	s.gap += (n.Gap - s.gap) / 8
	s.expire(now)
	if limit := near(s.limit, n.Limit); limit > s.limit {
		s.progress(s.blocked(), now)
		s.granted(limit, now)
	}
	s.heard(n, now)
	if n.Flags&cc.FlagRepeat != 0 && (s.waits == 0 || s.blocked()) {
		s.echoes = true // what it repeats is spent: say so
		if !s.answers {
			s.answers, s.question = true, n.Seq
		}
		s.ask(now)
	}
	s.settle(now)
	return nil
}

// granted takes in tokens up to a limit.
func (s *Sender) granted(limit units.Bytes, now units.Time) {
	if most := s.spent + s.most; limit > most {
		s.tally.Clamped++
		limit = max(most, s.limit)
	}
	bytes := limit - s.limit
	if s.part() {
		s.stock.n = 0 // they are as new as what completes them
	}
	s.limit = limit
	s.tally.Granted += bytes
	s.stock.add(limit, now)
	// so is the round trip, of which a real-time BDP is: half of all tokens would be granted again
	// and again
	if s.path.Guessed {
		return
	}
	if bdp, ok := s.meter.came(bytes, s.path.BaseRTT+2*s.gap, now); ok && s.realtime {
		s.discard(limit-max(bdp, s.k+s.unit), now) // a token, and what is left of one
	}
}

// expire discards what is too old.
func (s *Sender) expire(now units.Time) {
	if !s.fresh(now) && !s.part() {
		s.discard(s.stock.until(now.Add(-s.lifetime()), s.spent), now)
	}
}

// part reports whether the tokens in hand are less than a packet, whose rest is still to come. They
// do not expire: where a round trip is longer than age, one part would always be discarded before
// the other arrives.
func (s *Sender) part() bool { return s.limit-s.spent < min(s.waits, s.unit) }

// discard drops tokens up to a limit. The receiver is informed once in a round trip: they are part
// of what was demanded.
func (s *Sender) discard(upto units.Bytes, now units.Time) {
	if upto <= s.spent {
		return
	}
	s.tally.Discarded += upto - s.spent
	s.waste += upto - s.spent
	s.spent = upto
	s.stock.spend(upto)
	if s.waits > 0 {
		s.askBy(s.patience.said.Add(s.path.BaseRTT), now)
	}
}

// demand returns the tokens spent and what waits for one.
func (s *Sender) demand() units.Bytes { return max(s.said, s.spent+s.needs()) }

// blocked reports whether the backlog needs tokens that have not arrived.
func (s *Sender) blocked() bool { return s.part() && s.allowance == 0 }

// settle computes when the next RTS is due.
func (s *Sender) settle(now units.Time) {
	if s.waits == 0 && s.limit > s.spent { // nothing left: tokens in hand are dropped
		s.tally.Unneeded += s.limit - s.spent
		s.waste += s.limit - s.spent
		s.spent = s.limit
		s.stock.spend(s.spent)
	}
	switch {
	case s.unknown():
		if s.limit < s.said { // it still grants: what comes together goes together
			s.askBy(s.patience.said.Add(s.path.BaseRTT/4), now)
		} else {
			s.ask(now)
		}
	case s.waits == 0 && s.open && !s.volume:
		s.ask(now)
	}
	s.next = s.timers()
	if s.stock.n > 0 && s.age != 0 && !s.part() {
		s.next = sooner(s.next, moment(s.stock.lots[s.stock.first].at.Add(s.lifetime())))
	}
	if s.rts && s.blocked() {
		s.next = sooner(s.next, s.patience.until())
	}
}

// unknown reports whether the receiver must be informed of demand: it knows of less than a BDP that
// it has not granted, and no packet will report it by its mark.
func (s *Sender) unknown() bool {
	needs := s.needs()
	switch {
	case s.spent+needs <= s.said, needs == 0:
		return false
	case s.said-s.limit > s.bdp:
		return false
	case needs > s.ahead() && s.said-s.spent >= s.unit:
		return false
	}
	return true
}

// Emit implements cc.Gate.
func (s *Sender) Emit(b cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	s.backlog(b)
	s.expire(now)
	repeat := s.rts && s.blocked() && !s.patience.until().After(now)
	n, ok := s.emit(repeat, now)
	if ok {
		s.account(&n, b)
		s.said = s.demand()
		n.Demand, n.Spent, n.Discarded = uint32(s.said), uint32(s.spent), uint32(s.waste)&0xffffff
	}
	s.settle(now)
	return n, ok
}

// account says, where the receiver waits or is waited for, that nothing is under way; or, when
// something is, goes behind it, so that what does not come before it is known to be missing.
func (s *Sender) account(n *cc.ControlMessage, b cc.Backlog) {
	silent := s.echoes || n.Flags&cc.FlagRepeat != 0
	s.echoes = false
	n.Flags &^= cc.FlagRepeat
	switch {
	case !silent:
	case b.InFlight == 0:
		n.Flags |= cc.FlagRepeat
	case s.overcommit == 0: // or packets overtake each other
		n.WithData = true
	}
}
