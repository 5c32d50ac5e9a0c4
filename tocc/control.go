package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// tokenControl is token CC: an algorithm of package cc for which a token is a packet of K bytes.
// Used tokens are reported to it as acknowledgements, and its window bounds the tokens in flight.
type tokenControl struct {
	algorithm cc.Algorithm // nil: the window is fixed
	events    cc.EventSet
	bindsAcks bool // the algorithm binds ACK, ECN or RTT
	cnp       cc.CNPGate
	inFlight  []sentToken // ring of tokens whose data has not arrived
	first, n  int
	event     cc.Event // a field, so that none escapes to the heap

	tokens uint32      // sent
	used   units.Bytes // bytes that do not yet make up a whole token
	marked int         // marks since the last event
	delay  units.Duration

	hold        bool
	gap         units.Duration // between tokens while the window is below one token; 0: none
	nextAt      units.Time     // when the next token may be sent, with a gap
	probeAt     units.Time     // when a probe is due; 0: none is
	probeSentAt units.Time     // when the newest probe was sent
	probeSeq    uint16
	probing     bool       // a probe is in flight
	servedProbe units.Time // ProbeAt of the Decision that was processed
}

// sentToken is a token in flight: the limit before it, and when it was sent.
type sentToken struct {
	from units.Bytes
	at   units.Time
}

func (c *tokenControl) start(a cc.Algorithm, p *plan) {
	c.cnp.Interval = p.cnp
	if c.algorithm = a; a == nil {
		return
	}
	c.events = a.Events()
	c.bindsAcks = c.events&cc.Events(cc.ACK, cc.ECN, cc.RTT) != 0
	if c.events.Has(cc.RTT) {
		c.inFlight = make([]sentToken, min(max(2*p.bdp/p.kw+2, 8), 256))
	}
}

// onMark processes congestion that tokens, or an unscheduled packet, met.
func (c *tokenControl) onMark(r *Receiver, tokens int, now units.Time) {
	if c.algorithm == nil {
		return
	}
	if c.bindsAcks {
		c.marked += tokens
	}
	if c.events.Has(cc.CNP) && c.cnp.Marked(now) {
		c.prepare(r, cc.CNP)
		c.report(r, now)
	}
}

// onArrival processes the arrival of data: each K bytes are a used token.
func (c *tokenControl) onArrival(r *Receiver, a *cc.Arrival, now units.Time) {
	if c.algorithm == nil {
		return
	}
	unscheduled := a.Set&cc.MarkUnscheduled != 0
	if a.Set&cc.MarkTokenMarked != 0 {
		c.onMark(r, 1, now)
	}
	if unscheduled && a.Congested {
		c.onMark(r, 1, now)
	}
	if !c.bindsAcks {
		return
	}
	if !unscheduled {
		c.sampleDelay(r, now)
	}
	c.used += a.Bytes
	packets := c.used / r.k
	// the last token was smaller than K
	if r.demand == r.limit && r.spent == r.limit && c.used > 0 {
		packets = max(packets, 1)
	}
	if packets == 0 {
		return
	}
	bytes := min(packets*r.k, c.used)
	marked := min(c.marked, int(packets))
	kind := cc.ACK
	switch {
	case c.delay > 0 && c.events.Has(cc.RTT):
		kind = cc.RTT
	case marked > 0 && c.events.Has(cc.ECN):
		kind = cc.ECN
	}
	ev := c.prepare(r, kind)
	ev.Packets, ev.Bytes, ev.Marked, ev.Delay = int(packets), bytes, marked, c.delay
	// The sender does not report its own gap; see Receiver.pollBytes.
	ev.LocalGap, ev.LocalAway, ev.RemoteGap = a.Gap+a.Away, a.Away, r.pollGap
	c.used -= bytes
	c.marked -= marked
	c.delay = 0
	c.report(r, now)
}

// sampleDelay computes how long ago the newest token that released the arrived data was sent.
func (c *tokenControl) sampleDelay(r *Receiver, now units.Time) {
	for c.n > 0 && c.inFlight[c.first].from < r.spent {
		c.delay = now.Sub(c.inFlight[c.first].at)
		c.pop()
	}
}

// dropSpent removes tokens that were used or discarded and whose data did not arrive.
func (c *tokenControl) dropSpent(r *Receiver) {
	for c.n > 0 && c.inFlight[c.first].from < r.spent {
		c.pop()
	}
}

