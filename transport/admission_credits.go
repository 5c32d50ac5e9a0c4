package transport

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// credits is a queue pair's state of credits for cache lines (cc.CreditGate, cc.CreditGranter;
// CARC): the sender's gate, possibly one of several in admission.gate, and the receiver's granter.
// The granter's credits ride on an ACK if one leaves in time; otherwise they leave as a CREDIT of
// their own when they are due.
type credits struct {
	gate       cc.CreditGate
	granter    cc.CreditGranter
	agreed     bool
	writes     bool              // plain WRITEs take credits, too
	ackCredits cc.ControlMessage // the credits that ride on the ACK being built

	messages uint64      // delivered and not consumed
	bytes    units.Bytes // their payload
	lengths  []uint32    // their lengths, a ring; nil unless posting a receive consumes the oldest
	oldest   uint64      // index of the oldest in lengths

	next units.Time // the granter's deadline that the timer was last set for
}

// check returns an error for terms that cannot be agreed on.
func (c *credits) check() error {
	for _, t := range c.terms() {
		if t.Line < wire.MinCreditLine || t.Line > wire.MaxCreditLine || t.Line&(t.Line-1) != 0 {
			return fmt.Errorf("credits for lines of %d bytes: want a power of two from %d "+
				"to %d: %w", int64(t.Line), wire.MinCreditLine, wire.MaxCreditLine, ErrInvalid)
		}
		if t.Lines > extension.MaxCreditLines {
			return fmt.Errorf("credits for %d lines: want at most %d: %w", t.Lines,
				extension.MaxCreditLines, ErrInvalid)
		}
	}
	return nil
}

// terms returns the terms of the gate and of the granter.
func (c *credits) terms() (all []cc.CreditTerms) {
	if c.gate != nil {
		all = append(all, c.gate.Terms())
	}
	if c.granter != nil {
		all = append(all, c.granter.Terms())
	}
	return all
}

// offer adds the features and terms of credits to the offer to the peer.
func (c *credits) offer(o *wire.Offer) {
	for i, t := range c.terms() {
		shift := uint8(bits.TrailingZeros64(uint64(t.Line)))
		if i == 0 {
			o.Features |= wire.FeatureCredit | wire.FeatureHost | wire.FeatureAnswers |
				wire.FeatureWrites
			o.LineShift = shift
		}
		o.LineShift = min(o.LineShift, shift)
		o.Credits = max(o.Credits, t.Lines)
		if !t.Responses {
			o.Features &^= wire.FeatureAnswers
		}
		if !t.Writes {
			o.Features &^= wire.FeatureWrites
		}
	}
}

// agreeCredits detaches a gate or granter whose counterpart the peer lacks, and passes the agreed
// terms to the rest.
func (a *admission) agreeCredits(x *wire.Agreement) {
	c := &a.credits
	if x.Features&wire.FeatureCredit == 0 || x.SendCredits == 0 {
		c.gate = nil
	}
	if x.Features&wire.FeatureCredit == 0 || x.RecvCredits == 0 {
		a.dropCredits()
	}
	terms := cc.CreditTerms{Line: 1 << x.LineShift, Responses: x.Features&wire.FeatureAnswers != 0,
		Writes: x.Features&wire.FeatureWrites != 0}
	c.writes = terms.Writes
	if c.gate != nil {
		terms.Lines = x.SendCredits
		c.gate.Agree(terms)
	}
	if c.granter != nil {
		terms.Lines = x.RecvCredits
		c.granter.Agree(terms)
	}
	c.agreed = c.gate != nil || c.granter != nil
}

// dropCredits detaches the granter. The granter's cache gets the lines back that were never
// consumed.
func (a *admission) dropCredits() {
	if c := &a.credits; c.granter != nil {
		c.granter.Attach(nil)
		c.granter = nil
	}
}

// onDelivered reports a complete message to the granter.
func (a *admission) onDelivered(bytes units.Bytes, completes bool) {
	c := &a.credits
	if c.granter == nil || !completes && !c.writes {
		return
	}
	if c.lengths != nil {
		c.lengths[(c.oldest+c.messages)%uint64(len(c.lengths))] = uint32(bytes)
	}
	c.messages++
	c.bytes += bytes
	// The program runs while the port holds a frame, which counts as away elsewhere.
	if e := a.qp.ep; min(e.arrived.away, e.rounds.away) > maxPhase {
		if g, ok := c.granter.(cc.AbsenceObserver); ok {
			g.Away(min(e.arrived.away, e.rounds.away), e.now)
		}
	}
	c.granter.Delivered(bytes, a.qp.ep.now)
	a.scheduleCredits(a.qp.ep.now)
}

