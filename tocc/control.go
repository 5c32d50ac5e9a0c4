package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// control is token CC: an algorithm of package cc that takes a token for a packet of K bytes. It
// hears of tokens that were used as of acknowledgements, and its window bounds tokens under way.
type control struct {
	algorithm cc.Algorithm // nil: the window stands still
	wants     cc.EventSet
	acks      bool // it wants some of ACK, ECN and RTT
	cnp       cc.CNPGate
	sent      []sentToken // ring of tokens whose data has not come
	first, n  int
	event     cc.Event // here, so that none escapes

	tokens uint32      // that left
	used   units.Bytes // that made no whole token yet
	marked int         // marks since the last event
	delay  units.Duration

	hold     bool
	gap      units.Duration // between tokens of a window below one; 0 none
	free     units.Time     // when the next one may go then
	probeAt  units.Time     // when a question is due; 0 none
	askedAt  units.Time     // when it left
	question uint16
	asks     bool       // it is under way
	probed   units.Time // the Decision's moment that was served
}

// sentToken is a token under way: the limit before it, and when it left.
type sentToken struct {
	from units.Bytes
	at   units.Time
}

func (c *control) start(a cc.Algorithm, p *plan) {
	c.cnp.Interval = p.cnp
	if c.algorithm = a; a == nil {
		return
	}
	c.wants = a.Events()
	c.acks = c.wants&cc.Events(cc.ACK, cc.ECN, cc.RTT) != 0
	if c.wants.Has(cc.RTT) {
		c.sent = make([]sentToken, min(max(2*p.bdp/p.kw+2, 8), 256))
	}
}

// congested is that a token or an unscheduled packet met congestion.
func (c *control) congested(r *Receiver, tokens int, now units.Time) {
	if c.algorithm == nil {
		return
	}
	if c.acks {
		c.marked += tokens
	}
	if c.wants.Has(cc.CNP) && c.cnp.Marked(now) {
		c.prepare(r, cc.CNP)
		c.report(r, now)
	}
}

// arrived is data that came: each K bytes of it are a token used.
func (c *control) arrived(r *Receiver, a *cc.Arrival, now units.Time) {
	if c.algorithm == nil {
		return
	}
	unscheduled := a.Set&cc.MarkUnscheduled != 0
	if a.Set&cc.MarkTokenMarked != 0 {
		c.congested(r, 1, now)
	}
	if unscheduled && a.Congested {
		c.congested(r, 1, now)
	}
	if !c.acks {
		return
	}
	if !unscheduled {
		c.time(r, now)
	}
	c.used += a.Bytes
	packets := c.used / r.k
	if r.demand == r.limit && r.spent == r.limit && c.used > 0 { // the last token was the remainder
		packets = max(packets, 1)
	}
	if packets == 0 {
		return
	}
	bytes := min(packets*r.k, c.used)
	marked := min(c.marked, int(packets))
	kind := cc.ACK
	switch {
	case c.delay > 0 && c.wants.Has(cc.RTT):
		kind = cc.RTT
	case marked > 0 && c.wants.Has(cc.ECN):
		kind = cc.ECN
	}
	ev := c.prepare(r, kind)
	ev.Packets, ev.Bytes, ev.Marked, ev.Delay = int(packets), bytes, marked, c.delay
	// the sender does not tell its own: as Receiver.waits
	ev.LocalGap, ev.LocalAway, ev.RemoteGap = a.Gap+a.Away, a.Away, r.gap
	c.used -= bytes
	c.marked -= marked
	c.delay = 0
	c.report(r, now)
}

// time finds how long ago the newest token left whose data comes now.
func (c *control) time(r *Receiver, now units.Time) {
	for c.n > 0 && c.sent[c.first].from < r.spent {
		c.delay = now.Sub(c.sent[c.first].at)
		c.drop()
	}
}

// skipped forgets tokens that were used or discarded without data that came.
func (c *control) skipped(r *Receiver) {
	for c.n > 0 && c.sent[c.first].from < r.spent {
		c.drop()
	}
}

// repeated is that nobody knows any more which TOKEN let data go.
func (c *control) repeated() { c.n = 0 }

func (c *control) drop() {
	if c.first++; c.first == len(c.sent) {
		c.first = 0
	}
	c.n--
}

