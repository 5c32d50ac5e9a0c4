package carc

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// Gate is the sender's half. A message leaves when there are credits for all of its lines; a
// message larger than all credits leaves when nothing else is outstanding.
type Gate struct {
	shift              lineShift
	responses          bool // responses return credits
	writes             bool // a WRITE without immediate takes credits
	credits            Lines
	epoch              uint8
	creditAt           units.Time // when the newest CREDIT arrived; 0: none yet
	state              cc.CacheState
	posted             Lines // since the connection began
	returned           Lines // of these, by CREDITs
	returnedByResponse Lines // of these, by responses
	delta              delta
	request            request

	blockedSince units.Time // since when a message waits for credits; 0: none waits
	queryAt      units.Time // when to send the next query; 0: none is due
	queries      uint8
	minInterval  units.Duration // before the first query
	stats        GateStats
}

// request is the newest request of a request-response connection.
type request struct {
	at    units.Time // when it left
	alone bool       // no other request was outstanding
}

// GateStats counts what happened at a Gate.
type GateStats struct {
	Messages  uint64         // messages that took credits
	Overdrawn uint64         // of these, larger than all credits
	Blocked   uint64         // of these, messages that waited
	Waited    units.Duration // total time that messages waited
	Queries   uint64         // queries sent
	Received  uint64         // CREDITs that changed something
}

const (
	// minQueryInterval and maxQueryInterval bound how long a sender waits before it sends a query;
	// the interval doubles with each query (OURS).
	minQueryInterval = 50 * units.Microsecond
	maxQueryInterval = units.Millisecond
	// maxCreditAge is longer than any CREDIT is delayed (OURS). After a pause of that length the
	// epoch, which has one byte, cannot order CREDITs.
	maxCreditAge = 100 * units.Millisecond
)

var (
	errQuery   = errors.New("carc: want CREDIT with credits, got a query")
	errCredits = fmt.Errorf("carc: number of credits out of range [1, %d]", MaxCredits)
)

func newGate(o *options, path cc.Path) *Gate {
	g := &Gate{
		shift: shiftOf(o.line), responses: o.mode == "rr", writes: o.writes,
		minInterval: min(max(3*path.BaseRTT, minQueryInterval), maxQueryInterval),
	}
	g.delta = newDelta(o, path.BaseRTT)
	g.credits = g.shift.lines(path.Payload) // until Agree
	return g
}

// Terms implements cc.CreditGate.
func (g *Gate) Terms() cc.CreditTerms {
	return cc.CreditTerms{Line: 1 << g.shift, Responses: g.responses, Writes: g.writes}
}

// Agree implements cc.CreditGate.
func (g *Gate) Agree(t cc.CreditTerms) {
	g.shift, g.responses, g.writes = shiftOf(t.Line), t.Responses, t.Writes
	g.credits = Lines(t.Lines)
}

// Outstanding returns the number of lines that are posted and not returned.
func (g *Gate) Outstanding() Lines { return g.posted - g.returned - g.returnedByResponse }

// Credits returns how many lines may be outstanding: the receiver's credits plus the sender's δ.
func (g *Gate) Credits() Lines { return g.credits + g.delta.lines }

// Estimate returns the number of lines that cover the round trip, v2·RTT, as measured on
// responses.
func (g *Gate) Estimate() Lines { return g.delta.estimate }

// Delta returns δ as computed by this sender.
func (g *Gate) Delta() Lines { return g.delta.lines }

// State returns the state of the receiver's cache as of the newest CREDIT.
func (g *Gate) State() cc.CacheState { return g.state }

// Stats returns the counters. A message that still waits is counted in Blocked; its time is not yet
// part of Waited.
func (g *Gate) Stats() GateStats { return g.stats }

// BlockedSince returns when the waiting message began to wait for credits, or 0 if none waits.
func (g *Gate) BlockedSince() units.Time { return g.blockedSince }

// cost returns the credits that a packet takes: those of the whole message for its first packet.
func (g *Gate) cost(p *cc.Outgoing) Lines {
	if p.Message == 0 || p.Again || !p.Completes && !g.writes {
		return 0
	}
	return g.shift.lines(p.Message)
}

// Posted implements cc.Gate.
func (*Gate) Posted(units.Bytes, cc.Backlog, units.Time) {}

// Ready implements cc.Gate. It records when a message is first refused.
func (g *Gate) Ready(p *cc.Outgoing, now units.Time) bool {
	n := g.cost(p)
	if n == 0 || g.fits(n) {
		return true
	}
	if g.blockedSince == 0 {
		g.blockedSince = nonZero(now)
		g.stats.Blocked++
		g.startQueryTimer(now)
	}
	return false
}

