package carc

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Gate is the sender's half: a message leaves when it has its lines, or, of one that is larger than
// all credits, when it is alone.
type Gate struct {
	shift    lineShift
	answers  bool // responses return credits
	writes   bool // plain WRITEs take some
	credits  Lines
	epoch    uint8
	heardAt  units.Time // a CREDIT that was not late; 0 never
	state    cc.CacheState
	posted   Lines // since the connection began
	returned Lines // of it, by CREDITs
	answered Lines // of it, by responses
	loosened loosened
	request  request

	blocked units.Time // since when a message waits for credits; 0 none does
	asks    units.Time // when to ask; 0 never
	tries   uint8
	least   units.Duration // patience before it asks
	stats   GateStats
}

// request is the newest one.
type request struct {
	at    units.Time // when it left
	alone bool       // when no other was under way
}

// GateStats is what happened at a Gate.
type GateStats struct {
	Messages  uint64         // that took credits
	Overdrawn uint64         // of them, larger than all credits
	Blocked   uint64         // of them, that waited
	Waited    units.Duration // how long, together
	Asked     uint64         // questions
	Heard     uint64         // CREDITs with news
}

const (
	// leastPatience and mostPatience bound how long a sender waits before it asks (OURS), doubling.
	leastPatience = 50 * units.Microsecond
	mostPatience  = units.Millisecond
	// oldest is more than any CREDIT is late (OURS): after a silence of that length the epoch does
	// not tell, which is a byte.
	oldest = 100 * units.Millisecond
)

var (
	errQuestion = errors.New("carc: a question, where credits are taken")
	errCredits  = errors.New("carc: a CREDIT of no credits, or of more than any cache has")
)

func newGate(o *options, path cc.Path) *Gate {
	g := &Gate{
		shift: shiftOf(o.line), answers: o.mode == "rr", writes: o.writes,
		least: min(max(3*path.BaseRTT, leastPatience), mostPatience),
	}
	g.loosened = newLoosened(o, path.BaseRTT)
	g.credits = g.shift.lines(path.Payload) // until something is agreed
	return g
}

// Terms implements cc.CreditGate.
func (g *Gate) Terms() cc.CreditTerms {
	return cc.CreditTerms{Line: 1 << g.shift, Responses: g.answers, Writes: g.writes}
}

// Agree implements cc.CreditGate.
func (g *Gate) Agree(t cc.CreditTerms) {
	g.shift, g.answers, g.writes = shiftOf(t.Line), t.Responses, t.Writes
	g.credits = Lines(t.Lines)
}

// Outstanding is how many lines are posted and not returned.
func (g *Gate) Outstanding() Lines { return g.posted - g.returned - g.answered }

// Credits is how many lines may be: what the receiver gives, and what loosens it here.
func (g *Gate) Credits() Lines { return g.credits + g.loosened.delta }

// Estimate is what would cover the round trip, v2·RTT, as responses tell.
func (g *Gate) Estimate() Lines { return g.loosened.need }

// Loosened is δ, what loosens the credits here.
func (g *Gate) Loosened() Lines { return g.loosened.delta }

// State is how the receiver's cache fares, as it said last.
func (g *Gate) State() cc.CacheState { return g.state }

// Stats answers the counters. A message that still waits has been counted as blocked, and its time
// is not in yet.
func (g *Gate) Stats() GateStats { return g.stats }

// Blocked says since when a message waits for credits; 0 none does.
func (g *Gate) Blocked() units.Time { return g.blocked }

// costs is what a packet takes: the first one of a message all that it needs.
func (g *Gate) costs(p *cc.Outgoing) Lines {
	if p.Message == 0 || p.Again || !p.Completes && !g.writes {
		return 0
	}
	return g.shift.lines(p.Message)
}

// Posted implements cc.Gate.
func (*Gate) Posted(units.Bytes, cc.Backlog, units.Time) {}

// Ready implements cc.Gate. It notes since when it says no.
func (g *Gate) Ready(p *cc.Outgoing, now units.Time) bool {
	n := g.costs(p)
	if n == 0 || g.fits(n) {
		return true
	}
	if g.blocked == 0 {
		g.blocked = moment(now)
		g.stats.Blocked++
		g.patient(now)
	}
	return false
}

// fits says whether there are so many credits. One message at a time may be larger than all of
// them.
func (g *Gate) fits(n Lines) bool {
	out := g.Outstanding()
	return out+n <= g.Credits() || out == 0
}

