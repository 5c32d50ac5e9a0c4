package carc

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Granter is the receiver's half. It returns the lines of messages that the program has consumed,
// and announces the number of credits.
type Granter struct {
	pool      *pool
	sensor    *Sensor
	shift     lineShift
	responses bool // responses return credits
	writes    bool
	fixed     Lines       // δ, if it is configured
	floor     units.Bytes // the least share: one packet
	gather    units.Duration
	weight    int
	priority  int

	delivered  Lines // since the connection began
	consumed   Lines // of these
	unconsumed units.Bytes
	idleFrom   units.Time     // up to when idle is counted
	busySince  units.Time     // when the program began to process the current message
	idle       units.Duration // without unconsumed data, since the last sample
	sampled    struct {
		dueAt units.Time
		lines Lines // consumed
	}
	delta   delta
	service serviceTimes

	credits   Lines       // to announce next
	next      units.Bytes // the share of the pool that they are computed from
	announced struct {
		returned Lines
		credits  Lines
		state    cc.CacheState
	}
	eighth      Lines // an eighth of the announced credits
	epoch       uint8
	queried     bool       // a query is not yet answered
	dueAt       units.Time // when a CREDIT is due; 0: none is
	seenVersion uint32     // the sensor's version at the last computation
	stats       GranterStats
	reporter    cc.Reporter

	// Fields that the pool manages.
	index      int         // index in pool.members
	share      units.Bytes // that was announced to the sender
	mustShrink bool        // a smaller share is to be announced
	active     bool
	activeAt   units.Time // when the connection was last active
}

// GranterStats counts what happened at a Granter.
type GranterStats struct {
	Delivered uint64 // messages
	Consumed  uint64 // of these
	Credits   uint64 // CREDITs sent
	Queries   uint64 // queries received
}

// serviceTimes holds how long the program processed the newest message, and how long a sampled
// message waited before it. One message is sampled at a time.
type serviceTimes struct {
	upTo           Lines      // Granter.delivered, the sampled message included; 0: none is sampled
	at             units.Time // when the sampled message was delivered
	waited, served units.Duration
	fresh          bool // not yet announced to the sender
}

var (
	errKind     = errors.New("carc: want CREDIT, got another control message")
	errNotQuery = errors.New("carc: want a query, got CREDIT with credits")
)

func newGranter(o *options, path cc.Path, p *pool, s Share) *Granter {
	return &Granter{
		pool: p, sensor: p.sensor, shift: shiftOf(o.line), responses: o.mode == "rr",
		writes: o.writes,
		fixed:  o.fixed, floor: path.Payload, gather: o.gather, weight: s.Weight,
		priority: s.Priority,
		delta:    newDelta(o, path.BaseRTT),
	}
}

// Unconsumed returns the bytes that were delivered and not consumed.
func (g *Granter) Unconsumed() units.Bytes { return g.unconsumed }

// Credits returns the number of credits last announced to the sender.
func (g *Granter) Credits() Lines { return g.announced.credits }

// Delta returns δ, which Credits includes: the part that covers the round trip plus the fixed δ.
func (g *Granter) Delta() Lines { return g.delta.lines + g.fixed }

// Estimate returns the number of lines that cover the round trip, v2·RTT, of a one-way connection.
func (g *Granter) Estimate() Lines { return g.delta.estimate }

// Stats returns the counters.
func (g *Granter) Stats() GranterStats { return g.stats }

// Attach implements cc.Granter: the connection joins the pool, or leaves it at its end.
func (g *Granter) Attach(r cc.Reporter) {
	was := g.reporter
	switch g.reporter = r; {
	case was == nil && r != nil:
		g.pool.join(g)
	case was != nil && r == nil:
		g.sensor.onConsumed(g.unconsumed, g.pool.now)
		g.unconsumed, g.dueAt = 0, 0
		g.pool.leave(g)
	}
}

// Terms implements cc.CreditGranter. The credits that it returns count as announced.
func (g *Granter) Terms() cc.CreditTerms {
	g.computeCredits()
	g.noteAnnounced()
	return cc.CreditTerms{Line: 1 << g.shift, Lines: uint32(g.credits), Responses: g.responses,
		Writes: g.writes}
}

