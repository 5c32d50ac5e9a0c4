package transport

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// admission is a queue pair's part in receiver-driven control (cc.Gate, cc.Granter): the gate of
// what it sends, the granters of what it receives. A queue pair without costs nothing.
type admission struct {
	qp         *QueuePair
	gate       cc.Gate
	granter    cc.Granter // of tokens
	usesTokens bool       // the gate or the granter speaks of tokens
	credits    credits

	flow     cc.Flow // of the granter's congestion control, where it has one
	controls bool
	wants    cc.EventSet

	out    cc.Outgoing // the packet at hand
	marks  cc.Marks    // and what is on it
	in     cc.Arrival
	notice cc.Notice // the one that came

	seen      wire.PSN  // one past the newest packet that the peer is known to have sent
	told      wire.PSN  // the granter knows what is missing before it
	deadlines deadlines // and what may yet come of the others
	// of the peer's packets only the headers came, or there was no room for them
	cut            psnSet
	listed         psnSet    // of those: which a TOKEN has listed
	round          roundTrip // of what the gate lets leave
	passed         wire.PSN  // the oldest packet when lists passed over it, and how many did
	passes         uint8
	reportedOldest reportedOldest // on what the peer lists
	grants         bool           // packets say by which grant they left
	shut           bool           // the gate kept a packet when nothing else could open it
	shutAt         units.Time     // when that began
	heardAt        units.Time     // the same, or when the peer last said something
	waited         admissionStats

	reads     uint32      // READs and atomics that are posted and have not completed
	readBytes units.Bytes // that they ask for
	reading   units.Bytes // of them, what is in flight

	next         *admission // behind it in the list of those with tokens to send
	since        units.Time // it has been there
	queued       bool
	timerPending bool // the queue pair's timer is to be set before the endpoint looks at timers
	gone         bool // its queue pair has no part in it any more
}

// admit gives the queue pair a gate and granters, see QPAttr.
func (qp *QueuePair) admit(g cc.Gate, granters ...cc.Granter) error {
	if err := qp.want("admission", Reset, Init); err != nil {
		return err
	}
	if qp.Type != RC {
		return fmt.Errorf("transport: QP %#x: admission is for reliable connections, not %v: %w",
			uint32(qp.Num), qp.Type, errors.ErrUnsupported)
	}
	a := &admission{qp: qp, gate: g}
	for _, part := range cc.Parts(g) {
		if c, ok := part.(cc.CreditGate); ok {
			a.credits.gate = c
		} else {
			a.usesTokens = true
		}
	}
	for _, r := range granters {
		switch c, ok := r.(cc.CreditGranter); {
		case r == nil:
		case ok && a.credits.granter == nil:
			a.credits.granter = c
		case !ok && a.granter == nil:
			a.granter, a.usesTokens = r, true
		default:
			return fmt.Errorf("transport: QP %#x: admission by two granters of one kind: %w",
				uint32(qp.Num), ErrInvalid)
		}
	}
	qp.dropAdmission()
	qp.adm = a
	if r := a.granter; r != nil {
		r.Attach(a)
		if alg := r.Algorithm(); alg != nil {
			a.flow, a.controls = qp.ep.addFlow(alg, qp), true
			a.wants = qp.ep.cc.Wants(a.flow)
			d, _ := qp.ep.cc.Decision(a.flow)
			r.Decide(d, qp.ep.now)
		}
	}
	if c := a.credits.granter; c != nil {
		c.Attach(a)
	}
	if err := a.credits.check(); err != nil {
		qp.dropAdmission()
		return fmt.Errorf("transport: QP %#x: admission: %w", uint32(qp.Num), err)
	}
	return nil
}

// dropAdmission ends it.
func (qp *QueuePair) dropAdmission() {
	a := qp.adm
	if a == nil {
		return
	}
	qp.adm, a.gone = nil, true
	a.reopen()
	a.dropTokens()
	a.dropCredits()
}

// dropTokens ends the part of tokens.
func (a *admission) dropTokens() {
	if a.controls {
		a.qp.ep.cc.Remove(a.flow)
	}
	if a.granter != nil {
		a.granter.Attach(nil)
	}
	a.granter, a.controls, a.usesTokens = nil, false, false
}

