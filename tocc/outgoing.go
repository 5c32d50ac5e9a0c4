package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// sender is the common part of senders by counters and by credits: the unscheduled phase, marks,
// and the timing of RTSs.
type sender struct {
	*plan
	unsent units.Bytes // posted and not in flight, as last reported; at most maxDemand

	// The unscheduled phase. The sum of allowance and unackedUnscheduled never exceeds unsch.
	allowance           units.Bytes // may still be sent without a token
	unackedUnscheduled  units.Bytes // sent without a token, and not known to be acknowledged
	messageSize         units.Bytes // of the message being sent
	announceUnscheduled bool        // the next RTS announces unscheduled packets
	announcedDemand     bool        // the newest RTS reported a backlog
	trailingRTS         bool        // an RTS follows the last unscheduled packet (Aeolus)
	reportAgain         bool        // packets were retransmitted since the last RTS

	tokenMarked   bool   // a token arrived with CE since the last packet
	ce            uint16 // number of tokens that arrived with CE
	echoDue       bool   // an RTS must report CE (echo=cnp)
	grantPriority uint8  // priority of the newest grant
	cnpGate       cc.CNPGate
	replyDue      bool // a query by a TOKEN is not yet answered
	querySeq      uint16

	rtsAt   units.Time // when an RTS is due; 0: none is
	backoff backoff    // of repeated RTSs: progress is a packet sent, or a token received
	next    units.Time
	stats   Stats
}

// Stats counts what happened at one end of a flow.
type Stats struct {
	Granted     units.Bytes // by tokens
	Discarded   units.Bytes // of these, by the sender: too old, or too many
	Unneeded    units.Bytes // of these, that arrived when nothing was left to send
	Unscheduled units.Bytes // sent or received without a token
	Wire        units.Bytes // released by the TOKENs sent, on the wire
	Messages    uint64      // RTSs sent by a sender, TOKENs sent by a receiver
	Repeats     uint64      // of these, repeated for lack of a response
	Marked      uint64      // messages received with congestion experienced
	Clamped     uint64      // TOKENs that granted more than the sender accepts
	Lost        uint64      // credits that no data returned (ExpressPass)
}

// Stats returns the counters.
func (s *sender) Stats() Stats { return s.stats }

// Next implements cc.Gate.
func (s *sender) Next() units.Time { return s.next }

func (s *sender) setBacklog(b cc.Backlog) {
	s.unsent = min(b.Waits, maxDemand)
	s.unackedUnscheduled = min(s.unackedUnscheduled, b.InFlight)
}

func (s *sender) onPosted(bytes units.Bytes, b cc.Backlog, now units.Time) {
	s.setBacklog(b)
	if bytes > 0 && b.Waits <= bytes { // nothing else is unsent: a burst counts as a new flow
		s.backoff.restart(now)
		s.setAllowance(s.unsch - s.unackedUnscheduled)
		s.announceUnscheduled = 2*s.allowance >= s.unsch
		s.trailingRTS = s.drop && s.allowance > 0
	}
}

// setAllowance sets how much may be sent without a token. Less than a packet counts as nothing,
// since demand must not rely on it.
func (s *sender) setAllowance(bytes units.Bytes) {
	s.allowance = bytes
	if bytes < s.unit {
		s.allowance = 0
	}
}

// needed returns how much of the backlog needs tokens.
func (s *sender) needed() units.Bytes { return max(0, s.unsent-s.allowance) }

// isUnscheduled reports whether a packet is sent without a token. A retransmission never is.
func (s *sender) isUnscheduled(p *cc.Outgoing) bool {
	return p.Bytes <= s.allowance && !p.Again && s.allowance > 0
}

// onSent records that a packet is sent. It returns the packet's marks, and whether they request
// more tokens.
func (s *sender) onSent(p *cc.Outgoing, now units.Time) (m cc.Marks, wantsMore bool) {
	s.setBacklog(p.Backlog)
	s.backoff.progressAt = now
	if p.Message > 0 {
		s.messageSize = p.Message
	}
	// a retransmission arrives behind other packets
	if wantsMore = s.needed() > s.wantsMoreThreshold() && !p.Again; wantsMore {
		m.Set |= cc.MarkWantsMore
	}
	if s.tokenMarked && s.echo == "data" {
		m.Set |= cc.MarkTokenMarked
		s.tokenMarked = false
	}
	if unscheduled := s.isUnscheduled(p); unscheduled {
		m.Set |= cc.MarkUnscheduled
		s.unackedUnscheduled += p.Bytes
		s.stats.Unscheduled += p.Bytes
		s.setAllowance(s.allowance - p.Bytes)
		s.classify(&m, true)
	} else {
		s.classify(&m, false)
	}
	if s.unsent = max(0, s.unsent-p.Bytes); s.unsent == 0 {
		s.allowance = 0
	}
	if s.trailingRTS && s.allowance == 0 {
		s.scheduleRTS(now)
	}
	return m, wantsMore
}