// fits reports whether there are n credits left. One message at a time may be larger than all
// credits.
func (g *Gate) fits(n Lines) bool {
	out := g.Outstanding()
	return out+n <= g.Credits() || out == 0
}

// Sent implements cc.Gate.
func (g *Gate) Sent(p *cc.Outgoing, now units.Time) cc.Marks {
	n := g.cost(p)
	if n == 0 {
		return cc.Marks{}
	}
	if n > g.Credits() {
		g.stats.Overdrawn++
	}
	if g.responses {
		g.request = request{now, g.Outstanding() == 0}
	}
	g.posted += n
	g.stats.Messages++
	g.endWait(now)
	return cc.Marks{}
}

// endWait ends the wait of a message that leaves or was cancelled.
func (g *Gate) endWait(now units.Time) {
	if g.blockedSince != 0 {
		g.stats.Waited += now.Sub(g.blockedSince)
		g.blockedSince, g.queryAt, g.queries = 0, 0, 0
	}
}

// Lost implements cc.Gate. A retransmission takes no further credits.
func (g *Gate) Lost(_ units.Bytes, b cc.Backlog, now units.Time) {
	if b.Waits == 0 {
		g.endWait(now)
	}
}

// Receive implements cc.Gate.
func (g *Gate) Receive(n *cc.ControlMessage, _ cc.Backlog, now units.Time) error {
	switch {
	case n.Kind != cc.CREDIT:
		return errKind
	case n.Flags&cc.FlagQuery != 0:
		return errQuery
	case n.Returned > uint64(g.posted-g.returnedByResponse):
		return fmt.Errorf("carc: %d lines returned of %d posted: %w", n.Returned,
			g.posted-g.returnedByResponse, cc.ErrForged)
	case n.Credits == 0 || Lines(n.Credits) > MaxCredits:
		return errCredits
	}
	same := Lines(n.Returned) == g.returned && g.creditAt != 0
	newer := int8(n.Epoch - g.epoch) // of the CREDITs that return as much
	if Lines(n.Returned) < g.returned || same && newer < 0 && now.Sub(g.creditAt) < maxCreditAge {
		return nil // a late CREDIT
	}
	g.creditAt = nonZero(now)
	g.delta.onServiceTime(n.Served)
	if same && newer == 0 {
		return nil
	}
	g.returned = Lines(n.Returned)
	g.credits, g.epoch, g.state = Lines(n.Credits), n.Epoch, n.Cache
	if g.responses {
		g.delta.update(g.credits, g.state)
	}
	g.stats.Received++
	g.restartQueryTimer(now)
	return nil
}

// Answered implements cc.CreditGate: a response returns the credits of its request.
func (g *Gate) Answered(bytes units.Bytes, now units.Time) {
	if !g.responses {
		return
	}
	n := min(g.shift.lines(bytes), g.Outstanding())
	g.returnedByResponse += n
	if g.Outstanding() == 0 && g.request.alone {
		g.delta.onLoneResponse(now.Sub(g.request.at), n)
	}
	g.delta.onResponse(n)
	g.delta.update(g.credits, g.state)
	g.restartQueryTimer(now)
}

// restartQueryTimer restarts the query timer if a message waits.
func (g *Gate) restartQueryTimer(now units.Time) {
	if g.blockedSince != 0 {
		g.startQueryTimer(now)
	}
}

func (g *Gate) startQueryTimer(now units.Time) {
	g.queryAt = nonZero(now.Add(min(g.minInterval<<g.queries, maxQueryInterval)))
}

// Emit implements cc.Gate: it queries the receiver, since the last CREDIT may be lost.
func (g *Gate) Emit(b cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	switch {
	case g.queryAt == 0 || g.queryAt.After(now):
		return cc.ControlMessage{}, false
	case b.Waits == 0: // cancelled while lost packets waited, too
		g.endWait(now)
		return cc.ControlMessage{}, false
	}
	g.queries = min(g.queries+1, 5)
	g.startQueryTimer(now)
	g.stats.Queries++
	return cc.ControlMessage{Kind: cc.CREDIT, Flags: cc.FlagQuery, Returned: uint64(g.returned)},
		true
}

// Next implements cc.Gate.
func (g *Gate) Next() units.Time { return g.queryAt }

// Marks implements cc.Gate.
func (*Gate) Marks() cc.MarkSet { return 0 }

// nonZero returns now, or 1 for time 0, since 0 stands for "never".
func nonZero(now units.Time) units.Time {
	if now == 0 {
		return 1
	}
	return now
}

// earlier returns the earlier of two times, where 0 stands for "never".
func earlier(a, b units.Time) units.Time {
	if a == 0 || b != 0 && b.Before(a) {
		return b
	}
	return a
}
