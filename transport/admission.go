package transport

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// admission is a queue pair's state of receiver-driven control (cc.Gate, cc.Granter): the gate of
// what it sends, and the granters of what it receives. A queue pair without either has none, and
// pays only a nil check.
type admission struct {
	qp         *QueuePair
	gate       cc.Gate
	granter    cc.Granter // of tokens
	usesTokens bool       // the gate or the granter uses tokens
	credits    credits

	flow     cc.Flow // of the granter's congestion control, if it has one
	controls bool
	events   cc.EventSet

	outgoing cc.Outgoing // the packet about to leave
	marks    cc.Marks    // its marks
	arrival  cc.Arrival
	received cc.ControlMessage // the control message just received

	rcvMax    wire.PSN  // one past the newest packet that the peer is known to have sent
	rtsPSN    wire.PSN  // next packet of the peer when it sent the newest RTS that arrived
	reported  wire.PSN  // what is missing before it has been reported to the granter
	deadlines deadlines // until when packets from reported to rcvMax may still arrive
	// packets of the peer that were trimmed to their header, or dropped for lack of room
	knownLost        psnSet
	lossReported     psnSet         // those of knownLost in a loss report to the peer
	rtt              roundTrip      // measured with packets that passed the gate
	skippedOldest    wire.PSN       // the oldest packet when loss reports skipped it
	skips            uint8          // how many loss reports skipped it
	reportedOldest   reportedOldest // loss reports for the oldest packet
	grants           bool           // packets carry the number of their grant
	blocked          bool           // the gate, and nothing else, blocks the next packet
	blockedAt        units.Time     // since when
	lastPeerActivity units.Time     // blockedAt, or when the newest ACK or control message arrived
	waitStats        admissionStats

	reads        uint32      // READs and atomics that are posted and have not completed
	readBytes    units.Bytes // bytes that they ask for
	readInFlight units.Bytes // of these, bytes in flight

	next         *admission // the next one in the token pacer's list
	queuedAt     units.Time // when it was put in that list
	queued       bool
	timerPending bool // the queue pair's timer must be set before the endpoint reads its timers
	detached     bool // its queue pair does not use it any more
}