// consume implements cc.Admission's Consumed.
func (a *admission) consume(bytes units.Bytes) error {
	if !a.grantsCredits() {
		return nil
	}
	c := &a.credits
	if c.lengths != nil {
		return fmt.Errorf("transport: QP %#x: consumed: posting a receive reports it "+
			"(ConsumeOnPost): %w", uint32(a.qp.Num), ErrInvalid)
	}
	if c.messages == 0 || bytes < 0 || bytes > c.bytes {
		return fmt.Errorf("transport: QP %#x: consumed a message of %d bytes, but %d messages "+
			"of %d bytes in total are left: %w",
			uint32(a.qp.Num), int64(bytes), c.messages, int64(c.bytes), ErrInvalid)
	}
	a.onConsumed(bytes)
	return nil
}

func (a *admission) onConsumed(bytes units.Bytes) {
	c := &a.credits
	c.messages--
	c.bytes -= bytes
	c.granter.Consumed(bytes, a.qp.ep.now)
	a.scheduleCredits(a.qp.ep.now)
}

// consumeOnPost lets posted receives consume messages, see QPAttr.
func (qp *QueuePair) consumeOnPost() error {
	if err := qp.requireState("consume on post", Reset, Init); err != nil {
		return err
	}
	switch {
	case qp.rcv.isShared():
		return fmt.Errorf("transport: QP %#x: consume on post: it receives from a shared queue: %w",
			uint32(qp.Num), ErrInvalid)
	case !qp.adm.grantsCredits():
		return fmt.Errorf("transport: QP %#x: consume on post: it has no granter of credits: %w",
			uint32(qp.Num), ErrInvalid)
	case qp.adm.creditsWrites():
		return fmt.Errorf("transport: QP %#x: consume on post: WRITEs take credits without "+
			"a receive: %w", uint32(qp.Num), ErrInvalid)
	}
	qp.adm.consumeOnPost(qp.rcv.depth())
	return nil
}

// grantsCredits reports whether the queue pair has a granter of credits.
func (a *admission) grantsCredits() bool { return a != nil && a.credits.granter != nil }

// creditsWrites reports whether plain WRITEs take credits from the granter.
func (a *admission) creditsWrites() bool { return a.credits.granter.Terms().Writes }

// hasCredits reports whether the peer agreed to credits.
func (a *admission) hasCredits() bool { return a != nil && a.credits.agreed }

// consumeOnPost makes posted receives consume messages; n is the depth of the receive queue.
func (a *admission) consumeOnPost(n int) { a.credits.lengths = make([]uint32, n+1) }

// onResponse reports to the gate of credits that the program has the response to a message.
func (a *admission) onResponse(bytes units.Bytes) {
	if a == nil || a.credits.gate == nil {
		return
	}
	qp := a.qp
	a.credits.gate.Answered(bytes, qp.ep.now)
	a.scheduleGate()
	qp.ep.scheduleRequests(qp)
}

// onReceivePosted consumes the oldest message if QPAttr.ConsumeOnPost was set.
func (a *admission) onReceivePosted() {
	c := &a.credits
	if c.lengths == nil || c.granter == nil || c.messages == 0 {
		return
	}
	bytes := c.lengths[c.oldest%uint64(len(c.lengths))]
	c.oldest++
	a.onConsumed(units.Bytes(bytes))
}

// scheduleCredits schedules a CREDIT that is due, or sets the timer for the next.
func (a *admission) scheduleCredits(now units.Time) {
	switch next := a.credits.granter.Next(); {
	case next == 0 || !a.qp.isReceiving():
	case next.After(now):
		if c := &a.credits; next != c.next { // the same for a whole burst of messages
			c.next = next
			a.qp.setTimer()
		}
	default:
		a.qp.ep.scheduleResponses(a.qp)
	}
}

// hasCreditDue reports whether a CREDIT is due and no ACK is about to leave that could carry it.
func (a *admission) hasCreditDue() bool {
	if a == nil || a.credits.granter == nil || a.qp.rcv.hasPendingAck() {
		return false
	}
	qp := a.qp
	next := a.credits.granter.Next()
	return next != 0 && !next.After(qp.ep.now)
}

// sendCredit sends the granter's CREDIT. It returns false when the port has no room.
func (a *admission) sendCredit() bool {
	qp := a.qp
	e := qp.ep
	b := e.frame(packet.ClassAck)
	if b == nil {
		return false
	}
	if n, ok := a.emitCredit(); ok {
		a.buildCredit(b, &n, qp.rcv.expected().Add(wire.PSNMask))
		e.counters.CreditsSent++
	}
	qp.setTimer()
	return true
}

// emitCredit returns the granter's control message, for which the timer need not run any more.
func (a *admission) emitCredit() (cc.ControlMessage, bool) {
	a.credits.next = 0
	return a.credits.granter.Emit(false, a.qp.ep.now)
}

