package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Receiver is the receiver's half of counters (section V-B). It grants K bytes for each K bytes
// that arrive, while the sender has demand and the tokens in flight are within the window.
type Receiver struct {
	*plan
	limit               units.Bytes
	used                units.Bytes    // of limit, used by data that arrived or is missing
	discarded           units.Bytes    // of limit, discarded by the sender
	spent               units.Bytes    // spent': used + discarded
	demand              units.Bytes    // what the sender is known to need, since the beginning
	reportedSpent       units.Bytes    // spent of the newest RTS
	unscheduledInFlight units.Bytes    // unscheduled bytes in flight
	window              units.Bytes    // W, on the wire
	pollGap             units.Duration // smoothed time that data waits for this host to poll
	// without volume control: no RTS has reported an empty backlog
	demandOpen bool
	wantsMore  bool // the newest data requests more tokens

	settling settling

	seq       uint16
	ce        uint16 // of the newest RTS
	resendDue bool   // the sender does not know limit: repeat it
	next      units.Time

	backoff     backoff     // of repeated TOKENs: progress is data, or a new RTS
	sampleLimit units.Bytes // limit whose response time is being measured; 0: none is
	sampleAt    units.Time  // when sampleLimit was granted
	stall       stallDetector

	control  tokenControl
	shared   *schedule
	place    place
	stats    Stats
	reporter cc.Reporter
}

func newReceiver(p *plan, a cc.Algorithm, shared *schedule) *Receiver {
	r := &Receiver{plan: p, window: max(p.window, p.kw), shared: shared,
		backoff: newBackoff(p.path.BaseRTT)}
	r.backoff.unlimited = true
	r.control.start(a, p)
	return r
}

// Stats returns the counters.
func (r *Receiver) Stats() Stats { return r.stats }

// Window returns W: how much tokens in flight may release, on the wire.
func (r *Receiver) Window() units.Bytes { return r.window }

// Arrived implements cc.Granter.
func (r *Receiver) Arrived(a *cc.Arrival, now units.Time) {
	r.backoff.progressAt, r.stall = now, stallDetector{}
	before := r.demand
	r.pollGap += (a.Gap - r.pollGap) / 8
	r.settling.onArrival(a, now)
	if !a.Again { // a duplicate was counted on its first arrival
		r.onArrival(a)
		r.control.onArrival(r, a, now)
	}
	r.update(before, now)
}

func (r *Receiver) onArrival(a *cc.Arrival) {
	if a.Set&cc.MarkUnscheduled != 0 {
		r.unscheduledInFlight = max(0, r.unscheduledInFlight-a.Bytes)
		r.stats.Unscheduled += a.Bytes
	} else {
		r.unscheduledInFlight = 0 // unscheduled packets were sent before
		r.setUsed(r.used + a.Bytes)
	}
	if a.Set&cc.MarkTokenMarked != 0 {
		r.ce++
	}
	if a.Behind {
		return // its report of demand is outdated
	}
	if r.wantsMore = a.Set&cc.MarkWantsMore != 0; r.wantsMore {
		r.demand = max(r.demand, r.spent+r.minWanted(a.Bytes, a.Set))
	}
}

// Missing implements cc.Granter: lost data needs tokens again.
func (r *Receiver) Missing(_ int, bytes units.Bytes, now units.Time) {
	before := r.demand
	r.demand += bytes
	r.settling.onMissing(bytes)
	unscheduled := min(r.unscheduledInFlight, bytes)
	r.unscheduledInFlight -= unscheduled
	r.setUsed(r.used + bytes - unscheduled)
	r.control.dropSpent(r)
	r.update(before, now)
}

// setUsed sets how many bytes of tokens were used.
func (r *Receiver) setUsed(seen units.Bytes) {
	r.used = min(seen, r.limit-r.discarded)
	r.spent = r.used + r.discarded
}

// Consumed implements cc.Granter.
func (*Receiver) Consumed(units.Bytes, units.Time) {}