// agreeAdmission leaves of a queue pair's admission what the peer agreed to.
func (qp *QueuePair) agreeAdmission(x *wire.Agreement) {
	a := qp.adm
	if a == nil {
		return
	}
	if a.usesTokens && x.Features&wire.FeatureToken == 0 {
		a.dropTokens()
	}
	a.agreeCredits(x)
	var parts []cc.Gate
	for _, part := range cc.Parts(a.gate) {
		if c, ok := part.(cc.CreditGate); ok && a.credits.gate == c || !ok && a.usesTokens {
			parts = append(parts, part)
		}
	}
	if a.gate = cc.AllOf(parts...); a.gate == nil && a.granter == nil && a.credits.granter == nil {
		qp.dropAdmission()
	}
}

// begin takes part from RTR on: peer's packets begin with psn.
func (a *admission) begin(psn wire.PSN) {
	a.seen, a.told = psn, psn
	a.grants = a.gate != nil && a.gate.Wants()&cc.MarkGrant != 0
}

// hasGranter reports whether the queue pair has a granter of tokens.
func (a *admission) hasGranter() bool { return a != nil && a.granter != nil }

// hasTokens reports whether its gate or granter speaks of tokens.
func (a *admission) hasTokens() bool { return a != nil && a.usesTokens }

// hasGrants reports whether packets say by which grant they leave.
func (a *admission) hasGrants() bool { return a.grants }

// isShut reports whether the gate keeps a packet.
func (a *admission) isShut() bool { return a != nil && a.shut }

// offer adds tokens and credits to what the peer is offered.
func (a *admission) offer(o *wire.Offer) {
	if a == nil {
		return
	}
	if a.usesTokens {
		o.Features |= wire.FeatureToken
	}
	a.credits.offer(o)
}

// onDecision takes over a decision for flow f, unless it is not the granter's. It returns whether
// it is.
func (a *admission) onDecision(f cc.Flow, now units.Time) bool {
	if a == nil || !a.controls || f != a.flow {
		return false
	}
	a.applyNewDecision(now)
	a.scheduleGranter(now)
	return true
}

// onAsked notes that psn leaves, which asks for an ACK.
func (a *admission) onAsked(psn wire.PSN, now units.Time) {
	if a != nil {
		a.round.begin(psn, now)
	}
}

// onResent notes that psn was sent again.
func (a *admission) onResent(psn wire.PSN) { a.round.forget(psn) }

// onAcknowledged notes that everything before una is acknowledged.
func (a *admission) onAcknowledged(una wire.PSN, now units.Time) {
	if a != nil {
		a.heardAt = now
		a.round.end(una, now)
	}
}

// roundTrip returns how long a round trip takes.
func (a *admission) roundTrip() units.Duration { return a.round.length() }

// Report implements cc.Reporter for the granter.
func (a *admission) Report(ev *cc.Event, now units.Time) {
	if !a.controls || a.gone || !a.wants.Has(ev.Kind) {
		return
	}
	ev.Flow = a.flow
	a.qp.ep.cc.Report(ev, now)
	a.applyNewDecision(now)
}

// Ask implements cc.Reporter for the granter.
func (a *admission) Ask() {
	if !a.gone {
		a.scheduleGranters(a.qp.ep.now)
	}
}

// scheduleGranters sees to it that both granters say what they have to say.
func (a *admission) scheduleGranters(now units.Time) {
	if a.granter != nil {
		a.scheduleGranter(now)
	}
	if a.credits.granter != nil {
		a.scheduleCredits(now)
	}
}

// applyNewDecision takes over the newest decision about what is granted.
func (a *admission) applyNewDecision(now units.Time) {
	if d, changed := a.qp.ep.cc.Decision(a.flow); changed {
		a.granter.Decide(d, now)
	}
}

