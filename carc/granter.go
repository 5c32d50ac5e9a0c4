package carc

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Granter is the receiver's half: it returns the lines of messages that the program has consumed,
// and says how many credits there are.
type Granter struct {
	pool     *pool
	sensor   *Sensor
	shift    lineShift
	answers  bool // responses return credits
	writes   bool
	fixed    Lines       // δ
	floor    units.Bytes // a packet
	gather   units.Duration
	weight   int
	priority int

	delivered  Lines // since the connection began
	consumed   Lines // of it
	unconsumed units.Bytes
	last       units.Time     // up to when idle is counted
	busy       units.Time     // when the program began with what it has
	idle       units.Duration // when it had nothing, since the sample
	sampled    struct {
		at    units.Time
		lines Lines // consumed
	}
	loosened loosened
	timed    timed

	credits Lines       // to be said
	next    units.Bytes // the share of the cache in it
	told    struct {
		returned Lines
		credits  Lines
		state    cc.CacheState
	}
	most  Lines // that is returned with others: an eighth of what was told
	epoch uint8
	asked bool
	at    units.Time // when a CREDIT is due; 0 never
	seen  uint32     // the sensor's version
	stats GranterStats
	drive cc.Reporter

	// The pool's.
	place   int
	share   units.Bytes // that the sender was told of
	shrinks bool
	active  bool
	heardAt units.Time
}

// GranterStats is what happened at a Granter.
type GranterStats struct {
	Delivered uint64 // messages
	Consumed  uint64 // of them
	Credits   uint64 // CREDITs
	Asked     uint64 // questions
}

// timed is how long the program took with the newest message, and how long one waited for it: one
// after the other.
type timed struct {
	upTo           Lines      // delivered with that which waits; 0 none does
	at             units.Time // when it was delivered
	waited, served units.Duration
	fresh          bool // the sender was not told
}

var (
	errKind   = errors.New("carc: the notice is no CREDIT")
	errAnswer = errors.New("carc: a CREDIT that is no question, where credits are given")
)

func newGranter(o *options, path cc.Path, p *pool, s Share) *Granter {
	return &Granter{
		pool: p, sensor: p.sensor, shift: shiftOf(o.line), answers: o.mode == "rr",
		writes: o.writes,
		fixed:  o.fixed, floor: path.Payload, gather: o.gather, weight: s.Weight,
		priority: s.Priority,
		loosened: newLoosened(o, path.BaseRTT),
	}
}

// Unconsumed is what was delivered and not consumed.
func (g *Granter) Unconsumed() units.Bytes { return g.unconsumed }

// Credits is how many the sender was told of.
func (g *Granter) Credits() Lines { return g.told.credits }

// Loosened is δ of that: what covers the round trip, or what it is fixed to.
func (g *Granter) Loosened() Lines { return g.loosened.delta + g.fixed }

// Estimate is what would cover the round trip, v2·RTT, of a one-way connection.
func (g *Granter) Estimate() Lines { return g.loosened.need }

// Stats answers the counters.
func (g *Granter) Stats() GranterStats { return g.stats }

// Attach implements cc.Granter: it takes its share of the pool, and gives it back at the end.
func (g *Granter) Attach(r cc.Reporter) {
	was := g.drive
	switch g.drive = r; {
	case was == nil && r != nil:
		g.pool.join(g)
	case was != nil && r == nil:
		g.sensor.shrank(g.unconsumed, g.pool.now)
		g.unconsumed, g.at = 0, 0
		g.pool.leave(g)
	}
}

// Terms implements cc.CreditGranter. The credits that it tells of count as told.
func (g *Granter) Terms() cc.CreditTerms {
	g.compute()
	g.tells()
	return cc.CreditTerms{Line: 1 << g.shift, Lines: uint32(g.credits), Responses: g.answers,
		Writes: g.writes}
}

// Agree implements cc.CreditGranter.
func (g *Granter) Agree(t cc.CreditTerms) {
	g.shift, g.answers = shiftOf(t.Line), t.Responses
	g.told.credits, g.most = Lines(t.Lines), max(1, Lines(t.Lines)/8)
	g.at = 0
	g.look(g.pool.now)
}

// Delivered implements cc.CreditGranter.
func (g *Granter) Delivered(bytes units.Bytes, now units.Time) {
	g.stats.Delivered++
	g.delivered += g.shift.lines(bytes)
	if g.answers && g.timed.upTo == 0 {
		g.timed.upTo, g.timed.at = g.delivered, now
	}
	if g.unconsumed == 0 {
		g.idle += now.Sub(g.last)
		g.last, g.busy = now, now
	}
	g.unconsumed += bytes
	g.sensor.grew(bytes, now)
	g.hears(now)
}

// Away implements cc.Absentee.
func (g *Granter) Away(d units.Duration, now units.Time) { g.sensor.away(d, now) }

// Consumed implements cc.Granter. It takes messages in the order in which they were delivered.
func (g *Granter) Consumed(bytes units.Bytes, now units.Time) {
	g.stats.Consumed++
	own := min(bytes, g.unconsumed)
	g.unconsumed -= own
	g.consumed += min(g.shift.lines(bytes), g.delivered-g.consumed)
	g.sensor.shrank(own, now)
	if g.answers {
		g.time(now)
	} else if now.Sub(g.sampled.at) >= g.loosened.rtt/samples {
		g.sample(now)
	}
	g.last, g.busy = now, now
	if g.seen != g.sensor.version {
		g.note(now)
	}
	g.schedule(now)
}