// Receive implements cc.Granter.
func (r *Receiver) Receive(n *cc.ControlMessage, now units.Time) error {
	spent := unwrap32(r.limit, n.Spent)
	needs := units.Bytes(int32(n.Demand - n.Spent))
	waste := unwrap24(r.discarded, n.Discarded)
	switch {
	case n.Kind != cc.RTS:
		return errNoRTS
	case spent > r.limit:
		return errSpent
	case needs < 0:
		return errDemand
	case waste > spent:
		return errDiscarded
	}
	if n.Flags&cc.FlagRepeat == 0 {
		r.backoff.progressAt = now
	}
	r.wantsMore = false
	before := r.demand
	r.demand = max(r.demand, spent+needs)
	if n.Flags&cc.FlagUnscheduled != 0 && n.Flags&cc.FlagRepeat == 0 {
		r.unscheduledInFlight = r.unsch
	}
	if spent >= r.reportedSpent && waste >= r.discarded {
		if waste > r.discarded {
			r.stall.onDiscard(r.backoff.floor, now)
		}
		r.reportedSpent, r.discarded = spent, waste
		r.demandOpen = n.Flags&cc.FlagEnd == 0
		if n.Flags&cc.FlagRepeat != 0 { // nothing is in flight
			r.used, r.unscheduledInFlight = spent-waste, 0
			r.settling = settling{}
			r.backoff.ambiguous = true
			// a sender that replies has received a TOKEN
			r.resendDue = n.Flags&cc.FlagReply == 0 && (spent < r.limit || r.demandOpen)
		}
		r.setUsed(r.used)
		if n.Flags&cc.FlagAgain != 0 {
			r.settling.begin(spent-waste, max(r.backoff.floor, r.backoff.responseTime), now)
		}
		r.control.dropSpent(r)
	}
	if news := int16(n.CE - r.ce); news > 0 {
		r.ce = n.CE
		r.control.onMark(r, int(news), now)
	}
	if n.Flags&cc.FlagReply != 0 {
		r.control.onProbeReply(r, n.Seq, now)
	}
	r.update(before, now)
	return nil
}

// grantable returns how much may still be granted; without volume control, as much as arrives.
func (r *Receiver) grantable() units.Bytes {
	if !r.volume && r.demandOpen {
		return max(r.demand-r.limit, r.k)
	}
	return r.demand - r.limit
}

// hasRoom reports whether tokens and unscheduled packets in flight leave room in the window.
func (r *Receiver) hasRoom() bool {
	return (r.limit-r.spent+r.unscheduledInFlight)*r.kw < (r.window-r.reserve()+r.pollBytes())*r.k
}

// reserve returns how much of the window must be free beyond a token before one is sent. Where the
// line rate is a guess, no link dictates a spacing of tokens, and one TOKEN grants maxExtraTokens
// more packets. The reserve is at most a quarter of the window, so that the rest keeps the sender
// busy. OURS.
func (r *Receiver) reserve() units.Bytes {
	if !r.path.Guessed || r.generation != "data" {
		return 0
	}
	return min(maxExtraTokens*r.kw, r.window/4)
}

// pollBytes returns what the link carries while data and tokens wait for hosts to poll, in addition
// to the window, which covers the fabric. How long tokens wait at the sender is unknown and assumed
// to be as long as data waits here. pollBytes is 0 where ports have time stamps, and where the line
// rate is a guess, since the window is several BDPs then (guessedBDP). OURS.
func (r *Receiver) pollBytes() units.Bytes {
	if r.pollGap == 0 || r.path.Guessed {
		return 0
	}
	return min(r.path.LineRate.Bytes(2*r.pollGap), r.maxWindow-r.window)
}

// hasWholeToken reports whether a token would release K bytes, or is the last one for now. While
// the sender requests more tokens, the next data reports the demand.
func (r *Receiver) hasWholeToken() bool {
	wants := r.grantable()
	return wants >= r.k || wants > 0 && (!r.wantsMore || r.limit == r.spent)
}

// canGrant reports whether a token may be sent.
func (r *Receiver) canGrant() bool {
	return r.hasWholeToken() && r.hasRoom() && !r.control.hold &&
		(r.overcommit == 0 || r.place.rank == inTop)
}

// earliestGrant returns when an admitted token may be sent.
func (r *Receiver) earliestGrant(now units.Time) units.Time {
	return max(r.control.earliestToken(now), r.stall.until)
}

// expectsData reports whether data or an RTS of the sender is outstanding.
func (r *Receiver) expectsData() bool {
	return r.limit > r.spent || r.unscheduledInFlight > 0 && r.grantable() > 0
}

// resendAt returns when to reply to a sender that repeats its RTS: a recent TOKEN may still be on
// its way.
func (r *Receiver) resendAt(now units.Time) units.Time {
	wait := max(r.backoff.floor, r.backoff.responseTime)
	if r.limit == r.spent { // the reply carries no tokens
		wait = probeTimeout
	}
	if at := r.backoff.sentAt.Add(wait); at.After(now) {
		return nonZero(at)
	}
	return nonZero(now)
}

// update computes when the next TOKEN is due.
func (r *Receiver) update(before units.Bytes, now units.Time) {
	if used, ok := r.settling.end(r.used, now); ok && used != r.used {
		r.setUsed(used)
		r.control.dropSpent(r)
	}
	if r.overcommit > 0 {
		r.shared.update(r, now)
	}
	r.control.onPosted(r, before, now)
	if r.sampleLimit > 0 && r.spent >= r.sampleLimit {
		r.backoff.addSample(now.Sub(r.sampleAt))
		r.sampleLimit = 0
	}
	r.schedule(now)
}

