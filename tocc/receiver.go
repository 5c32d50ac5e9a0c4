package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Receiver is the receiver's half of counters (section V-B): it grants K bytes for K bytes that
// came, while the sender demands them and tokens under way are within the window.
type Receiver struct {
	*plan
	limit  units.Bytes    // granted since the connection began
	seen   units.Bytes    // of it, used by data that came or is missing
	waste  units.Bytes    // of it, discarded by the sender
	spent  units.Bytes    // spent': the two together
	demand units.Bytes    // what the sender is known to need, in all
	told   units.Bytes    // spent of the newest RTS
	unseen units.Bytes    // unscheduled bytes that are under way
	window units.Bytes    // W, on the wire
	gap    units.Duration // smoothed: how long data waits for this host to poll
	open   bool           // without volume control: the sender has not said that it is done
	more   bool           // the newest data asks for more

	seq    uint16
	ce     uint16 // of the newest RTS
	retell bool   // the sender does not know limit
	next   units.Time

	patience patience    // until a TOKEN is said again: progress is data, or an RTS with news
	timed    units.Bytes // the limit whose loop is measured; 0 none is
	timedAt  units.Time  // when it was granted
	stall    stallDetector

	control control
	shared  *schedule
	place   place
	tally   Tally
	drive   cc.Reporter
}

func newReceiver(p *plan, a cc.Algorithm, shared *schedule) *Receiver {
	r := &Receiver{plan: p, window: max(p.window, p.kw), shared: shared,
		patience: newPatience(p.path.BaseRTT)}
	r.patience.fades = true
	r.control.start(a, p)
	return r
}

// Tally answers the counters.
func (r *Receiver) Tally() Tally { return r.tally }

// Window is W: how much tokens under way may release, on the wire.
func (r *Receiver) Window() units.Bytes { return r.window }

// Arrived implements cc.Granter.
func (r *Receiver) Arrived(a *cc.Arrival, now units.Time) {
	r.patience.from, r.stall = now, stallDetector{}
	before := r.demand
	r.gap += (a.Gap - r.gap) / 8
	if !a.Again { // else it counted when it came first
		r.arrived(a)
		r.control.arrived(r, a, now)
	}
	r.settle(before, now)
}

func (r *Receiver) arrived(a *cc.Arrival) {
	if a.Set&cc.MarkUnscheduled != 0 {
		r.unseen = max(0, r.unseen-a.Bytes)
		r.tally.Unscheduled += a.Bytes
	} else {
		r.unseen = 0 // they left before
		r.used(r.seen + a.Bytes)
	}
	if a.Set&cc.MarkTokenMarked != 0 {
		r.ce++
	}
	if a.Behind {
		return // what it says of demand is old
	}
	if r.more = a.Set&cc.MarkWantsMore != 0; r.more {
		r.demand = max(r.demand, r.spent+r.wanted(a.Bytes, a.Set))
	}
}

// Missing implements cc.Granter: what was lost needs tokens again.
func (r *Receiver) Missing(_ int, bytes units.Bytes, now units.Time) {
	before := r.demand
	r.demand += bytes
	unscheduled := min(r.unseen, bytes)
	r.unseen -= unscheduled
	r.used(r.seen + bytes - unscheduled)
	r.control.skipped(r)
	r.settle(before, now)
}

// used records that so many bytes of tokens were used.
func (r *Receiver) used(seen units.Bytes) {
	r.seen = min(seen, r.limit-r.waste)
	r.spent = r.seen + r.waste
}

// Consumed implements cc.Granter.
func (*Receiver) Consumed(units.Bytes, units.Time) {}