// buildCredit builds a CREDIT into b and queues it for transmission.
func (a *admission) buildCredit(b *packet.Buf, n *cc.ControlMessage, psn wire.PSN) {
	qp := a.qp
	room := b.Room()
	ext, total := qp.tmpl.Build(room, wire.Fields{Op: wire.CREDIT, PSN: psn}, 0)
	frame := room[:total]
	wire.View[wire.XCH](frame[ext:]).Set(qp.sendTag, extension.CreditLen)
	setCredit(extension.Credit(frame[ext+wire.XCHLen:][:extension.CreditLen]), n)
	a.pushControl(b, frame, packet.ClassAck, n)
}

func setCredit(t extension.Credit, n *cc.ControlMessage) {
	flags := extension.CreditAsks.When(n.Flags&cc.FlagQuery != 0) |
		extension.CreditIdle.When(n.Cache&cc.CacheIdle != 0)
	flags |= extension.CreditBeyondDDIO.When(n.Cache&cc.CacheBeyondDDIO != 0) |
		extension.CreditApproaching.When(n.Cache&cc.CacheApproaching != 0)
	t.Set(flags, n.Epoch, n.Credits, n.Returned)
}

// creditLen takes the granter's credits for the next ACK. It returns how many bytes of TLVs they
// need.
func (a *admission) creditLen() int {
	if a == nil || a.credits.granter == nil {
		return 0
	}
	n, ok := a.emitCredit()
	if !ok {
		return 0
	}
	a.credits.ackCredits = n
	if n.Served == 0 {
		return extension.CreditLen
	}
	return extension.CreditLen + extension.HostLen
}

// putCredit writes the credits that creditLen took into the TLVs of an ACK.
func (a *admission) putCredit(area []byte) {
	qp := a.qp
	n := &a.credits.ackCredits
	setCredit(extension.Credit(area[:extension.CreditLen]), n)
	if len(area) > extension.CreditLen {
		extension.Host(area[extension.CreditLen:][:extension.HostLen]).Set(n.Waited, n.Served)
	}
	qp.ep.counters.CreditsOnAcks++
	qp.setTimer()
}

// receiveCredit handles a CREDIT. It drops one with an implausible PSN.
func (a *admission) receiveCredit(p *wire.Packet) {
	qp := a.qp
	t := extension.TLVs(p.TLVs()).Credit()
	isQuery := t.Flags()&extension.CreditAsks != 0
	if isQuery && !plausible(p.PSN, qp.rcv.expected()) || !isQuery &&
		(!plausible(p.PSN, qp.loss.oldest()) || !p.PSN.Before(qp.loss.highest())) {
		qp.ep.counters.DropNotice++
		return
	}
	a.onCredit(t, p)
}

// onCredit applies the credits of a CREDIT or an ACK. It returns false if that ended the queue
// pair.
func (a *admission) onCredit(t extension.Credit, p *wire.Packet) bool {
	qp := a.qp
	e, now := qp.ep, qp.ep.now
	n := &a.received
	*n = cc.ControlMessage{Kind: cc.CREDIT, Credits: t.Lines(), Epoch: t.Epoch(),
		Returned: t.Returned(), Congested: p.ECN == wire.ECNCE}
	if h := extension.TLVs(p.TLVs()).Host(); h != nil {
		if waited, served, known := h.Residence(); known {
			n.Waited, n.Served = waited, served
		}
	}
	f := t.Flags()
	if f&extension.CreditIdle != 0 {
		n.Cache = cc.CacheIdle
	}
	if f&extension.CreditBeyondDDIO != 0 {
		n.Cache |= cc.CacheBeyondDDIO
	}
	if f&extension.CreditApproaching != 0 {
		n.Cache |= cc.CacheApproaching
	}
	e.trace.onControl(qp, trace.ControlReceived, n)
	var err error
	switch {
	case f&extension.CreditAsks != 0 && a.credits.granter != nil:
		n.Flags = cc.FlagQuery
		if err = a.credits.granter.Receive(n, now); err == nil {
			e.counters.CreditQuestions++
			a.scheduleCredits(now)
		}
	case f&extension.CreditAsks != 0 || a.credits.gate == nil || qp.state != ReadyToSend &&
		qp.state != SQDrained:
		e.counters.DropState++
		return true
	case n.Credits == 0 || n.Credits > extension.MaxCreditLines:
		e.counters.DropNotice++
		return true
	default:
		if err = a.credits.gate.Receive(n, a.backlog(), now); err == nil {
			e.counters.CreditsHeard++
			a.lastPeerActivity = now
			a.scheduleGate()
			e.scheduleRequests(qp)
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, cc.ErrForged):
		e.counters.CreditsForged++
		qp.failHead(StatusBadRespErr)
		return false
	default:
		e.counters.DropNotice++
	}
	return true
}