func (r *Receiver) schedule(now units.Time) {
	r.next = r.control.nextTimer()
	if r.resendDue {
		r.next = earlier(r.next, r.resendAt(now))
	}
	if r.canGrant() {
		r.next = earlier(r.next, r.earliestGrant(now))
	}
	if r.expectsData() {
		r.next = earlier(r.next, r.backoff.deadline())
	}
}

// Next implements cc.Granter.
func (r *Receiver) Next() units.Time { return r.next }

// Emit implements cc.Granter.
func (r *Receiver) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	n := cc.ControlMessage{Kind: cc.TOKEN, TrafficClass: r.tokenClass, Classed: true,
		Missing: incomplete}
	before := r.demand
	r.control.expireProbe(r, now)
	switch {
	case r.control.isProbeDue(now):
		n.Flags = cc.FlagQuery
		r.control.onProbeSent(r.seq+1, now)
	case r.canGrant() && !r.earliestGrant(now).After(now):
		r.grant(&n, now)
	case r.resendDue && !r.resendAt(now).After(now):
		r.backoff.ambiguous = true
	case r.expectsData() && !r.backoff.deadline().After(now):
		n.Flags = cc.FlagRepeat
		r.unscheduledInFlight = 0
		r.backoff.onRepeat()
		r.stats.Repeats++
		r.control.forgetTimes()
		if r.limit == r.spent { // only unscheduled packets were overdue: there is nothing to repeat
			r.backoff.sentAt = now
			r.update(before, now)
			return cc.ControlMessage{}, false
		}
	default:
		r.schedule(now)
		return cc.ControlMessage{}, false
	}
	r.resendDue = false
	r.backoff.sentAt = now
	r.seq++
	n.Limit, n.Seq = uint32(r.limit), r.seq
	r.stats.Messages++
	r.update(before, now)
	return n, true
}

// maxExtraTokens is the maximum number of tokens in a TOKEN beside the first one.
const maxExtraTokens = 15

// extraTokens returns how many tokens a TOKEN grants beside the first one: those that this host
// would have sent since its last poll if it had polled all the time. One TOKEN for each would cost
// as much as the data. It is 0 where ports have time stamps, and as many as there is room for where
// the line rate is a guess. OURS.
func (r *Receiver) extraTokens() units.Bytes {
	if r.generation != "data" || r.pollGap == 0 && !r.path.Guessed {
		return 0
	}
	tokens := r.path.LineRate.Bytes(r.pollGap) / r.kw
	if r.path.Guessed {
		tokens = maxExtraTokens
	}
	room := ((r.window+r.pollBytes())*r.k - (r.limit-r.spent+r.unscheduledInFlight)*r.kw) /
		(r.kw * r.k)
	return max(0, min(tokens, room, r.grantable()/r.k-1, maxExtraTokens))
}

// grant grants one token, or several.
func (r *Receiver) grant(n *cc.ControlMessage, now units.Time) {
	bytes := min(r.k, r.grantable())
	wire := r.kw
	switch more := r.extraTokens(); {
	case bytes < r.k:
		wire = r.wire(bytes)
	case more > 0:
		bytes += more * r.k
		wire += more * r.kw
	}
	r.limit += bytes
	if r.sampleLimit == 0 {
		r.sampleLimit, r.sampleAt = r.limit, now
	}
	r.demand = max(r.demand, r.limit)
	n.Releases = r.spacing(wire)
	n.Priority = uint8(r.Rank())
	r.stats.Granted += bytes
	r.stats.Wire += wire
	r.control.onGrant(r, bytes, wire, now)
}

// Rank implements cc.Granter.
func (r *Receiver) Rank() int {
	if r.overcommit > 0 {
		return r.shared.level(r)
	}
	return r.priority
}

// QueueCapacity implements cc.Granter.
func (*Receiver) QueueCapacity() int { return 0 }

// Algorithm implements cc.Granter.
func (r *Receiver) Algorithm() cc.Algorithm { return r.control.algorithm }

// Attach implements cc.Granter. At the end of the connection other receivers take its place.
func (r *Receiver) Attach(d cc.Reporter) {
	if r.reporter = d; d == nil && r.overcommit > 0 {
		r.shared.remove(r)
		r.shared.fill(r, 0) // at once
	}
}

// Apply implements cc.Granter.
func (r *Receiver) Apply(d cc.Decision, now units.Time) {
	r.control.apply(r, d, now)
	r.schedule(now)
}