// Receive implements cc.Granter.
func (r *Receiver) Receive(n *cc.ControlMessage, now units.Time) error {
	spent := near(r.limit, n.Spent)
	needs := units.Bytes(int32(n.Demand - n.Spent))
	waste := near24(r.waste, n.Discarded)
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
		r.patience.from = now
	}
	r.more = false
	before := r.demand
	r.demand = max(r.demand, spent+needs)
	if n.Flags&cc.FlagUnscheduled != 0 && n.Flags&cc.FlagRepeat == 0 {
		r.unseen = r.unsch
	}
	if spent >= r.told && waste >= r.waste {
		if waste > r.waste {
			r.stall.discarded(r.patience.least, now)
		}
		r.told, r.waste = spent, waste
		r.open = n.Flags&cc.FlagEnd == 0
		if n.Flags&cc.FlagRepeat != 0 { // nothing is under way
			r.seen, r.unseen = spent-waste, 0
			r.patience.doubt = true
			// who answers has heard of us
			r.retell = n.Flags&cc.FlagReply == 0 && (spent < r.limit || r.open)
		}
		r.used(r.seen)
		r.control.skipped(r)
	}
	if news := int16(n.CE - r.ce); news > 0 {
		r.ce = n.CE
		r.control.congested(r, int(news), now)
	}
	if n.Flags&cc.FlagReply != 0 {
		r.control.answered(r, n.Seq, now)
	}
	r.settle(before, now)
	return nil
}

// wants returns how much may still be granted; without volume control, as much as arrives.
func (r *Receiver) wants() units.Bytes {
	if !r.volume && r.open {
		return max(r.demand-r.limit, r.k)
	}
	return r.demand - r.limit
}

// room reports whether tokens and unscheduled packets in flight leave room in the window.
func (r *Receiver) room() bool {
	return (r.limit-r.spent+r.unseen)*r.kw < (r.window-r.held()+r.waits())*r.k
}

// held is how much of the window is to be free beyond a token before one goes: where the line rate
// is a guess, there is no link whose spacing tokens would keep, and those for mostLate more packets
// go in the same TOKEN. It is a quarter of the window at most, so that the rest keeps the sender
// busy. OURS.
func (r *Receiver) held() units.Bytes {
	if !r.path.Guessed || r.generation != "data" {
		return 0
	}
	return min(mostLate*r.kw, r.window/4)
}

// waits is what the link carries while data and tokens wait for hosts to poll, beside the window,
// which is of the fabric. How long tokens wait at the sender nobody tells: as long as data does
// here. It is 0 where ports have time stamps, and where the line rate is a guess: the window is
// several BDPs then (guessedBDP). OURS.
func (r *Receiver) waits() units.Bytes {
	if r.gap == 0 || r.path.Guessed {
		return 0
	}
	return min(r.path.LineRate.Bytes(2*r.gap), r.most-r.window)
}

// whole reports whether a token would release all it can, or is the last for now. While the sender
// asks for more, the next data reports the demand.
func (r *Receiver) whole() bool {
	wants := r.wants()
	return wants >= r.k || wants > 0 && (!r.more || r.limit == r.spent)
}

// grants reports whether a token may be sent.
func (r *Receiver) grants() bool {
	return r.whole() && r.room() && !r.control.hold && (r.overcommit == 0 || r.place.where == inTop)
}

// from returns when an admitted token may be sent.
func (r *Receiver) from(now units.Time) units.Time { return max(r.control.from(now), r.stall.over) }

// waiting reports whether the receiver expects data or an RTS from the sender.
func (r *Receiver) waiting() bool { return r.limit > r.spent || r.unseen > 0 && r.wants() > 0 }

// retellAt is when to answer a sender that repeats itself: what was said of late is still on its
// way.
func (r *Receiver) retellAt(now units.Time) units.Time {
	wait := max(r.patience.least, r.patience.loop)
	if r.limit == r.spent { // that we are here is news enough
		wait = answerPatience
	}
	if at := r.patience.said.Add(wait); at.After(now) {
		return moment(at)
	}
	return moment(now)
}

// settle computes when the next TOKEN is due.
func (r *Receiver) settle(before units.Bytes, now units.Time) {
	if r.overcommit > 0 {
		r.shared.update(r, now)
	}
	r.control.posted(r, before, now)
	if r.timed > 0 && r.spent >= r.timed {
		r.patience.timed(now.Sub(r.timedAt))
		r.timed = 0
	}
	r.schedule(now)
}