// Agree implements cc.CreditGranter.
func (g *Granter) Agree(t cc.CreditTerms) {
	g.shift, g.responses = shiftOf(t.Line), t.Responses
	g.announced.credits, g.eighth = Lines(t.Lines), max(1, Lines(t.Lines)/8)
	g.dueAt = 0
	g.refresh(g.pool.now)
}

// Delivered implements cc.CreditGranter.
func (g *Granter) Delivered(bytes units.Bytes, now units.Time) {
	g.stats.Delivered++
	g.delivered += g.shift.lines(bytes)
	if g.responses && g.service.upTo == 0 {
		g.service.upTo, g.service.at = g.delivered, now
	}
	if g.unconsumed == 0 {
		g.idle += now.Sub(g.idleFrom)
		g.idleFrom, g.busySince = now, now
	}
	g.unconsumed += bytes
	g.sensor.onDelivered(bytes, now)
	g.markActive(now)
}

// Away implements cc.AbsenceObserver.
func (g *Granter) Away(d units.Duration, now units.Time) { g.sensor.onAbsence(d, now) }

// Consumed implements cc.Granter. Messages are consumed in the order in which they were delivered.
func (g *Granter) Consumed(bytes units.Bytes, now units.Time) {
	g.stats.Consumed++
	own := min(bytes, g.unconsumed)
	g.unconsumed -= own
	g.consumed += min(g.shift.lines(bytes), g.delivered-g.consumed)
	g.sensor.onConsumed(own, now)
	if g.responses {
		g.recordService(now)
	} else if now.Sub(g.sampled.dueAt) >= g.delta.rtt/samplesPerRTT {
		g.measure(now)
	}
	g.idleFrom, g.busySince = now, now
	if g.seenVersion != g.sensor.version {
		g.update(now)
	}
	g.schedule(now)
}

// recordService records the processing time of a message, which the sender needs for its own
// estimate.
func (g *Granter) recordService(now units.Time) {
	t := &g.service
	if t.served, t.fresh = now.Sub(g.busySince), true; t.upTo != 0 && g.consumed >= t.upTo {
		t.waited, t.upTo = max(0, g.busySince.Sub(t.at)), 0
	}
}

// returned returns how many lines CREDITs return: none where responses do.
func (g *Granter) returned() Lines {
	if g.responses {
		return 0
	}
	return g.consumed
}

// update updates the pool, and what is to be announced.
func (g *Granter) update(now units.Time) {
	g.pool.tick(now)
	g.refresh(now)
}

// measure measures the program's speed since the last sample.
func (g *Granter) measure(now units.Time) {
	if took := now.Sub(g.sampled.dueAt) - g.idle; took >= g.delta.rtt/samplesPerRTT {
		g.delta.addSample(took, g.consumed-g.sampled.lines)
		g.sampled.dueAt, g.sampled.lines, g.idle = now, g.consumed, 0
	}
}

// refresh recomputes the credits, and schedules a CREDIT if the change is urgent.
func (g *Granter) refresh(now units.Time) {
	g.computeCredits()
	if g.isUrgent() {
		g.dueAt = earlier(g.dueAt, nonZero(now))
	}
}

// onPoolChange recomputes the credits after a change of another connection.
func (g *Granter) onPoolChange(now units.Time) {
	if g.refresh(now); g.dueAt != 0 {
		g.reporter.Reschedule()
	}
}

// computeCredits determines the number of credits: the share, less the reduction for other memory
// traffic, plus δ.
func (g *Granter) computeCredits() {
	g.seenVersion = g.sensor.version
	g.next = g.pool.availableShare(g)
	floor := g.shift.lines(g.floor)
	c := max(floor, Lines((g.next-g.next*units.Bytes(g.sensor.reduction)/cuts)>>g.shift))
	if !g.responses {
		g.delta.update(c, g.sensor.state)
	}
	g.credits = min(max(floor, c+g.delta.lines+g.fixed), MaxCredits)
}

