package tocc

import (
	"errors"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Sender is the sender's half of counters (section V-A). It sends packets without tokens during the
// unscheduled phase, then on tokens, the oldest first.
type Sender struct {
	sender
	limit         units.Bytes
	spent         units.Bytes // of limit, used or discarded
	discarded     units.Bytes // of spent
	replyToRepeat bool        // a repeated TOKEN needs a reply
	announced     units.Bytes // the demand that the receiver knows if nothing was lost
	grants        grantQueue
	meter         meter
	pollGap       units.Duration // smoothed time that tokens wait for this host to poll
}

func newSender(p *plan) *Sender {
	lots := min(max(2*p.bdp/p.k+2, 8), 128) // twice the tokens in flight, with one grant per token
	core := sender{plan: p, backoff: newBackoff(p.path.BaseRTT),
		cnpGate: cc.CNPGate{Interval: p.cnp}}
	return &Sender{sender: core, grants: grantQueue{ring: make([]grant, lots)}}
}

var (
	errNoToken   = errors.New("tocc: want TOKEN, got another control message")
	errNoRTS     = errors.New("tocc: want RTS, got another control message")
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
	s.onPosted(bytes, b, now)
	s.reschedule(now)
}

// usableTokens returns how many bytes the unexpired tokens admit.
func (s *Sender) usableTokens(now units.Time) units.Bytes {
	if s.isFresh(now) {
		return s.limit - s.spent
	}
	return s.limit - s.grants.limitAt(now.Add(-s.lifetime()), s.spent)
}

// isFresh reports whether no unused token has expired.
func (s *Sender) isFresh(now units.Time) bool {
	return s.age == 0 || s.grants.n == 0 || now.Sub(s.grants.ring[s.grants.first].at) < s.lifetime()
}

// lifetime returns the maximum age of tokens. The time that they wait for this host to poll does
// not count.
func (s *Sender) lifetime() units.Duration { return s.age + 2*s.pollGap }

// Ready implements cc.Gate.
func (s *Sender) Ready(p *cc.Outgoing, now units.Time) bool {
	return s.isUnscheduled(p) || p.Bytes <= s.usableTokens(now)
}

// Sent implements cc.Gate.
func (s *Sender) Sent(p *cc.Outgoing, now units.Time) cc.Marks {
	s.expire(now)
	marks, wantsMore := s.onSent(p, now)
	if marks.Set&cc.MarkUnscheduled == 0 {
		s.spent += p.Bytes
		s.grants.dropSpent(s.spent)
	}
	if p.Again { // the receiver cannot count retransmissions exactly: settling
		s.reportAgain = true
		s.scheduleRTSAt(max(now.Add(s.path.BaseRTT), s.backoff.sentAt.Add(8*s.path.BaseRTT)), now)
	}
	if wantsMore {
		s.announced = max(s.announced, s.spent+s.minWanted(p.Bytes, marks.Set))
	}
	s.reschedule(now)
	return marks
}

// Lost implements cc.Gate.
func (s *Sender) Lost(_ units.Bytes, b cc.Backlog, now units.Time) {
	s.onLost(b)
	s.reschedule(now)
}

// Receive implements cc.Gate.
func (s *Sender) Receive(n *cc.ControlMessage, b cc.Backlog, now units.Time) error {
	switch {
	case n.Kind != cc.TOKEN:
		return errNoToken
	case n.Flags&cc.FlagSingle != 0:
		return errSingle
	}
	s.setBacklog(b)
	s.pollGap += (n.Gap - s.pollGap) / 8
	s.expire(now)
	if limit := unwrap32(s.limit, n.Limit); limit > s.limit {
		s.onProgress(s.isBlocked(), now)
		s.addTokens(limit, now)
	}
	s.onToken(n, now)
	if n.Flags&cc.FlagRepeat != 0 && (s.unsent == 0 || s.isBlocked()) {
		s.replyToRepeat = true // the repeated tokens are spent: report it
		if !s.replyDue {
			s.replyDue, s.querySeq = true, n.Seq
		}
		s.scheduleRTS(now)
	}
	s.reschedule(now)
	return nil
}

// addTokens adds tokens up to a limit.
func (s *Sender) addTokens(limit units.Bytes, now units.Time) {
	if most := s.spent + s.maxWindow; limit > most {
		s.stats.Clamped++
		limit = max(most, s.limit)
	}
	bytes := limit - s.limit
	if s.hasPartialPacket() {
		s.grants.n = 0 // they are as new as the tokens that complete them
	}
	s.limit = limit
	s.stats.Granted += bytes
	s.grants.add(limit, now)
	// A real-time BDP rests on the round trip, which is a guess, too: half of all tokens would be
	// granted again and again.
	if s.path.Guessed {
		return
	}
	if bdp, ok := s.meter.add(bytes, s.path.BaseRTT+2*s.pollGap, now); ok && s.realtime {
		s.discard(limit-max(bdp, s.k+s.unit), now) // a token, and the rest of one
	}
}

// expire discards tokens that are too old.
func (s *Sender) expire(now units.Time) {
	if !s.isFresh(now) && !s.hasPartialPacket() {
		s.discard(s.grants.limitAt(now.Add(-s.lifetime()), s.spent), now)
	}
}

// hasPartialPacket reports whether the unused tokens release less than a packet. Such tokens do not
// expire: where a round trip is longer than age, they would always be discarded before the tokens
// for the rest of the packet arrive.
func (s *Sender) hasPartialPacket() bool { return s.limit-s.spent < min(s.unsent, s.unit) }

// discard drops tokens up to a limit. The receiver is informed once per round trip: the tokens are
// part of the demand.
func (s *Sender) discard(upto units.Bytes, now units.Time) {
	if upto <= s.spent {
		return
	}
	s.stats.Discarded += upto - s.spent
	s.discarded += upto - s.spent
	s.spent = upto
	s.grants.dropSpent(upto)
	if s.unsent > 0 {
		s.scheduleRTSAt(s.backoff.sentAt.Add(s.path.BaseRTT), now)
	}
}

// demand returns the tokens spent plus the backlog that needs tokens.
func (s *Sender) demand() units.Bytes { return max(s.announced, s.spent+s.needed()) }

// isBlocked reports whether the backlog needs tokens that have not arrived.
func (s *Sender) isBlocked() bool { return s.hasPartialPacket() && s.allowance == 0 }

// reschedule computes when the next RTS is due.
func (s *Sender) reschedule(now units.Time) {
	if s.unsent == 0 && s.limit > s.spent { // nothing is left to send: drop the unused tokens
		s.stats.Unneeded += s.limit - s.spent
		s.discarded += s.limit - s.spent
		s.spent = s.limit
		s.grants.dropSpent(s.spent)
	}
	switch {
	case s.mustAnnounce():
		if s.limit < s.announced { // the receiver still grants: combine several reports
			s.scheduleRTSAt(s.backoff.sentAt.Add(s.path.BaseRTT/4), now)
		} else {
			s.scheduleRTS(now)
		}
	case s.unsent == 0 && s.announcedDemand && !s.volume:
		s.scheduleRTS(now)
	}
	s.next = s.nextRTS()
	if s.grants.n > 0 && s.age != 0 && !s.hasPartialPacket() {
		s.next = earlier(s.next, nonZero(s.grants.ring[s.grants.first].at.Add(s.lifetime())))
	}
	if s.rts && s.isBlocked() {
		s.next = earlier(s.next, s.backoff.deadline())
	}
}

// mustAnnounce reports whether the receiver must be informed of demand: it knows of less than a BDP
// that it has not granted, and no packet will report the demand by its mark.
func (s *Sender) mustAnnounce() bool {
	needs := s.needed()
	switch {
	case s.spent+needs <= s.announced, needs == 0:
		return false
	case s.announced-s.limit > s.bdp:
		return false
	case needs > s.wantsMoreThreshold() && s.announced-s.spent >= s.unit:
		return false
	}
	return true
}

// Emit implements cc.Gate.
func (s *Sender) Emit(b cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	s.setBacklog(b)
	s.expire(now)
	repeat := s.rts && s.isBlocked() && !s.backoff.deadline().After(now)
	n, ok := s.emitRTS(repeat, now)
	if ok {
		s.reportInFlight(&n, b)
		s.announced = s.demand()
		n.Demand, n.Spent, n.Discarded = uint32(s.announced), uint32(s.spent),
			uint32(s.discarded)&0xffffff
	}
	s.reschedule(now)
	return n, ok
}

// reportInFlight reports, when either end waits for the other, that nothing is in flight. If
// something is in flight the RTS is sent behind it, so that data that has not arrived before the
// RTS is known to be missing.
func (s *Sender) reportInFlight(n *cc.ControlMessage, b cc.Backlog) {
	silent := s.replyToRepeat || n.Flags&cc.FlagRepeat != 0
	s.replyToRepeat = false
	n.Flags &^= cc.FlagRepeat
	switch {
	case !silent:
	case b.InFlight == 0:
		n.Flags |= cc.FlagRepeat
	case s.overcommit == 0: // with overcommitment packets overtake each other
		n.WithData = true
	}
}