func (r *Receiver) schedule(now units.Time) {
	r.next = r.control.timer()
	if r.retell {
		r.next = sooner(r.next, r.retellAt(now))
	}
	if r.grants() {
		r.next = sooner(r.next, r.from(now))
	}
	if r.waiting() {
		r.next = sooner(r.next, r.patience.until())
	}
}

// Next implements cc.Granter.
func (r *Receiver) Next() units.Time { return r.next }

// Emit implements cc.Granter.
func (r *Receiver) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	n := cc.ControlMessage{Kind: cc.TOKEN, TrafficClass: r.tokenClass, Classed: true,
		Missing: incomplete}
	before := r.demand
	r.control.lapse(r, now)
	switch {
	case r.control.probes(now):
		n.Flags = cc.FlagQuery
		r.control.asked(r.seq+1, now)
	case r.grants() && !r.from(now).After(now):
		r.grant(&n, now)
	case r.retell && !r.retellAt(now).After(now):
		r.patience.doubt = true
	case r.waiting() && !r.patience.until().After(now):
		n.Flags = cc.FlagRepeat
		r.unseen = 0
		r.patience.repeated()
		r.tally.Repeats++
		r.control.repeated()
		if r.limit == r.spent { // it was about unscheduled packets, and there is nothing to repeat
			r.patience.said = now
			r.settle(before, now)
			return cc.ControlMessage{}, false
		}
	default:
		r.schedule(now)
		return cc.ControlMessage{}, false
	}
	r.retell = false
	r.patience.said = now
	r.seq++
	n.Limit, n.Seq = uint32(r.limit), r.seq
	r.tally.Notices++
	r.settle(before, now)
	return n, true
}

// mostLate is how many tokens a TOKEN may stand for beside its own.
const mostLate = 15

// late is how many tokens more than one a TOKEN grants: those that a host would have sent since it
// last polled, had it polled all the time. One TOKEN for each would cost it as much as the data. It
// is 0 where ports have time stamps, and as many as there is room for where the line rate is a
// guess. OURS.
func (r *Receiver) late() units.Bytes {
	if r.generation != "data" || r.gap == 0 && !r.path.Guessed {
		return 0
	}
	tokens := r.path.LineRate.Bytes(r.gap) / r.kw
	if r.path.Guessed {
		tokens = mostLate
	}
	room := ((r.window+r.waits())*r.k - (r.limit-r.spent+r.unseen)*r.kw) / (r.kw * r.k)
	return max(0, min(tokens, room, r.wants()/r.k-1, mostLate))
}

// grant lets one token go, or several.
func (r *Receiver) grant(n *cc.ControlMessage, now units.Time) {
	bytes := min(r.k, r.wants())
	wire := r.kw
	switch more := r.late(); {
	case bytes < r.k:
		wire = r.wire(bytes)
	case more > 0:
		bytes += more * r.k
		wire += more * r.kw
	}
	r.limit += bytes
	if r.timed == 0 {
		r.timed, r.timedAt = r.limit, now
	}
	r.demand = max(r.demand, r.limit)
	n.Releases = r.spacing(wire)
	n.Priority = uint8(r.Rank())
	r.tally.Granted += bytes
	r.tally.Wire += wire
	r.control.granted(r, bytes, wire, now)
}

// Rank implements cc.Granter.
func (r *Receiver) Rank() int {
	if r.overcommit > 0 {
		return r.shared.level(r)
	}
	return r.priority
}

// Queue implements cc.Granter.
func (*Receiver) Queue() int { return 0 }

// Algorithm implements cc.Granter.
func (r *Receiver) Algorithm() cc.Algorithm { return r.control.algorithm }

// Attach implements cc.Granter. At the end others have its turn.
func (r *Receiver) Attach(d cc.Reporter) {
	if r.drive = d; d == nil && r.overcommit > 0 {
		r.shared.remove(r)
		r.shared.fill(r, 0) // at once
	}
}

// Apply implements cc.Granter.
func (r *Receiver) Apply(d cc.Decision, now units.Time) {
	r.control.decided(r, d, now)
	r.schedule(now)
}