// forgetTimes removes all send times: after a repetition it is unknown which TOKEN releases data.
func (c *tokenControl) forgetTimes() { c.n = 0 }

func (c *tokenControl) pop() {
	if c.first++; c.first == len(c.inFlight) {
		c.first = 0
	}
	c.n--
}

// onGrant records that a token was sent.
func (c *tokenControl) onGrant(r *Receiver, bytes, wire units.Bytes, now units.Time) {
	c.tokens += uint32(max(1, bytes/r.k))
	if c.gap > 0 {
		c.nextAt = now.Add(units.Duration(float64(c.gap) * float64(wire) / float64(r.kw)))
	}
	if c.n < len(c.inFlight) {
		i := c.first + c.n
		if i >= len(c.inFlight) {
			i -= len(c.inFlight)
		}
		c.inFlight[i] = sentToken{r.limit - bytes, now}
		c.n++
	}
	if c.algorithm != nil && c.events.Has(cc.TX) {
		ev := c.prepare(r, cc.TX)
		ev.Packets, ev.Bytes = 1, bytes
		c.report(r, now)
	}
}

// onPosted reports new demand of a sender that had none.
func (c *tokenControl) onPosted(r *Receiver, before units.Bytes, now units.Time) {
	if c.algorithm != nil && r.demand > before && before <= r.spent && c.events.Has(cc.POST) {
		c.prepare(r, cc.POST)
		c.report(r, now)
	}
}

// earliestToken returns when a token may be sent. Tokens of a window below one are spaced.
func (c *tokenControl) earliestToken(now units.Time) units.Time {
	if c.gap > 0 && c.nextAt.After(now) {
		return nonZero(c.nextAt)
	}
	return nonZero(now)
}

// prepare initialises the event. PSNs count tokens.
func (c *tokenControl) prepare(r *Receiver, kind cc.Kind) *cc.Event {
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

// report passes the event to the algorithm.
func (c *tokenControl) report(r *Receiver, now units.Time) {
	if r.reporter != nil {
		r.reporter.Report(&c.event, now)
	}
}

// guessedBDP is the window of a flow at full rate, in BDPs, where the BDP is a guess. With one BDP,
// rings between hosts that poll bursts of 32 packets run empty. OURS.
const guessedBDP = 4

// apply computes W from a Decision: the window of an algorithm that has one, or the BDP at the rate
// of one that has a rate. W is at least a token; a smaller window spaces the tokens.
func (c *tokenControl) apply(r *Receiver, d cc.Decision, now units.Time) {
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
	if c.gap > 0 && gap > 0 && c.nextAt.After(now) { // keep the elapsed part of the gap
		c.nextAt = now.Add(units.Duration(float64(c.nextAt.Sub(now)) * float64(gap) /
			float64(c.gap)))
	}
	c.gap = gap
	r.window = min(max(w, r.kw), r.maxWindow)
	if d.ProbeAt != c.servedProbe {
		c.probeAt, c.servedProbe = d.ProbeAt, d.ProbeAt
	}
}

// isProbeDue reports whether a probe is due: a TOKEN that grants nothing and whose reply measures
// the round trip.
func (c *tokenControl) isProbeDue(now units.Time) bool {
	return c.probeAt != 0 && !c.probeAt.After(now)
}

func (c *tokenControl) onProbeSent(seq uint16, now units.Time) {
	c.probing, c.probeSeq, c.probeSentAt, c.probeAt = true, seq, now, 0
}

// nextTimer returns when a probe is due or its reply overdue; 0 never.
func (c *tokenControl) nextTimer() units.Time {
	if c.probing {
		return earlier(c.probeAt, nonZero(c.probeSentAt.Add(probeTimeout)))
	}
	return c.probeAt
}

// expireProbe reports the loss of a probe whose reply is overdue.
func (c *tokenControl) expireProbe(r *Receiver, now units.Time) {
	if c.probing && !c.probeSentAt.Add(probeTimeout).After(now) {
		c.probing = false
		c.prepare(r, cc.RTO).Probe = true
		c.report(r, now)
	}
}

func (c *tokenControl) onProbeReply(r *Receiver, seq uint16, now units.Time) {
	if !c.probing || seq != c.probeSeq {
		return
	}
	c.probing = false
	ev := c.prepare(r, cc.RTT)
	ev.Probe, ev.Delay = true, now.Sub(c.probeSentAt)
	c.report(r, now)
}
