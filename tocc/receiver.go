package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Receiver is the receiver's half of counters (section V-B): it grants K bytes for K bytes that came, while the
// sender demands them and tokens under way are within the window.
type Receiver struct {
	*plan
	limit  units.Bytes // granted since the connection began
	seen   units.Bytes // of it, used by data that came or is missing
	waste  units.Bytes // of it, discarded by the sender
	spent  units.Bytes // spent': the two together
	demand units.Bytes // what the sender is known to need, in all
	told   units.Bytes // spent of the newest RTS
	unseen units.Bytes // unscheduled bytes that are under way
	window units.Bytes // W, on the wire
	open   bool        // without volume control: the sender has not said that it is done
	more   bool        // the newest data asks for more

	seq    uint16
	ce     uint16     // of the newest RTS
	retell bool       // the sender does not know limit
	heard  units.Time // from the sender, or said to it
	tries  uint8      // of repeats
	next   units.Time

	control control
	shared  *schedule
	place   place
	tally   Tally
	drive   cc.Reporter
}

func newReceiver(p *plan, a cc.Algorithm, shared *schedule) *Receiver {
	r := &Receiver{plan: p, window: max(p.window, p.kw), shared: shared}
	r.control.start(a, p)
	return r
}

// Tally answers the counters.
func (r *Receiver) Tally() Tally { return r.tally }

// Window is W: how much tokens under way may release, on the wire.
func (r *Receiver) Window() units.Bytes { return r.window }

