package main

import (
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// The mode carc: every session is a reliable connection, with a gate and a granter of package carc
// at both ends, and every host has a cache that its sessions share. Programs consume what they
// received a while later, in any order; where responses return credits, they come a round trip
// after that. CREDITs are lost as notices of the mode tocc are.

// creditsSettle is how long CREDITs may still be said after all is consumed.
const creditsSettle = 100 * units.Microsecond

// admits says whether senders wait for more than a window.
func (m *mode) admits() bool { return m.tokens || m.credits }

// drawCredits draws the caches, from dice of their own.
func (p *plan) drawCredits() {
	if !p.mode.credits {
		return
	}
	d := newDice(p.seed, 0x63617263)
	rr := d.chance(0.3)
	for i := range p.traits {
		llc := scale(d, 8*units.KiB, 4*units.MiB)
		text := fmt.Sprintf("llc=%dB,line=%dB,delta=%s,hold=%v,gather=%v", int64(llc),
			oneOf(d, 32, 64, 64, 128),
			oneOf(d, "auto", "auto", "off", "20", "-20"), scale(d, units.Microsecond,
				units.Millisecond), scale(d, units.Nanosecond, 20*units.Microsecond))
		if d.chance(0.2) {
			text += ",share=active"
		}
		if rr {
			text += ",mode=rr"
		}
		spec, err := carc.Parse(text)
		if err != nil {
			panic(err) // ours, whatever the seed
		}
		p.traits[i].cache, p.traits[i].llc = &spec, llc
		if d.chance(0.7) {
			p.traits[i].slow = scale(d, units.Nanosecond, 200*units.Microsecond)
		}
	}
	for _, s := range p.sessions {
		if !p.mode.tokens {
			s.path = cc.Path{LineRate: p.topology.slowest, BaseRTT: max(p.trip, units.Microsecond),
				Payload: s.mtu}
		}
	}
}

// admitCredits makes the gate and the granter, which are watched.
func (x *side) admitCredits() error {
	gate, granter, err := x.node.cache.New(x.session.path)
	if err != nil {
		return err
	}
	x.credits = &watchedCredits{Gate: gate, side: x}
	x.returns = &watchedReturns{Granter: granter, side: x}
	return nil
}

// consume has the program consume a message of the peer, a while later.
func (x *side) consume(bytes units.Bytes) {
	if x.returns == nil {
		return
	}
	w := x.session.world
	x.unconsumed++
	w.net.At(w.net.Now().Add(between(w.dice, 0, x.node.traits().slow)), func() {
		x.unconsumed--
		if !x.over() {
			if err := x.qp.Consumed(bytes); err != nil {
				x.violated(nil, "%v", err)
			}
			x.wake()
			x.respond(bytes)
		}
		x.session.check()
	})
}

// respond has the peer's program hear that its message was consumed, where that returns its
// credits.
func (x *side) respond(bytes units.Bytes) {
	if !x.node.traits().cache.RequestResponse() {
		return
	}
	w := x.session.world
	w.net.At(w.net.Now().Add(between(w.dice, 0, x.session.plan.trip)), func() {
		if peer := x.peer; !peer.over() {
			peer.qp.Answered(bytes)
			peer.wake()
		}
	})
}

// watchedCredits keeps an account of what a gate lets go, and looks that never more is out than it
// may be.
type watchedCredits struct {
	*carc.Gate
	side  *side
	taken carc.Lines
	out   []taken // that are not returned, oldest first
}

// taken is a message that took credits.
type taken struct {
	upTo      carc.Lines // of all that were taken
	most      carc.Lines // credits there were since, at most
	overdrawn carc.Lines // its own, when it took more than there were
}

// Agree implements cc.CreditGate.
func (g *watchedCredits) Agree(t cc.CreditTerms) {
	g.Gate.Agree(t)
	g.look()
}

// Took implements cc.Gate.
func (g *watchedCredits) Took(p *cc.Outgoing, now units.Time) cc.Marks {
	before, credits := g.Outstanding(), g.Credits()
	marks := g.Gate.Took(p, now)
	if n := g.Outstanding() - before; n > 0 {
		g.taken += n
		t := taken{upTo: g.taken, most: credits}
		if n > credits {
			t.overdrawn = n
		}
		g.out = append(g.out, t)
	}
	g.look()
	return marks
}

// Hear implements cc.Gate. Nobody returns what was not consumed.
func (g *watchedCredits) Hear(n *cc.Notice, b cc.Backlog, now units.Time) error {
	err := g.Gate.Hear(n, b, now)
	if r := g.side.peer.returns; n.Returned > uint64(r.consumed) {
		g.side.violated(nil, "%d lines are returned, and %d were consumed", n.Returned, r.consumed)
	}
	g.look()
	return err
}

// Answered implements cc.CreditGate.
func (g *watchedCredits) Answered(bytes units.Bytes, now units.Time) {
	g.Gate.Answered(bytes, now)
	g.look()
}

// look checks what is out against the most credits that there were since the oldest of it left, and
// one message that is larger than all.
func (g *watchedCredits) look() {
	returned := g.taken - g.Outstanding()
	for len(g.out) > 0 && g.out[0].upTo <= returned {
		g.out = g.out[1:]
	}
	overdrafts, overdrawn := 0, carc.Lines(0)
	for i := range g.out {
		t := &g.out[i]
		t.most = max(t.most, g.Credits())
		if t.overdrawn > 0 {
			overdrafts++
			overdrawn = t.overdrawn
		}
	}
	if len(g.out) > 0 && (overdrafts > 1 || g.Outstanding() > g.out[0].most+overdrawn) {
		g.side.violated(nil, "%d lines are out, of %d, and %d messages overdrawn, %d lines",
			g.Outstanding(), g.out[0].most, overdrafts, overdrawn)
	}
}

// watchedReturns keeps an account of what is consumed, and looks that the host's sessions together
// are told of no more than its cache.
type watchedReturns struct {
	*carc.Granter
	side                *side
	line                units.Bytes
	told                units.Bytes // of the cache, but for what loosens it
	delivered, consumed carc.Lines
}

// Attach implements cc.Granter.
func (g *watchedReturns) Attach(r cc.Reporter) {
	n := g.side.node
	if r == nil {
		delete(n.sharers, g)
	} else {
		n.sharers[g] = true
	}
	g.Granter.Attach(r)
}

// Agree implements cc.CreditGranter.
func (g *watchedReturns) Agree(t cc.CreditTerms) {
	g.line = t.Line
	g.Granter.Agree(t)
	g.tells()
}

// tells notes what the sender is told of.
func (g *watchedReturns) tells() {
	g.told = units.Bytes(g.Credits()-max(0, g.Delta())) * g.line
	g.side.node.lookCredits()
}

func (g *watchedReturns) lines(bytes units.Bytes) carc.Lines {
	return carc.Lines((bytes + g.line - 1) / g.line)
}

// Delivered implements cc.CreditGranter.
func (g *watchedReturns) Delivered(bytes units.Bytes, now units.Time) {
	g.delivered += g.lines(bytes)
	g.Granter.Delivered(bytes, now)
}

// Consumed implements cc.Granter.
func (g *watchedReturns) Consumed(bytes units.Bytes, now units.Time) {
	if g.consumed += g.lines(bytes); g.consumed > g.delivered {
		g.side.violated(nil, "%d lines are consumed, of %d", g.consumed, g.delivered)
	}
	g.Granter.Consumed(bytes, now)
}

// Emit implements cc.Granter.
func (g *watchedReturns) Emit(incomplete bool, now units.Time) (cc.Notice, bool) {
	n, some := g.Granter.Emit(incomplete, now)
	if some {
		if n.Returned > uint64(g.consumed) {
			g.side.violated(nil, "returns %d lines, and %d were consumed", n.Returned, g.consumed)
		}
		g.tells()
	}
	return n, some
}

// lookCredits checks the host's credits against its cache: but for what loosens them, and the
// packet that each session may send in any case.
func (n *node) lookCredits() {
	sum, room := units.Bytes(0), n.llc
	for g := range n.sharers {
		sum += g.told
		room += g.side.session.mtu + g.line
	}
	if sum > room {
		n.violated("%d sessions are told of %d bytes of cache, of %d", len(n.sharers), int64(sum),
			int64(room))
	}
}

// balanced checks, when all went well, that no line was lost.
func (x *side) balanced() {
	peer := x.peer
	if x.credits == nil || x.dead || x.aborted || x.gone || x.withdrawn || peer.dead ||
		peer.aborted || peer.gone || peer.withdrawn || x.fatals+peer.fatals > 0 ||
		peer.returns == nil {
		return
	}
	if r := peer.returns; x.credits.taken != r.consumed || r.consumed != r.delivered {
		x.violated(nil, "%d lines were taken, %d delivered, %d consumed", x.credits.taken,
			r.delivered, r.consumed)
	}
}

func (g *watchedCredits) String() string {
	return fmt.Sprintf("gate: taken %d, out %d of %d, next %v, %+v", g.taken, g.Outstanding(),
		g.Credits(), g.Next(), g.Stats())
}

func (g *watchedReturns) String() string {
	return fmt.Sprintf("granter: delivered %d, consumed %d, credits %d and %d, next %v, %+v",
		g.delivered, g.consumed, g.Credits(), g.Delta(), g.Next(), g.Stats())
}
