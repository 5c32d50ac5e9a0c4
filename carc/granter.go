package carc

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Granter is the receiver's half: it returns the lines of messages that the program has consumed, and says how many
// credits there are.
type Granter struct {
	pool     *pool
	sensor   *Sensor
	shift    lineShift
	answers  bool // responses return credits
	writes   bool
	fixed    Lines // δ
	floor    Lines // a packet's
	gather   units.Duration
	weight   int
	priority int

	delivered  Lines // since the connection began
	returned   Lines // of it, by CREDITs
	unconsumed units.Bytes
	busy       units.Time // when the program began with what it has
	loosened   loosened

	credits Lines // to be said
	next    Lines // the share in it
	told    struct {
		returned Lines
		credits  Lines
		state    cc.CacheState
	}
	epoch   uint8
	asked   bool
	at      units.Time // when a CREDIT is due; 0 never
	pending units.Time // when the first line came that is to be returned; 0 none is
	seen    [2]uint32  // versions of the pool and the sensor
	stats   GranterStats
	drive   cc.Reporter

	// The pool's.
	place   int
	share   Lines // that the sender was told of
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

var errAnswer = errors.New("carc: a CREDIT that is no question, where credits are given")

func newGranter(o *options, path cc.Path, p *pool, s Share) *Granter {
	g := &Granter{
		pool: p, sensor: p.sensor, shift: shiftOf(o.line), answers: o.mode == "rr", writes: o.writes,
		fixed: o.fixed, gather: o.gather, weight: s.Weight, priority: s.Priority,
	}
	g.floor = g.shift.lines(path.Payload)
	if !g.answers {
		g.loosened = newLoosened(o, path.BaseRTT)
	}
	return g
}

// Unconsumed is what was delivered and not consumed.
func (g *Granter) Unconsumed() units.Bytes { return g.unconsumed }

// Credits is how many the sender was told of.
func (g *Granter) Credits() Lines { return g.told.credits }

// Loosened is δ of that: what covers the round trip, or what it is fixed to.
func (g *Granter) Loosened() Lines { return g.loosened.delta + g.fixed }

// Stats answers the counters.
func (g *Granter) Stats() GranterStats { return g.stats }

// Offer answers what the connection's handshake may tell the peer, for its Gate.Peer: a line, and the first credits.
func (g *Granter) Offer() (line units.Bytes, credits Lines) { return 1 << g.shift, g.floor }

// Attach implements cc.Granter: it takes its share of the pool, and gives it back at the end.
func (g *Granter) Attach(r cc.Reporter) {
	was := g.drive
	switch g.drive = r; {
	case was == nil && r != nil:
		g.pool.join(g)
	case was != nil && r == nil:
		g.sensor.unconsumed -= g.unconsumed
		g.unconsumed, g.at = 0, 0
		g.pool.leave(g)
	}
}

// Delivered implements cc.Crediter.
func (g *Granter) Delivered(bytes units.Bytes, now units.Time) {
	g.stats.Delivered++
	g.delivered += g.shift.lines(bytes)
	if g.unconsumed == 0 {
		g.busy = now
	}
	g.unconsumed += bytes
	g.sensor.grew(bytes, now)
}

// Consumed implements cc.Granter.
func (g *Granter) Consumed(bytes units.Bytes, now units.Time) {
	g.stats.Consumed++
	n := g.shift.lines(bytes)
	own := min(bytes, g.unconsumed) // what a plain WRITE brought was not delivered
	g.unconsumed -= own
	g.sensor.shrank(own, now)
	if !g.answers {
		if !g.writes {
			n = min(n, g.delivered-g.returned)
		}
		g.returned += n
		if g.pending == 0 && n > 0 {
			g.pending = moment(now)
		}
		if g.loosened.adapts {
			g.loosened.consumed(now.Sub(g.busy), n)
			g.busy = now
		}
	}
	g.note(now)
	g.schedule(now)
}

// note takes in what time and others brought.
func (g *Granter) note(now units.Time) {
	p := g.pool
	p.tick(now)
	if p.byActivity {
		p.active(g, now)
	}
	if g.seen != [2]uint32{p.version, g.sensor.version} {
		g.look(now)
	}
}

// look computes what is to be said, and whether now.
func (g *Granter) look(now units.Time) {
	g.compute()
	if g.news() {
		g.at = moment(now)
	}
}

// ask has it look when another connection has changed something.
func (g *Granter) ask(now units.Time) {
	if g.look(now); g.at != 0 {
		g.drive.Ask()
	}
}

// compute decides how many credits there are: the share, what other memory traffic takes of it, and what loosens it.
func (g *Granter) compute() {
	g.seen = [2]uint32{g.pool.version, g.sensor.version}
	g.next = g.pool.share(g)
	c := max(g.floor, g.next-g.next*Lines(g.sensor.cut)/cuts)
	g.loosened.loosen(c, g.sensor.state)
	g.credits = min(max(g.floor, c+g.loosened.delta+g.fixed), MostCredits)
}

// news says whether what changed cannot wait until lines are returned: a smaller share, an eighth more credits or fewer,
// or another state where the sender's δ follows it.
func (g *Granter) news() bool {
	change := g.credits - g.told.credits
	return g.asked || g.next < g.share || max(change, -change) > g.told.credits/8 || g.answers && g.sensor.state != g.told.state
}

// schedule decides when lines are returned: an eighth of the credits at once, fewer after a while where the sender may
// need them, and else with what is said anyway.
func (g *Granter) schedule(now units.Time) {
	if g.at != 0 && !g.at.After(now) {
		return
	}
	owed := g.returned - g.told.returned
	switch {
	case owed == 0:
	case owed >= max(1, g.told.credits/8):
		g.at = moment(now)
	case g.at == 0 && g.delivered-g.told.returned >= g.told.credits/2:
		g.at = moment(g.pending.Add(g.gather))
	}
}

// Hear implements cc.Granter.
func (g *Granter) Hear(n *cc.Notice, now units.Time) error {
	switch {
	case n.Kind != cc.NoticeCredit:
		return cc.ErrOtherKind
	case n.Flags&cc.NoticeAsks == 0:
		return errAnswer
	case n.Returned > uint64(g.returned):
		return fmt.Errorf("carc: the peer knows of %d lines returned, %d were: %w", n.Returned, g.returned, cc.ErrForged)
	}
	g.stats.Asked++
	g.asked, g.at = true, moment(now)
	g.note(now)
	return nil
}

// Credit implements cc.Crediter.
func (g *Granter) Credit(now units.Time) (cc.Notice, bool) {
	g.pool.tick(now)
	g.compute()
	if g.returned == g.told.returned && !g.news() {
		g.at = 0
		return cc.Notice{}, false
	}
	if g.credits != g.told.credits || g.sensor.state != g.told.state {
		g.epoch++
	}
	g.told.returned, g.told.credits, g.told.state = g.returned, g.credits, g.sensor.state
	g.asked, g.at, g.pending = false, 0, 0
	g.stats.Credits++
	g.pool.tell(g, g.next)
	return cc.Notice{
		Kind: cc.NoticeCredit, Credits: uint32(g.told.credits), Epoch: g.epoch,
		Returned: uint64(g.returned), Cache: g.told.state,
	}, true
}

// CreditAt implements cc.Crediter.
func (g *Granter) CreditAt() units.Time { return g.at }

// Arrived implements cc.Granter.
func (g *Granter) Arrived(_ *cc.Arrival, now units.Time) {
	if g.pool.byActivity {
		g.note(now)
	}
}

// Missing implements cc.Granter.
func (*Granter) Missing(int, units.Bytes, units.Time) {}

// Emit implements cc.Granter: there are no TOKENs.
func (*Granter) Emit(bool, units.Time) (cc.Notice, bool) { return cc.Notice{}, false }

// Next implements cc.Granter.
func (*Granter) Next() units.Time { return 0 }

// Rank implements cc.Granter.
func (*Granter) Rank() int { return 0 }

// Queue implements cc.Granter.
func (*Granter) Queue() int { return 0 }

// Algorithm implements cc.Granter.
func (*Granter) Algorithm() cc.Algorithm { return nil }

// Decide implements cc.Granter.
func (*Granter) Decide(cc.Decision, units.Time) {}
