package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// sender is what senders of counters and of credits have in common: the unscheduled phase, marks,
// and when an RTS is due.
type sender struct {
	*plan
	waits units.Bytes // as last told; at most farthest

	// The unscheduled phase. allowance and loose together are never more than unsch.
	allowance units.Bytes // may leave without a token yet
	loose     units.Bytes // left so, and is not known to be acknowledged
	size      units.Bytes // of the message that leaves
	opens     bool        // no RTS of this burst has left, and about unsch leaves without a token
	open      bool        // the receiver may think that something waits
	tail      bool        // an RTS goes behind the last unscheduled packet (Aeolus)

	marked   bool   // a token came with CE since the last packet
	ce       uint16 // tokens that did
	urgent   bool   // say so by a packet of its own (echo=cnp)
	level    uint8  // priority of the newest grant
	cnpGate  cc.CNPGate
	answers  bool // a TOKEN asked
	question uint16

	rtsAt    units.Time // when an RTS is due; 0 none is
	patience patience   // of the deadlock breaker: progress is a packet that leaves, or a token
	next     units.Time
	tally    Tally
}

// Tally counts what an end of a flow did.
type Tally struct {
	Granted     units.Bytes // by tokens
	Discarded   units.Bytes // of them, by the sender: too old, or too many
	Unneeded    units.Bytes // of them, that came when nothing was left to send
	Unscheduled units.Bytes // left, or came, without a token
	Wire        units.Bytes // released by TOKENs that left, on the wire
	Notices     uint64      // RTSs of a sender, TOKENs of a receiver
	Repeats     uint64      // of them, because nothing was heard
	Marked      uint64      // notices that came with congestion experienced
	Clamped     uint64      // TOKENs of a sender that granted more than it takes
	Lost        uint64      // credits that did not come back (ExpressPass)
}

// Tally answers the counters.
func (s *sender) Tally() Tally { return s.tally }

// Next implements cc.Gate.
func (s *sender) Next() units.Time { return s.next }

func (s *sender) backlog(b cc.Backlog) {
	s.waits = min(b.Waits, farthest)
	s.loose = min(s.loose, b.InFlight)
}

func (s *sender) posted(bytes units.Bytes, b cc.Backlog, now units.Time) {
	s.backlog(b)
	if bytes > 0 && b.Waits <= bytes { // nothing waited: a burst is as a new flow
		s.patience.renew(now)
		s.allow(s.unsch - s.loose)
		s.opens = 2*s.allowance >= s.unsch
		s.tail = s.drop && s.allowance > 0
	}
}

// allow lets so much go without a token. What is less than a packet is nothing: demand must not
// count on it.
func (s *sender) allow(bytes units.Bytes) {
	s.allowance = bytes
	if bytes < s.unit {
		s.allowance = 0
	}
}

// needs is how much of what waits needs tokens.
func (s *sender) needs() units.Bytes { return max(0, s.waits-s.allowance) }

// isUnscheduled says whether a packet leaves without a token. What was lost never does.
func (s *sender) isUnscheduled(p *cc.Outgoing) bool {
	return p.Bytes <= s.allowance && !p.Again && s.allowance > 0
}

// took is that a packet leaves: what is marked on it, and whether it asks for more.
func (s *sender) took(p *cc.Outgoing, now units.Time) (m cc.Marks, wantsMore bool) {
	s.backlog(p.Backlog)
	s.patience.from = now
	if p.Message > 0 {
		s.size = p.Message
	}
	// what is sent again comes behind others
	if wantsMore = s.needs() > s.ahead() && !p.Again; wantsMore {
		m.Set |= cc.MarkWantsMore
	}
	if s.marked && s.echo == "data" {
		m.Set |= cc.MarkTokenMarked
		s.marked = false
	}
	if unscheduled := s.isUnscheduled(p); unscheduled {
		m.Set |= cc.MarkUnscheduled
		s.loose += p.Bytes
		s.tally.Unscheduled += p.Bytes
		s.allow(s.allowance - p.Bytes)
		s.classify(&m, true)
	} else {
		s.classify(&m, false)
	}
	if s.waits = max(0, s.waits-p.Bytes); s.waits == 0 {
		s.allowance = 0
	}
	if s.tail && s.allowance == 0 {
		s.ask(now)
	}
	return m, wantsMore
}

