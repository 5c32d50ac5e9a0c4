package transport

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// admission is a queue pair's part in receiver-driven control (cc.Gate, cc.Granter): the gate of
// what it sends, the granters of what it receives. A queue pair without costs nothing.
type admission struct {
	qp      *QueuePair
	gate    cc.Gate
	granter cc.Granter // of tokens
	tokens  bool       // the gate or the granter speaks of tokens
	credits credits

	flow     cc.Flow // of the granter's congestion control, where it has one
	controls bool
	wants    cc.EventSet

	out    cc.Outgoing // the packet at hand
	marks  cc.Marks    // and what is on it
	in     cc.Arrival
	notice cc.Notice // the one that came

	seen   wire.PSN  // one past the newest packet that the peer is known to have sent
	told   wire.PSN  // the granter knows what is missing before it
	waits  waits     // and what may yet come of the others
	cut    psnSet    // of the peer's packets only the headers came, or there was no room for them
	listed psnSet    // of those: which a TOKEN has listed
	round  roundTrip // of what the gate lets leave
	passed wire.PSN  // the oldest packet when lists passed over it, and how many did
	passes uint8
	stuck  stuck      // on what the peer lists
	grants bool       // packets say by which grant they left
	shut   bool       // the gate kept a packet when nothing else could open it
	shutAt units.Time // when that began
	heard  units.Time // the same, or when the peer last said something
	waited AdmissionStats

	reads     uint32      // READs and atomics that are posted and have not completed
	readBytes units.Bytes // that they ask for
	reading   units.Bytes // of them, what is in flight

	next   *admission // behind it in the list of those with tokens to send
	since  units.Time // it has been there
	queued bool
	timing bool // the queue pair's timer is to be set before the endpoint looks at timers
	gone   bool // its queue pair has no part in it any more
}