// onArrival tells the granter of a request of the peer's. One with a PSN that no honest peer has
// got
// to says nothing.
func (a *admission) onArrival(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := a.qp
	now, n := qp.ep.now, uint32(1)
	if info.Kind == wire.Read {
		n = qp.packetsFor(min(p.RETH().Len(), maxMessage))
	}
	if !plausible(p.PSN, qp.rcv.expected()) {
		return
	}
	a.onSeen(p.PSN, now)
	a.cut.remove(p.PSN)
	a.listed.remove(p.PSN)
	fresh := !p.PSN.Before(a.seen)
	if end := p.PSN.Add(n); end.After(a.seen) {
		a.seen = end
		if a.deadlines.n == 0 {
			a.told = end
		}
	}
	if info.Kind != wire.Send && info.Kind != wire.Write {
		a.scheduleGranter(now)
		return
	}
	marks := p.BTH().Marks()
	a.in = cc.Arrival{
		Bytes: units.Bytes(p.End - p.PayloadOff), Congested: p.ECN == wire.ECNCE,
		Gap:    qp.ep.arrived.worked(),
		Away:   min(qp.ep.arrived.away, qp.ep.arrived.gap),
		Behind: !fresh,
		Again: !fresh && (p.PSN.Before(qp.rcv.expected()) ||
			within(qp.rcv.expected(), p.PSN) && qp.rcv.holds(p.PSN)),
	}
	if marks&wire.MarkUnscheduled != 0 {
		a.in.Set = cc.MarkUnscheduled
	}
	if marks&wire.MarkWantsMore != 0 {
		a.in.Set |= cc.MarkWantsMore
	}
	if marks&wire.MarkTokenMarked != 0 {
		a.in.Set |= cc.MarkTokenMarked
	}
	if p.Op == wire.XDATA {
		if g := p.Grant(); g != nil {
			a.in.Set |= cc.MarkGrant
			a.in.Grant = g.Seq()
		}
	}
	a.granter.Arrived(&a.in, now)
	a.scheduleGranter(now)
}

// setTimer has the queue pair's timer set before the endpoint looks at timers. Each packet moves
// what it waits for: to set it once in a phase of a round is enough.
func (a *admission) setTimer() {
	if !a.timerPending {
		a.timerPending = true
		a.qp.ep.timersToSet = append(a.qp.ep.timersToSet, a)
	}
}

// setTimers sets the timers that were put off.
func (e *Endpoint) setTimers() {
	for i := 0; i < len(e.timersToSet); i++ {
		a := e.timersToSet[i]
		if a.timerPending = false; !a.gone {
			a.qp.setTimer()
		}
	}
	e.timersToSet = e.timersToSet[:0]
}

// scheduleGranter sees to it that the granter says what it has to say.
func (a *admission) scheduleGranter(now units.Time) {
	if a.queued {
		return // when its turn comes
	}
	next := a.granter.Next()
	if next == 0 || a.qp.state < ReadyToReceive || a.qp.state == Errored {
		return
	}
	if next.After(now) {
		a.setTimer()
		return
	}
	a.qp.ep.tokenPacer.queue(a, now)
}

// earliest returns at, or when the gate or the granter wants a look, if that is earlier; 0 is
// never. What is due has its turn.
func (a *admission) earliest(at units.Time) units.Time {
	if a.gate != nil {
		next := a.gate.Next()
		if at = a.sooner(at, next); next != 0 && !next.After(a.qp.ep.now) {
			// the timer that was set for it may not have fired yet, and is set anew
			a.qp.ep.scheduleAnswer(a.qp)
		}
	}
	if c := a.credits.granter; c != nil {
		next := c.Next()
		if at = a.sooner(at, next); next != 0 && !next.After(a.qp.ep.now) {
			a.qp.ep.scheduleAnswer(a.qp)
		}
	}
	if a.granter != nil && !a.queued {
		next := a.granter.Next()
		if at = a.sooner(at, next); next != 0 && !next.After(a.qp.ep.now) &&
			a.granter.Queue() == 0 {
			a.scheduleGranter(a.qp.ep.now)
		}
	}
	return a.sooner(at, a.deadlines.next())
}

func (a *admission) sooner(at, next units.Time) units.Time {
	if next != 0 && next.After(a.qp.ep.now) && (at == 0 || next.Before(at)) {
		return next
	}
	return at
}

// onTimer looks after both halves.
func (a *admission) onTimer(now units.Time) {
	if a.gate != nil && a.qp.state >= ReadyToSend {
		a.qp.adm.scheduleGate()
	}
	if a.granter != nil {
		for before, some := a.deadlines.over(now); some; before, some = a.deadlines.over(now) {
			a.reportMissingBefore(before, now)
		}
		a.scheduleGranter(now)
	}
	if a.credits.granter != nil {
		a.credits.next = 0
		a.scheduleCredits(now)
	}
}