// Took implements cc.Gate.
func (g *Gate) Took(p *cc.Outgoing, now units.Time) cc.Marks {
	n := g.costs(p)
	if n == 0 {
		return cc.Marks{}
	}
	if n > g.Credits() {
		g.stats.Overdrawn++
	}
	if g.answers {
		g.request = request{now, g.Outstanding() == 0}
	}
	g.posted += n
	g.stats.Messages++
	g.waitsNoMore(now)
	return cc.Marks{}
}

// waitsNoMore is that the message which waits leaves, or was taken back.
func (g *Gate) waitsNoMore(now units.Time) {
	if g.blocked != 0 {
		g.stats.Waited += now.Sub(g.blocked)
		g.blocked, g.asks, g.tries = 0, 0, 0
	}
}

// Lost implements cc.Gate: what is sent again is paid for.
func (g *Gate) Lost(_ units.Bytes, b cc.Backlog, now units.Time) {
	if b.Waits == 0 {
		g.waitsNoMore(now)
	}
}

// Hear implements cc.Gate.
func (g *Gate) Hear(n *cc.Notice, _ cc.Backlog, now units.Time) error {
	switch {
	case n.Kind != cc.NoticeCredit:
		return errKind
	case n.Flags&cc.NoticeAsks != 0:
		return errQuestion
	case n.Returned > uint64(g.posted-g.answered):
		return fmt.Errorf("carc: %d lines returned of %d posted: %w", n.Returned,
			g.posted-g.answered, cc.ErrForged)
	case n.Credits == 0 || Lines(n.Credits) > MostCredits:
		return errCredits
	}
	same := Lines(n.Returned) == g.returned && g.heardAt != 0
	newer := int8(n.Epoch - g.epoch) // of the CREDITs that return as much
	if Lines(n.Returned) < g.returned || same && newer < 0 && now.Sub(g.heardAt) < oldest {
		return nil // it came late
	}
	g.heardAt = moment(now)
	g.loosened.peer(n.Served)
	if same && newer == 0 {
		return nil
	}
	g.returned = Lines(n.Returned)
	g.credits, g.epoch, g.state = Lines(n.Credits), n.Epoch, n.Cache
	if g.answers {
		g.loosened.loosen(g.credits, g.state)
	}
	g.stats.Heard++
	g.progress(now)
	return nil
}

// Answered implements cc.CreditGate: the response returns the credits of its request.
func (g *Gate) Answered(bytes units.Bytes, now units.Time) {
	if !g.answers {
		return
	}
	n := min(g.shift.lines(bytes), g.Outstanding())
	g.answered += n
	if g.Outstanding() == 0 && g.request.alone {
		g.loosened.timed(now.Sub(g.request.at), n)
	}
	g.loosened.answered(n)
	g.loosened.loosen(g.credits, g.state)
	g.progress(now)
}

// progress has the patience of a message that waits begin anew.
func (g *Gate) progress(now units.Time) {
	if g.blocked != 0 {
		g.patient(now)
	}
}

func (g *Gate) patient(now units.Time) {
	g.asks = moment(now.Add(min(g.least<<g.tries, mostPatience)))
}

// Emit implements cc.Gate: it asks what was returned, for the last CREDIT may be lost.
func (g *Gate) Emit(b cc.Backlog, now units.Time) (cc.Notice, bool) {
	switch {
	case g.asks == 0 || g.asks.After(now):
		return cc.Notice{}, false
	case b.Waits == 0: // it was taken back, beside lost packets that waited, too
		g.waitsNoMore(now)
		return cc.Notice{}, false
	}
	g.tries = min(g.tries+1, 5)
	g.patient(now)
	g.stats.Asked++
	return cc.Notice{Kind: cc.NoticeCredit, Flags: cc.NoticeAsks, Returned: uint64(g.returned)},
		true
}

// Next implements cc.Gate.
func (g *Gate) Next() units.Time { return g.asks }

// Wants implements cc.Gate.
func (*Gate) Wants() cc.MarkSet { return 0 }

// moment is now where 0 is never.
func moment(now units.Time) units.Time {
	if now == 0 {
		return 1
	}
	return now
}

// sooner answers the earlier of two moments, of which 0 is never.
func sooner(a, b units.Time) units.Time {
	if a == 0 || b != 0 && b.Before(a) {
		return b
	}
	return a
}