// minWanted returns the least demand behind a packet that requests more tokens.
func (p *plan) minWanted(packet units.Bytes, set cc.MarkSet) units.Bytes {
	if set&cc.MarkUnscheduled != 0 {
		return p.wantsMoreThreshold()
	}
	return max(0, p.wantsMoreThreshold()-packet)
}

// wantsMoreThreshold returns the demand from which on a packet requests more tokens: a BDP, and
// what a token releases beyond a packet (OURS), so that whole tokens fill a window of a BDP.
func (p *plan) wantsMoreThreshold() units.Bytes { return p.bdp + p.k - p.unit }

// classify sets the traffic class of a packet where the scheme determines it.
func (s *sender) classify(m *cc.Marks, unscheduled bool) {
	dscp := uint8(s.dataDSCP)
	switch {
	case s.overcommit > 0 && unscheduled:
		dscp = s.unscheduledLevel(s.messageSize) << 3
	case s.overcommit > 0:
		dscp = s.grantPriority << 3
	case !s.drop || !unscheduled:
		return
	}
	m.Classed, m.TrafficClass = true, dscp<<2|ect0
	if s.drop && unscheduled {
		m.TrafficClass &^= ect0
	}
}

func (s *sender) onLost(b cc.Backlog) {
	s.allowance = 0 // the phase is over: retransmissions need tokens, before new data
	s.setBacklog(b)
}

// onToken processes the fields that all TOKENs have in common.
func (s *sender) onToken(n *cc.ControlMessage, now units.Time) {
	s.grantPriority = min(n.Priority, maxLevel)
	if n.Flags&cc.FlagQuery != 0 {
		s.replyDue, s.querySeq = true, n.Seq
	}
	if !n.Congested {
		return
	}
	s.ce++
	s.tokenMarked = true
	s.stats.Marked++
	if s.echo == "cnp" && s.cnpGate.Marked(now) {
		s.echoDue = true
	}
}

// scheduleRTS schedules an RTS for now.
func (s *sender) scheduleRTS(now units.Time) { s.scheduleRTSAt(now, now) }

// scheduleRTSAt schedules an RTS for a time, or for now if it is past.
func (s *sender) scheduleRTSAt(at, now units.Time) {
	if s.rts {
		if at.Before(now) {
			at = now
		}
		s.rtsAt = earlier(s.rtsAt, nonZero(at))
	}
}

// nextRTS returns when the next RTS is due, apart from repetitions.
func (s *sender) nextRTS() units.Time {
	if s.replyDue || s.echoDue {
		return nonZero(s.backoff.progressAt)
	}
	return s.rtsAt
}

// onProgress records that a token arrived; blocked reports whether the sender was waiting for one.
func (s *sender) onProgress(blocked bool, now units.Time) {
	if blocked {
		s.backoff.addSample(now.Sub(s.backoff.progressAt))
	}
	s.backoff.progressAt = now
}

// emitRTS returns the RTS that is due, without the counters.
func (s *sender) emitRTS(repeat bool, now units.Time) (cc.ControlMessage, bool) {
	due := s.rtsAt != 0 && !s.rtsAt.After(now)
	if !due && !repeat && !s.replyDue && !s.echoDue {
		return cc.ControlMessage{}, false
	}
	n := cc.ControlMessage{Kind: cc.RTS, CE: s.ce}
	if repeat {
		n.Flags |= cc.FlagRepeat
		s.backoff.onRepeat()
		s.stats.Repeats++
	}
	if s.replyDue {
		n.Flags |= cc.FlagReply
		n.Seq = s.querySeq
	}
	if s.announceUnscheduled && s.allowance > 0 {
		n.Flags |= cc.FlagUnscheduled
	}
	if s.unsent == 0 {
		n.Flags |= cc.FlagEnd
	}
	if s.reportAgain {
		n.Flags |= cc.FlagAgain
	}
	if s.trailingRTS && s.allowance == 0 {
		n.WithData, s.trailingRTS = true, false
	}
	s.replyDue, s.echoDue, s.announceUnscheduled, s.tokenMarked = false, false, false, false
	s.reportAgain = false
	s.announcedDemand = s.unsent > 0
	s.backoff.sentAt, s.rtsAt = now, 0
	s.stats.Messages++
	return n, true
}