// granted is that a token left.
func (c *control) granted(r *Receiver, bytes, wire units.Bytes, now units.Time) {
	c.tokens += uint32(max(1, bytes/r.k))
	if c.gap > 0 {
		c.free = now.Add(units.Duration(float64(c.gap) * float64(wire) / float64(r.kw)))
	}
	if c.n < len(c.sent) {
		i := c.first + c.n
		if i >= len(c.sent) {
			i -= len(c.sent)
		}
		c.sent[i] = sentToken{r.limit - bytes, now}
		c.n++
	}
	if c.algorithm != nil && c.wants.Has(cc.TX) {
		ev := c.prepare(r, cc.TX)
		ev.Packets, ev.Bytes = 1, bytes
		c.report(r, now)
	}
}

// posted is that something waits where nothing was left.
func (c *control) posted(r *Receiver, before units.Bytes, now units.Time) {
	if c.algorithm != nil && r.demand > before && before <= r.spent && c.wants.Has(cc.POST) {
		c.prepare(r, cc.POST)
		c.report(r, now)
	}
}

// from is when a token may go: below one token they are spaced.
func (c *control) from(now units.Time) units.Time {
	if c.gap > 0 && c.free.After(now) {
		return moment(c.free)
	}
	return moment(now)
}

// prepare begins an event. PSNs count tokens.
func (c *control) prepare(r *Receiver, kind cc.Kind) *cc.Event {
	ev := &c.event
	ev.Kind = kind
	ev.InFlight = r.limit - r.spent
	ev.Left = max(r.demand, r.limit) - r.spent
	ev.SndNxt = c.tokens & 0xffffff
	ev.PSN = (c.tokens - uint32((ev.InFlight+r.k-1)/r.k)) & 0xffffff
	ev.Packets, ev.Bytes, ev.Marked, ev.Delay, ev.Probe = 0, 0, 0, 0, false
	ev.LocalGap, ev.LocalAway, ev.RemoteGap = 0, 0, 0
	return ev
}

// report tells the algorithm of it.
func (c *control) report(r *Receiver, now units.Time) {
	if r.drive != nil {
		r.drive.Report(&c.event, now)
	}
}

// guessedBDP is how many BDPs a flow at full rate may have under way where the BDP is a guess: with
// one, rings between hosts that poll bursts of 32 packets run empty. OURS.
const guessedBDP = 4

// decided is W of a Decision: the window of an algorithm that has one, the BDP at its rate of one
// that has a rate; at least a token, and below that they are spaced.
func (c *control) decided(r *Receiver, d cc.Decision, now units.Time) {
	w := units.Bytes(float64(d.Window) * float64(r.kw) / float64(r.k))
	full := r.bdp
	if r.path.Guessed {
		full *= guessedBDP
	}
	switch {
	case d.Rate > 0:
		w = min(w, units.Bytes(float64(full)*float64(d.Rate)/float64(r.path.LineRate)))
	case r.path.Guessed:
		w = min(w, full)
	}
	c.hold = d.Hold || d.Window <= 0
	gap := units.Duration(0)
	if d.Rate > 0 && w < r.kw {
		gap = min(d.Rate.Duration(r.kw), units.Second)
	}
	if c.gap > 0 && gap > 0 && c.free.After(now) { // re-timed
		c.free = now.Add(units.Duration(float64(c.free.Sub(now)) * float64(gap) / float64(c.gap)))
	}
	c.gap = gap
	r.window = min(max(w, r.kw), r.most)
	if d.ProbeAt != c.probed {
		c.probeAt, c.probed = d.ProbeAt, d.ProbeAt
	}
}

// probes says whether a question is due: a TOKEN that grants nothing, whose answer times the way.
func (c *control) probes(now units.Time) bool { return c.probeAt != 0 && !c.probeAt.After(now) }

func (c *control) asked(seq uint16, now units.Time) {
	c.asks, c.question, c.askedAt, c.probeAt = true, seq, now, 0
}

// timer is when a question is due, or its answer overdue; 0 never.
func (c *control) timer() units.Time {
	if c.asks {
		return sooner(c.probeAt, moment(c.askedAt.Add(answerPatience)))
	}
	return c.probeAt
}

// lapse gives up waiting for an answer.
func (c *control) lapse(r *Receiver, now units.Time) {
	if c.asks && !c.askedAt.Add(answerPatience).After(now) {
		c.asks = false
		c.prepare(r, cc.RTO).Probe = true
		c.report(r, now)
	}
}

func (c *control) answered(r *Receiver, seq uint16, now units.Time) {
	if !c.asks || seq != c.question {
		return
	}
	c.asks = false
	ev := c.prepare(r, cc.RTT)
	ev.Probe, ev.Delay = true, now.Sub(c.askedAt)
	c.report(r, now)
}