// admit gives the queue pair a gate and granters, see QPAttr.
func (qp *QueuePair) admit(g cc.Gate, granters ...cc.Granter) error {
	if err := qp.requireState("admission", Reset, Init); err != nil {
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
			return fmt.Errorf("transport: QP %#x: admission: two granters of one kind: %w",
				uint32(qp.Num), ErrInvalid)
		}
	}
	qp.dropAdmission()
	qp.adm = a
	if r := a.granter; r != nil {
		r.Attach(a)
		if alg := r.Algorithm(); alg != nil {
			a.flow, a.controls = qp.ep.addFlow(alg, qp), true
			a.events = qp.ep.cc.Events(a.flow)
			d, _ := qp.ep.cc.Decision(a.flow)
			r.Apply(d, qp.ep.now)
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

// dropAdmission detaches the gate and the granters.
func (qp *QueuePair) dropAdmission() {
	a := qp.adm
	if a == nil {
		return
	}
	a.retire()
	qp.adm, a.detached = nil, true
	a.unblock()
	a.dropTokens()
	a.dropCredits()
}

// dropTokens ends the use of tokens.
func (a *admission) dropTokens() {
	if a.controls {
		a.qp.ep.cc.Remove(a.flow)
	}
	if a.granter != nil {
		a.granter.Attach(nil)
	}
	a.granter, a.controls, a.usesTokens = nil, false, false
}

// agreeAdmission detaches the gates and granters that the peer has not agreed to.
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

// begin starts at RTR; psn is the PSN of the peer's first packet.
func (a *admission) begin(psn wire.PSN) {
	a.rcvMax, a.reported = psn, psn
	a.grants = a.gate != nil && a.gate.Marks()&cc.MarkGrant != 0
}

// hasGranter reports whether the queue pair has a granter of tokens.
func (a *admission) hasGranter() bool { return a != nil && a.granter != nil }

// hasTokens reports whether the gate or the granter uses tokens.
func (a *admission) hasTokens() bool { return a != nil && a.usesTokens }

// hasGrants reports whether packets carry the number of their grant.
func (a *admission) hasGrants() bool { return a.grants }

// isBlocked reports whether the gate blocks a packet.
func (a *admission) isBlocked() bool { return a != nil && a.blocked }

// offer adds the features for tokens and credits to the offer to the peer.
func (a *admission) offer(o *wire.Offer) {
	if a == nil {
		return
	}
	if a.usesTokens {
		o.Features |= wire.FeatureToken
	}
	a.credits.offer(o)
}

// onDecision applies a decision for flow f if f is the granter's. It reports whether it is.
func (a *admission) onDecision(f cc.Flow, now units.Time) bool {
	if a == nil || !a.controls || f != a.flow {
		return false
	}
	a.applyNewDecision(now)
	a.scheduleGranter(now)
	return true
}

// onAckRequested starts to measure a round trip with psn, which leaves and asks for an ACK.
func (a *admission) onAckRequested(psn wire.PSN, now units.Time) {
	if a != nil {
		a.rtt.begin(psn, now)
	}
}

// onResent stops a measurement with psn, which was retransmitted.
func (a *admission) onResent(psn wire.PSN) { a.rtt.cancel(psn) }

// onAcknowledged records that everything before una is acknowledged.
func (a *admission) onAcknowledged(una wire.PSN, now units.Time) {
	if a != nil {
		a.lastPeerActivity = now
		a.rtt.end(una, now)
	}
}

// roundTrip returns the newest measured round-trip time.
func (a *admission) roundTrip() units.Duration { return a.rtt.rtt() }

// Report implements cc.Reporter for the granter.
func (a *admission) Report(ev *cc.Event, now units.Time) {
	if !a.controls || a.detached || !a.events.Has(ev.Kind) {
		return
	}
	ev.Flow = a.flow
	a.qp.ep.cc.Report(ev, now)
	a.applyNewDecision(now)
}

// Reschedule implements cc.Reporter for the granter.
func (a *admission) Reschedule() {
	if !a.detached {
		a.scheduleGranters(a.qp.ep.now)
	}
}

// scheduleGranters schedules the control messages of both granters.
func (a *admission) scheduleGranters(now units.Time) {
	if a.granter != nil {
		a.scheduleGranter(now)
	}
	if a.credits.granter != nil {
		a.scheduleCredits(now)
	}
}

// applyNewDecision passes the newest decision of the granter's congestion control to the granter.
func (a *admission) applyNewDecision(now units.Time) {
	if d, changed := a.qp.ep.cc.Decision(a.flow); changed {
		a.granter.Apply(d, now)
	}
}

// onArrival reports a request of the peer to the granter. It ignores a request with an implausible
// PSN.
func (a *admission) onArrival(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := a.qp
	now, n := qp.ep.now, uint32(1)
	if info.Kind == wire.Read {
		n = qp.packetsFor(min(p.RETH().Len.Get(), maxMessage))
	}
	if !plausible(p.PSN, qp.rcv.expected()) {
		return
	}
	a.onPeerSent(p.PSN, now)
	a.knownLost.remove(p.PSN)
	a.lossReported.remove(p.PSN)
	isNew := !p.PSN.Before(a.rcvMax)
	if end := p.PSN.Add(n); end.After(a.rcvMax) {
		a.rcvMax = end
		if a.deadlines.n == 0 {
			a.reported = end
		}
	}
	if info.Kind != wire.Send && info.Kind != wire.Write {
		a.scheduleGranter(now)
		return
	}
	marks := p.BTH().Marks()
	a.arrival = cc.Arrival{
		Bytes: units.Bytes(p.End - p.PayloadOff), Congested: p.ECN == wire.ECNCE,
		Gap:    qp.ep.arrived.activeGap(),
		Away:   min(qp.ep.arrived.away, qp.ep.arrived.gap),
		Behind: !isNew,
		Again: !isNew && (p.PSN.Before(qp.rcv.expected()) ||
			within(qp.rcv.expected(), p.PSN) && qp.rcv.holds(p.PSN)),
		AfterRTS: !p.PSN.Before(a.rtsPSN),
	}
	if marks&wire.MarkUnscheduled != 0 {
		a.arrival.Set = cc.MarkUnscheduled
	}
	if marks&wire.MarkWantsMore != 0 {
		a.arrival.Set |= cc.MarkWantsMore
	}
	if marks&wire.MarkTokenMarked != 0 {
		a.arrival.Set |= cc.MarkTokenMarked
	}
	if p.Op == wire.XDATA {
		if g := extension.TLVs(p.TLVs()).Grant(); g != nil {
			a.arrival.Set |= cc.MarkGrant
			a.arrival.Grant = g.Seq()
		}
	}
	a.granter.Arrived(&a.arrival, now)
	a.scheduleGranter(now)
}

// setTimer marks the queue pair's timer to be set before the endpoint reads its timers. Each packet
// moves the deadline, so it is enough to set the timer once in a phase of a round.
func (a *admission) setTimer() {
	if !a.timerPending {
		a.timerPending = true
		a.qp.ep.timersToSet = append(a.qp.ep.timersToSet, a)
	}
}

// setTimers sets the timers that setTimer marked.
func (e *Endpoint) setTimers() {
	for i := 0; i < len(e.timersToSet); i++ {
		a := e.timersToSet[i]
		if a.timerPending = false; !a.detached {
			a.qp.setTimer()
		}
	}
	e.timersToSet = e.timersToSet[:0]
}

// scheduleGranter queues a control message of the granter that is due, or sets the timer for the
// next.
func (a *admission) scheduleGranter(now units.Time) {
	if a.queued {
		return // the token pacer has it in a list already
	}
	next := a.granter.Next()
	if next == 0 || !a.qp.isReceiving() {
		return
	}
	if next.After(now) {
		a.setTimer()
		return
	}
	a.qp.ep.tokenPacer.queue(a, now)
}

// earliest returns the earliest of at and the deadlines of the gate and the granters; 0 means
// never. It schedules a gate or granter that is due already.
func (a *admission) earliest(at units.Time) units.Time {
	if a.gate != nil {
		next := a.gate.Next()
		if at = a.earlier(at, next); next != 0 && !next.After(a.qp.ep.now) {
			// the timer that was set for it may not have fired yet, and is about to be replaced
			a.qp.ep.scheduleResponses(a.qp)
		}
	}
	if c := a.credits.granter; c != nil {
		next := c.Next()
		if at = a.earlier(at, next); next != 0 && !next.After(a.qp.ep.now) {
			a.qp.ep.scheduleResponses(a.qp)
		}
	}
	if a.granter != nil && !a.queued {
		next := a.granter.Next()
		if at = a.earlier(at, next); next != 0 && !next.After(a.qp.ep.now) &&
			a.granter.QueueCapacity() == 0 {
			a.scheduleGranter(a.qp.ep.now)
		}
	}
	return a.earlier(at, a.deadlines.next())
}

func (a *admission) earlier(at, next units.Time) units.Time {
	if next != 0 && next.After(a.qp.ep.now) && (at == 0 || next.Before(at)) {
		return next
	}
	return at
}

// onTimer handles what is due of the gate and the granters.
func (a *admission) onTimer(now units.Time) {
	if a.gate != nil && a.qp.state >= ReadyToSend {
		a.qp.adm.scheduleGate()
	}
	if a.granter != nil {
		for psn, ok := a.deadlines.expired(now); ok; psn, ok = a.deadlines.expired(now) {
			a.reportMissingBefore(psn, now)
		}
		a.scheduleGranter(now)
	}
	if a.credits.granter != nil {
		a.credits.next = 0
		a.scheduleCredits(now)
	}
}