// Admit gives a queue pair a gate for what it sends (nil for none; cc.AllOf makes one of several),
// and granters for what it receives: at most one of tokens, and one of credits. That is before RTR;
// the peer must agree to it (wire.FeatureToken, wire.FeatureCredit), or the queue pair goes on
// without what the peer does not know.
func (qp *QueuePair) Admit(g cc.Gate, granters ...cc.Granter) error {
	if err := qp.want("admission", Reset, Init); err != nil {
		return err
	}
	if qp.Type != RC {
		return fmt.Errorf("transport: QP %#x: admission is for reliable connections, not %v: %w",
			uint32(qp.Num), qp.Type, ErrUnsupported)
	}
	a := &admission{qp: qp, gate: g}
	for _, part := range cc.Parts(g) {
		if c, ok := part.(cc.CreditGate); ok {
			a.credits.gate = c
		} else {
			a.tokens = true
		}
	}
	for _, r := range granters {
		switch c, ok := r.(cc.CreditGranter); {
		case r == nil:
		case ok && a.credits.granter == nil:
			a.credits.granter = c
		case !ok && a.granter == nil:
			a.granter, a.tokens = r, true
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

// Admitted says whether the queue pair has a gate or a granter: not when its peer did not agree,
// nor in ERR.
func (qp *QueuePair) Admitted() bool { return qp.adm != nil }

// dropAdmission ends it.
func (qp *QueuePair) dropAdmission() {
	a := qp.adm
	if a == nil {
		return
	}
	qp.adm, a.gone = nil, true
	a.opens()
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
	a.granter, a.controls, a.tokens = nil, false, false
}

// agreeAdmission leaves of a queue pair's admission what the peer agreed to.
func (qp *QueuePair) agreeAdmission(x *wire.Agreement) {
	a := qp.adm
	if a == nil {
		return
	}
	if a.tokens && x.Features&wire.FeatureToken == 0 {
		a.dropTokens()
	}
	a.agreeCredits(x)
	var parts []cc.Gate
	for _, part := range cc.Parts(a.gate) {
		if c, ok := part.(cc.CreditGate); ok && a.credits.gate == c || !ok && a.tokens {
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

// Report implements cc.Reporter for the granter.
func (a *admission) Report(ev *cc.Event, now units.Time) {
	if !a.controls || a.gone || !a.wants.Has(ev.Kind) {
		return
	}
	ev.Flow = a.flow
	a.qp.ep.cc.Report(ev, now)
	a.heed(now)
}

// Ask implements cc.Reporter for the granter.
func (a *admission) Ask() {
	if !a.gone {
		a.heedGranters(a.qp.ep.now)
	}
}

// heedGranters sees to it that both granters say what they have to say.
func (a *admission) heedGranters(now units.Time) {
	if a.granter != nil {
		a.heedGranter(now)
	}
	if a.credits.granter != nil {
		a.heedCredits(now)
	}
}

// heed takes over the newest decision about what is granted.
func (a *admission) heed(now units.Time) {
	if d, changed := a.qp.ep.cc.Decision(a.flow); changed {
		a.granter.Decide(d, now)
	}
}

// backlog returns what the queue pair has in hand, less READs and atomics, which nobody admits. It
// takes as long however much that is: a gate is told with each message that is posted and each
// packet that leaves.
func (qp *QueuePair) backlog() cc.Backlog {
	r := &qp.req
	waits := qp.left() - r.inFlight
	if r.recovery != nil {
		waits -= r.recovery.behind
	}
	if qp.adm.reads > 0 {
		waits -= qp.toRead()
	}
	return cc.Backlog{Waits: max(0, waits), InFlight: r.inFlight - qp.adm.reading}
}

// asks notes that READs and atomics have size bytes more in flight, or less.
func (a *admission) asks(size units.Bytes) {
	if a != nil {
		a.reading = max(0, a.reading+size)
	}
}

// asksNothing notes that nothing of them is in flight any more.
func (a *admission) asksNothing() {
	if a != nil {
		a.reading = 0
	}
}

// toRead returns what READs and atomics are still to ask for, or to ask for again.
func (qp *QueuePair) toRead() units.Bytes {
	r := &qp.req
	left := qp.adm.readBytes - qp.adm.reading
	if r.done != r.begun {
		if w := &qp.send[r.done&r.mask]; w.op.answered() {
			left -= qp.span(w, 0, uint32(r.una.Sub(w.first)))
		}
	}
	if r.recovery != nil {
		left -= r.recovery.read
	}
	return left
}

// admits says whether the gate lets packet k of a SEND or WRITE leave.
func (qp *QueuePair) admits(w *sendWQE, k uint32, again bool, now units.Time) bool {
	a := qp.adm
	if a == nil || a.gate == nil {
		return true
	}
	a.out = cc.Outgoing{Bytes: qp.span(w, k, k+1), Again: again, Completes: w.op.completes(),
		Backlog: qp.backlog()}
	if k == 0 {
		a.out.Message = units.Bytes(w.length)
	}
	if a.gate.Ready(&a.out, now) {
		return true
	}
	if !a.shut {
		a.shut, a.shutAt, a.heard = true, now, now
		a.waited.Blocked++
		qp.ep.counters.Blocked++
	}
	if qp.req.rtoAt == 0 {
		qp.startTimer(now)
	}
	qp.heedGate() // it may have noted that it said no
	return false
}

// admitsNext says whether the gate lets the next packet of w leave, the SEND or WRITE whose turn it
// is: for the first time, or since the queue pair went back.
func (qp *QueuePair) admitsNext(w *sendWQE, now units.Time) bool {
	r := &qp.req
	return qp.admits(w, r.packet, r.sndNxt.Before(r.sndMax), now)
}

// admitsLost says whether the gate lets the oldest lost packet leave, of which there is one.
func (qp *QueuePair) admitsLost(now units.Time) bool {
	if qp.adm == nil {
		return true
	}
	psn, _ := qp.req.recovery.lost.next(qp.req.una)
	w := &qp.send[qp.locate(psn)&qp.req.mask]
	return w.op.answered() || qp.admits(w, uint32(psn.Sub(w.first)), true, now)
}

// grantTLVs is how much longer a packet is that says by which token it left.
const grantTLVs = wire.XCHLen + wire.InnerLen + wire.GrantLen

// openGrant begins an XDATA that says by which token it leaves, with op in it. It answers how long
// that beginning is.
func (a *admission) openGrant(frame []byte, op wire.Opcode) int {
	wire.XCH(frame).Set(a.qp.sendTag, wire.GrantLen)
	wire.SetInner(frame[wire.XCHLen:], op)
	wire.Grant(frame[wire.XCHLen+wire.InnerLen:][:wire.GrantLen]).Set(a.marks.Grant)
	return grantTLVs
}

// took tells the gate that the packet it was just asked about leaves. It answers the marks of its
// BTH.
func (a *admission) took(now units.Time) (f wire.Flags) {
	// or the timer is the oldest's, whatever else tokens let go
	if a.opens() && a.qp.oldestWaits() {
		a.qp.startTimer(now) // it ran for the peer to say something
	}
	a.marks = a.gate.Took(&a.out, now)
	a.qp.heedGate() // what had to go before it speaks may have gone
	f = wire.MarkUnscheduled.When(a.marks.Set&cc.MarkUnscheduled != 0)
	f |= wire.MarkWantsMore.When(a.marks.Set&cc.MarkWantsMore != 0)
	return f | wire.MarkTokenMarked.When(a.marks.Set&cc.MarkTokenMarked != 0)
}

// lost tells the gate that what had left waits again.
func (qp *QueuePair) tellLost(bytes units.Bytes) {
	if a := qp.adm; a != nil && a.gate != nil && bytes > 0 {
		a.gate.Lost(bytes, qp.backlog(), qp.ep.now)
		qp.heedGate()
	}
}

// posted tells the gate of a message.
func (a *admission) posted(w *sendWQE) {
	switch qp := a.qp; {
	case w.op.answered():
		a.reads++
		a.readBytes += units.Bytes(w.length)
	case a.gate != nil:
		a.gate.Posted(units.Bytes(w.length), qp.backlog(), qp.ep.now)
		qp.heedGate()
	}
}

// completed notes the end of a request; one that was refused when it was posted has no packets.
func (a *admission) completed(w *sendWQE) {
	if w.op.answered() && w.packets > 0 {
		a.reads--
		a.readBytes -= units.Bytes(w.length)
	}
}

// heedGate sees to it that the gate says what it has to say.
func (qp *QueuePair) heedGate() {
	switch next := qp.adm.gate.Next(); {
	case next == 0:
	case next.After(qp.ep.now):
		qp.adm.setTimer()
	default:
		qp.ep.gateSpeaks = true
		qp.ep.owe(qp)
	}
}

// gateSpeaks says whether the gate has something to say now.
func (qp *QueuePair) gateSpeaks() bool {
	a := qp.adm
	if a == nil || a.gate == nil || qp.state != ReadyToSend && qp.state != SQDrained {
		return false
	}
	next := a.gate.Next()
	return next != 0 && !next.After(qp.ep.now)
}

// arrives tells the granter of a request of the peer's. One with a PSN that no honest peer has got
// to says nothing.
func (a *admission) arrives(p *wire.Packet, info *wire.OpcodeInfo) {
	qp := a.qp
	now, n := qp.ep.now, uint32(1)
	if info.Kind == wire.Read {
		n = qp.packetsFor(min(p.RETH().Len(), MaxMessage))
	}
	if !plausible(p.PSN, qp.resp.ePSN) {
		return
	}
	a.see(p.PSN, now)
	a.cut.remove(p.PSN)
	a.listed.remove(p.PSN)
	fresh := !p.PSN.Before(a.seen)
	if end := p.PSN.Add(n); end.After(a.seen) {
		a.seen = end
		if a.waits.n == 0 {
			a.told = end
		}
	}
	if info.Kind != wire.Send && info.Kind != wire.Write {
		a.heedGranter(now)
		return
	}
	marks := p.BTH().Marks()
	a.in = cc.Arrival{
		Bytes: units.Bytes(p.End - p.PayloadOff), Congested: p.ECN == wire.ECNCE,
		Gap:    qp.ep.arrived.worked(),
		Away:   min(qp.ep.arrived.away, qp.ep.arrived.gap),
		Behind: !fresh,
		Again: !fresh && (p.PSN.Before(qp.resp.ePSN) || qp.resp.ahead != nil &&
			within(qp.resp.ePSN, p.PSN) && qp.resp.ahead.here.has(p.PSN)),
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
	a.heedGranter(now)
}

// setTimer has the queue pair's timer set before the endpoint looks at timers. Each packet moves
// what it waits for: to set it once in a phase of a round is enough.
func (a *admission) setTimer() {
	if !a.timing {
		a.timing = true
		a.qp.ep.timing = append(a.qp.ep.timing, a)
	}
}

// setTimers sets the timers that were put off.
func (e *Endpoint) setTimers() {
	for i := 0; i < len(e.timing); i++ {
		a := e.timing[i]
		if a.timing = false; !a.gone {
			a.qp.setTimer()
		}
	}
	e.timing = e.timing[:0]
}

// heedGranter sees to it that the granter says what it has to say.
func (a *admission) heedGranter(now units.Time) {
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
	a.qp.ep.tokens.queue(a, now)
}

// earliest answers at, or when the gate or the granter wants a look, if that is earlier; 0 is
// never. What is due has its turn.
func (a *admission) earliest(at units.Time) units.Time {
	if a.gate != nil {
		next := a.gate.Next()
		if at = a.sooner(at, next); next != 0 && !next.After(a.qp.ep.now) {
			// the timer that was set for it may not have fired yet, and is set anew
			a.qp.ep.owe(a.qp)
		}
	}
	if c := a.credits.granter; c != nil {
		next := c.Next()
		if at = a.sooner(at, next); next != 0 && !next.After(a.qp.ep.now) {
			a.qp.ep.owe(a.qp)
		}
	}
	if a.granter != nil && !a.queued {
		next := a.granter.Next()
		if at = a.sooner(at, next); next != 0 && !next.After(a.qp.ep.now) &&
			a.granter.Queue() == 0 {
			a.heedGranter(a.qp.ep.now)
		}
	}
	return a.sooner(at, a.waits.next())
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
		a.qp.heedGate()
	}
	if a.granter != nil {
		for before, some := a.waits.over(now); some; before, some = a.waits.over(now) {
			a.tell(before, now)
		}
		a.heedGranter(now)
	}
	if a.credits.granter != nil {
		a.credits.next = 0
		a.heedCredits(now)
	}
}

// gateKinds is how many kinds of Notices a gate may have to say at once: of tokens and of credits.
const gateKinds = 2