// time takes the time of a message, for the sender to know how long its request was here.
func (g *Granter) time(now units.Time) {
	t := &g.timed
	if t.served, t.fresh = now.Sub(g.busy), true; t.upTo != 0 && g.consumed >= t.upTo {
		t.waited, t.upTo = max(0, g.busy.Sub(t.at)), 0
	}
}

// returned is what goes back by CREDITs: nothing where responses return it.
func (g *Granter) returned() Lines {
	if g.answers {
		return 0
	}
	return g.consumed
}

// note takes in what a window of time, and others, brought.
func (g *Granter) note(now units.Time) {
	g.pool.tick(now)
	g.look(now)
}

// sample takes how fast the program was since the last one.
func (g *Granter) sample(now units.Time) {
	if took := now.Sub(g.sampled.at) - g.idle; took >= g.loosened.rtt/samples {
		g.loosened.sample(took, g.consumed-g.sampled.lines)
		g.sampled.at, g.sampled.lines, g.idle = now, g.consumed, 0
	}
}

// look computes what is to be said, and whether now.
func (g *Granter) look(now units.Time) {
	g.compute()
	if g.news() {
		g.at = sooner(g.at, moment(now))
	}
}

// ask has it look when another connection has changed something.
func (g *Granter) ask(now units.Time) {
	if g.look(now); g.at != 0 {
		g.drive.Ask()
	}
}

// compute decides how many credits there are: the share, what other memory traffic takes of it, and
// what loosens it.
func (g *Granter) compute() {
	g.seen = g.sensor.version
	g.next = g.pool.share(g)
	floor := g.shift.lines(g.floor)
	c := max(floor, Lines((g.next-g.next*units.Bytes(g.sensor.cut)/cuts)>>g.shift))
	if !g.answers {
		g.loosened.loosen(c, g.sensor.state)
	}
	g.credits = min(max(floor, c+g.loosened.delta+g.fixed), MostCredits)
}

// news says whether what changed cannot wait until lines are returned: a smaller share, an eighth
// more credits or fewer, or another state where the sender's δ follows it.
func (g *Granter) news() bool {
	change := g.credits - g.told.credits
	return g.asked || g.next < g.share || max(change, -change) > g.told.credits/8 || g.answers &&
		g.sensor.state != g.told.state
}

// schedule decides when lines are returned by a CREDIT of their own: when half of the credits are
// out, as far as the sender knows. Then it is an eighth at once, and whatever there is after a
// while; but a quarter while the program has work. Else they ride on an acknowledgement.
func (g *Granter) schedule(now units.Time) {
	switch owed := g.returned() - g.told.returned; {
	case owed == 0 || g.delivered-g.told.returned < 4*g.most:
	case owed >= 2*g.most || owed >= g.most && !g.works():
		g.at = sooner(g.at, moment(now))
	case g.at == 0 && !g.works():
		g.at = moment(now.Add(g.gather))
	}
}

// works says whether the program has more to do than comes in two round trips: a sender that hears
// later of what is returned does not keep it waiting.
func (g *Granter) works() bool {
	return g.loosened.need > 0 && g.delivered-g.consumed > 2*g.loosened.need
}

// Hear implements cc.Granter.
func (g *Granter) Hear(n *cc.Notice, now units.Time) error {
	switch {
	case n.Kind != cc.NoticeCredit:
		return errKind
	case n.Flags&cc.NoticeAsks == 0:
		return errAnswer
	case n.Returned > uint64(g.returned()):
		return fmt.Errorf("carc: the peer knows of %d lines returned, %d were: %w", n.Returned,
			g.returned(), cc.ErrForged)
	}
	g.stats.Asked++
	g.asked, g.at = true, sooner(g.at, moment(now))
	g.hears(now)
	g.note(now)
	return nil
}

// Emit implements cc.Granter. It may be asked whenever a CREDIT has something to ride on.
func (g *Granter) Emit(_ bool, now units.Time) (cc.Notice, bool) {
	g.note(now)
	if g.returned() == g.told.returned && !g.timed.fresh && !g.news() {
		g.at = 0
		return cc.Notice{}, false
	}
	if g.credits != g.told.credits || g.sensor.state != g.told.state {
		g.epoch++
	}
	g.tells()
	g.told.returned, g.told.state = g.returned(), g.sensor.state
	g.asked, g.timed.fresh, g.at = false, false, 0
	g.stats.Credits++
	return cc.Notice{
		Kind: cc.NoticeCredit, Credits: uint32(g.told.credits), Epoch: g.epoch,
		Returned: uint64(g.told.returned), Cache: g.told.state, Waited: g.timed.waited,
		Served: g.timed.served,
	}, true
}

// tells is that the sender is told how many credits there are.
func (g *Granter) tells() {
	g.told.credits, g.most = g.credits, max(1, g.credits/8)
	g.pool.tell(g, g.next)
}

// Next implements cc.Granter.
func (g *Granter) Next() units.Time { return g.at }

// hears is that the connection is active.
func (g *Granter) hears(now units.Time) {
	if g.pool.byActivity {
		g.pool.active(g, now)
	}
}

// Arrived implements cc.Granter: a message counts when it is here, whole.
func (*Granter) Arrived(*cc.Arrival, units.Time) {}

// Missing implements cc.Granter.
func (*Granter) Missing(int, units.Bytes, units.Time) {}

// Rank implements cc.Granter.
func (*Granter) Rank() int { return 0 }

// Queue implements cc.Granter.
func (*Granter) Queue() int { return 0 }

// Algorithm implements cc.Granter.
func (*Granter) Algorithm() cc.Algorithm { return nil }

// Decide implements cc.Granter.
func (*Granter) Decide(cc.Decision, units.Time) {}