// isUrgent reports whether a change must be announced before lines are returned: a smaller share, a
// change of the credits by more than an eighth, a query, or another state where the sender computes
// δ from it.
func (g *Granter) isUrgent() bool {
	change := g.credits - g.announced.credits
	return g.queried || g.next < g.share || max(change, -change) > g.announced.credits/8 ||
		g.responses && g.sensor.state != g.announced.state
}

// schedule determines when a CREDIT of its own returns lines, which happens only when half of the
// credits are outstanding as far as the sender knows. An eighth of the credits is returned at once,
// fewer after the time gather; while the program has a backlog, a quarter is returned at once. In
// all other cases lines are returned with an acknowledgement.
func (g *Granter) schedule(now units.Time) {
	switch owed := g.returned() - g.announced.returned; {
	case owed == 0 || g.delivered-g.announced.returned < 4*g.eighth:
	case owed >= 2*g.eighth || owed >= g.eighth && !g.hasBacklog():
		g.dueAt = earlier(g.dueAt, nonZero(now))
	case g.dueAt == 0 && !g.hasBacklog():
		g.dueAt = nonZero(now.Add(g.gather))
	}
}

// hasBacklog reports whether the program has more unconsumed data than arrives in two round trips.
// A later return of credits then does not leave it without data.
func (g *Granter) hasBacklog() bool {
	return g.delta.estimate > 0 && g.delivered-g.consumed > 2*g.delta.estimate
}

// Receive implements cc.Granter.
func (g *Granter) Receive(n *cc.ControlMessage, now units.Time) error {
	switch {
	case n.Kind != cc.CREDIT:
		return errKind
	case n.Flags&cc.FlagQuery == 0:
		return errNotQuery
	case n.Returned > uint64(g.returned()):
		return fmt.Errorf("carc: the peer knows of %d lines returned, %d were: %w", n.Returned,
			g.returned(), cc.ErrForged)
	}
	g.stats.Queries++
	g.queried, g.dueAt = true, earlier(g.dueAt, nonZero(now))
	g.markActive(now)
	g.update(now)
	return nil
}

// Emit implements cc.Granter. It may be called whenever a CREDIT can be piggybacked.
func (g *Granter) Emit(_ bool, now units.Time) (cc.ControlMessage, bool) {
	g.update(now)
	if g.returned() == g.announced.returned && !g.service.fresh && !g.isUrgent() {
		g.dueAt = 0
		return cc.ControlMessage{}, false
	}
	if g.credits != g.announced.credits || g.sensor.state != g.announced.state {
		g.epoch++
	}
	g.noteAnnounced()
	g.announced.returned, g.announced.state = g.returned(), g.sensor.state
	g.queried, g.service.fresh, g.dueAt = false, false, 0
	g.stats.Credits++
	return cc.ControlMessage{
		Kind: cc.CREDIT, Credits: uint32(g.announced.credits), Epoch: g.epoch,
		Returned: uint64(g.announced.returned), Cache: g.announced.state, Waited: g.service.waited,
		Served: g.service.served,
	}, true
}

// noteAnnounced records the credits as announced.
func (g *Granter) noteAnnounced() {
	g.announced.credits, g.eighth = g.credits, max(1, g.credits/8)
	g.pool.announce(g, g.next)
}

// Next implements cc.Granter.
func (g *Granter) Next() units.Time { return g.dueAt }

// markActive marks the connection as active.
func (g *Granter) markActive(now units.Time) {
	if g.pool.byActivity {
		g.pool.markActive(g, now)
	}
}

// Arrived implements cc.Granter. Only whole messages count: see Delivered.
func (*Granter) Arrived(*cc.Arrival, units.Time) {}

// Missing implements cc.Granter.
func (*Granter) Missing(int, units.Bytes, units.Time) {}

// Rank implements cc.Granter.
func (*Granter) Rank() int { return 0 }

// QueueCapacity implements cc.Granter.
func (*Granter) QueueCapacity() int { return 0 }

// Algorithm implements cc.Granter.
func (*Granter) Algorithm() cc.Algorithm { return nil }

// Apply implements cc.Granter.
func (*Granter) Apply(cc.Decision, units.Time) {}