// Arrived implements cc.Granter.
func (r *Receiver) Arrived(a *cc.Arrival, now units.Time) {
	r.alive(now)
	before := r.demand
	switch {
	case a.Again:
		// Its token was counted when it came first.
	case a.Set&cc.MarkUnscheduled != 0:
		r.unseen = max(0, r.unseen-a.Bytes)
		r.tally.Unscheduled += a.Bytes
	default:
		r.unseen = 0 // they left before
		r.used(r.seen + a.Bytes)
	}
	if a.Set&cc.MarkTokenMarked != 0 && !a.Again {
		r.ce++
	}
	if !a.Behind { // or what it says is old
		r.more = a.Set&cc.MarkWantsMore != 0
	}
	if r.more && !a.Behind {
		r.demand = max(r.demand, r.spent+r.wanted(a.Bytes, a.Set))
	}
	r.control.arrived(r, a, now)
	r.settle(before, now)
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

// used is that so many bytes of tokens were used.
func (r *Receiver) used(seen units.Bytes) {
	r.seen = min(seen, r.limit-r.waste)
	r.spent = r.seen + r.waste
}

// Consumed implements cc.Granter.
func (*Receiver) Consumed(units.Bytes, units.Time) {}

// Hear implements cc.Granter.
func (r *Receiver) Hear(n *cc.Notice, now units.Time) error {
	spent := near(r.limit, n.Spent)
	needs := units.Bytes(int32(n.Demand - n.Spent))
	waste := near24(r.waste, n.Discarded)
	switch {
	case n.Kind != cc.NoticeRTS:
		return errNoRTS
	case spent > r.limit:
		return errSpent
	case needs < 0:
		return errDemand
	case waste > spent:
		return errDiscarded
	}
	r.alive(now)
	r.more = false
	before := r.demand
	r.demand = max(r.demand, spent+needs)
	r.open = n.Flags&cc.NoticeEnds == 0
	if n.Flags&cc.NoticeUnscheduled != 0 && n.Flags&cc.NoticeRepeat == 0 {
		r.unseen = r.unsch
	}
	if spent >= r.told && waste >= r.waste {
		r.told, r.waste = spent, waste
		if n.Flags&cc.NoticeRepeat != 0 { // nothing is under way
			r.seen, r.unseen = spent-waste, 0
			r.retell = needs > 0 // it waits, and may have lost a TOKEN; or it takes a silent peer for dead
		}
		r.used(r.seen)
		r.control.skipped(r)
	}
	if news := int16(n.CE - r.ce); news > 0 {
		r.ce = n.CE
		r.control.congested(r, int(news), now)
	}
	if n.Flags&cc.NoticeAnswers != 0 {
		r.control.answered(r, n.Seq, now)
	}
	r.settle(before, now)
	return nil
}

// alive is that the sender was heard of.
func (r *Receiver) alive(now units.Time) { r.heard, r.tries = now, 0 }

// wants is how much may still be granted; without volume control as much as comes.
func (r *Receiver) wants() units.Bytes {
	if !r.volume && r.open {
		return max(r.demand-r.limit, r.k)
	}
	return r.demand - r.limit
}

// room says whether what tokens under way release, and what unscheduled packets are, leaves room in the window.
func (r *Receiver) room() bool { return (r.limit-r.spent+r.unseen)*r.kw < r.window*r.k }

// whole says whether a token would release all it can, or is the last for now. While the sender asks for more the next
// data tells of it.
func (r *Receiver) whole() bool {
	wants := r.wants()
	return wants >= r.k || wants > 0 && (!r.more || r.limit == r.spent)
}

// grants says whether a token may go.
func (r *Receiver) grants() bool {
	return r.whole() && r.room() && !r.control.hold && (r.overcommit == 0 || r.place.where == inTop)
}

// waiting says whether the receiver waits to hear of the sender.
func (r *Receiver) waiting() bool { return r.limit > r.spent || r.unseen > 0 && r.wants() > 0 }

// settle decides when to say what.
func (r *Receiver) settle(before units.Bytes, now units.Time) {
	if r.overcommit > 0 {
		r.shared.update(r, now)
	}
	r.control.posted(r, before, now)
	r.schedule(now)
}

func (r *Receiver) schedule(now units.Time) {
	r.next = r.control.timer()
	switch {
	case r.retell:
		r.next = moment(now)
	case r.grants():
		r.next = sooner(r.next, r.control.from(now))
	}
	if r.waiting() {
		r.next = sooner(r.next, moment(r.heard.Add(r.wait(r.tries))))
	}
}

// Next implements cc.Granter.
func (r *Receiver) Next() units.Time { return r.next }

// Emit implements cc.Granter.
func (r *Receiver) Emit(incomplete bool, now units.Time) (cc.Notice, bool) {
	n := cc.Notice{Kind: cc.NoticeToken, TrafficClass: r.tokenClass, Classed: true, Missing: incomplete}
	before := r.demand
	r.control.lapse(r, now)
	switch {
	case r.control.probes(now):
		n.Flags = cc.NoticeAsks
		r.control.asked(r.seq+1, now)
	case r.grants() && !r.control.from(now).After(now):
		r.grant(&n, now)
	case r.retell:
	case r.waiting() && !r.heard.Add(r.wait(r.tries)).After(now):
		n.Flags = cc.NoticeRepeat
		r.unseen = 0
		r.tries++
		r.tally.Repeats++
		r.control.repeated()
		if r.limit == r.spent { // it was about unscheduled packets, and there is nothing to repeat
			r.heard = now
			r.settle(before, now)
			return cc.Notice{}, false
		}
	default:
		r.schedule(now)
		return cc.Notice{}, false
	}
	r.retell = false
	r.heard = now
	r.seq++
	n.Limit, n.Seq = uint32(r.limit), r.seq
	r.tally.Notices++
	r.settle(before, now)
	return n, true
}

// grant lets one token go.
func (r *Receiver) grant(n *cc.Notice, now units.Time) {
	bytes := min(r.k, r.wants())
	wire := r.wire(bytes)
	r.limit += bytes
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

// Attach implements cc.Granter.
func (r *Receiver) Attach(d cc.Reporter) { r.drive = d }

// Decide implements cc.Granter.
func (r *Receiver) Decide(d cc.Decision, now units.Time) {
	r.control.decided(r, d, now)
	r.schedule(now)
}