// wanted is the least that waits for tokens behind a packet that asks for more.
func (p *plan) wanted(packet units.Bytes, set cc.MarkSet) units.Bytes {
	if set&cc.MarkUnscheduled != 0 {
		return p.ahead()
	}
	return max(0, p.ahead()-packet)
}

// ahead is what more than it means to want more: a BDP, and what a token releases beyond a packet
// (OURS), so that whole tokens fill a window of a BDP.
func (p *plan) ahead() units.Bytes { return p.bdp + p.k - p.unit }

// classify says in which class a packet goes, where the scheme has a say.
func (s *sender) classify(m *cc.Marks, unscheduled bool) {
	dscp := uint8(s.dataDSCP)
	switch {
	case s.overcommit > 0 && unscheduled:
		dscp = s.unscheduledLevel(s.size) << 3
	case s.overcommit > 0:
		dscp = s.level << 3
	case !s.drop || !unscheduled:
		return
	}
	m.Classed, m.TrafficClass = true, dscp<<2|ect0
	if s.drop && unscheduled {
		m.TrafficClass &^= ect0
	}
}

func (s *sender) lost(b cc.Backlog) {
	s.allowance = 0 // the phase is over: what is sent again needs tokens, before what is new
	s.backlog(b)
}

// heard takes in what every TOKEN may say.
func (s *sender) heard(n *cc.ControlMessage, now units.Time) {
	s.level = min(n.Priority, mostLevel)
	if n.Flags&cc.FlagQuery != 0 {
		s.answers, s.question = true, n.Seq
	}
	if !n.Congested {
		return
	}
	s.ce++
	s.marked = true
	s.tally.Marked++
	if s.echo == "cnp" && s.cnpGate.Marked(now) {
		s.urgent = true
	}
}

// ask has an RTS go now.
func (s *sender) ask(now units.Time) { s.askBy(now, now) }

// askBy has an RTS go at a moment, or now when that is past.
func (s *sender) askBy(at, now units.Time) {
	if s.rts {
		if at.Before(now) {
			at = now
		}
		s.rtsAt = sooner(s.rtsAt, moment(at))
	}
}

// timers answers when the RTSs of all senders are due.
func (s *sender) timers() units.Time {
	if s.answers || s.urgent {
		return moment(s.patience.from)
	}
	return s.rtsAt
}

// progress is that a token came, where blocked says that one was waited for.
func (s *sender) progress(blocked bool, now units.Time) {
	if blocked {
		s.patience.timed(now.Sub(s.patience.from))
	}
	s.patience.from = now
}

// emit answers the RTS that is due, counters left out.
func (s *sender) emit(repeat bool, now units.Time) (cc.ControlMessage, bool) {
	due := s.rtsAt != 0 && !s.rtsAt.After(now)
	if !due && !repeat && !s.answers && !s.urgent {
		return cc.ControlMessage{}, false
	}
	n := cc.ControlMessage{Kind: cc.RTS, CE: s.ce}
	if repeat {
		n.Flags |= cc.FlagRepeat
		s.patience.repeated()
		s.tally.Repeats++
	}
	if s.answers {
		n.Flags |= cc.FlagReply
		n.Seq = s.question
	}
	if s.opens && s.allowance > 0 {
		n.Flags |= cc.FlagUnscheduled
	}
	if s.waits == 0 {
		n.Flags |= cc.FlagEnd
	}
	if s.tail && s.allowance == 0 {
		n.WithData, s.tail = true, false
	}
	s.answers, s.urgent, s.opens, s.marked = false, false, false, false
	s.open = s.waits > 0
	s.patience.said, s.rtsAt = now, 0
	s.tally.Notices++
	return n, true
}
