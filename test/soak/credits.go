package main

import (
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// The mode carc: every session is a reliable connection with a gate and a granter of package carc
// at both ends, and every host has a cache that its sessions share. Programs consume received
// messages after a delay, in any order; where responses return credits, they arrive up to a round
// trip later. CREDITs are lost like the control messages of the mode tocc.

// creditDelay is how long CREDITs may follow after everything was consumed.
const creditDelay = 100 * units.Microsecond

// hasAdmission reports whether senders have gates beside congestion control.
func (m *mode) hasAdmission() bool { return m.tokens || m.credits }

// drawCredits draws the caches from a generator of its own.
func (p *plan) drawCredits() {
	if !p.mode.credits {
		return
	}
	r := newRNG(p.seed, 0x63617263)
	rr := r.chance(0.3)
	for i := range p.traits {
		llc := logUniform(r, 8*units.KiB, 4*units.MiB)
		text := fmt.Sprintf("llc=%dB,line=%dB,delta=%s,hold=%v,gather=%v", int64(llc),
			pick(r, 32, 64, 64, 128),
			pick(r, "auto", "auto", "off", "20", "-20"), logUniform(r, units.Microsecond,
				units.Millisecond), logUniform(r, units.Nanosecond, 20*units.Microsecond))
		if r.chance(0.2) {
			text += ",share=active"
		}
		if rr {
			text += ",mode=rr"
		}
		spec, err := carc.Parse(text)
		if err != nil {
			panic(err) // the text is ours, whatever the seed
		}
		p.traits[i].cache, p.traits[i].llc = &spec, llc
		if r.chance(0.7) {
			p.traits[i].consumeDelay = logUniform(r, units.Nanosecond, 200*units.Microsecond)
		}
	}
	for _, s := range p.sessions {
		if !p.mode.tokens {
			s.path = cc.Path{LineRate: p.topology.slowest, BaseRTT: max(p.baseRTT,
				units.Microsecond),
				Payload: s.mtu}
		}
	}
}

// newCredits creates the gate and the granter, with checks around both.
func (end *peerEnd) newCredits() error {
	gate, granter, err := end.node.cache.New(end.session.path)
	if err != nil {
		return err
	}
	end.creditGate = &checkedCreditGate{Gate: gate, end: end}
	end.creditGranter = &checkedCreditGranter{Granter: granter, end: end}
	return nil
}

// consume makes the program consume a message of the peer after a delay.
func (end *peerEnd) consume(bytes units.Bytes) {
	if end.creditGranter == nil {
		return
	}
	sim := end.session.sim
	end.unconsumed++
	sim.net.At(sim.net.Now().Add(uniform(sim.rng, 0, end.node.traits().consumeDelay)), func() {
		end.unconsumed--
		if !end.isOver() {
			if err := end.qp.Admission().Consumed(bytes); err != nil {
				end.failf(nil, "%v", err)
			}
			end.wake()
			end.returnResponse(bytes)
		}
		end.session.endIfFinished()
	})
}

// returnResponse delivers a response to the peer's program, where responses return credits.
func (end *peerEnd) returnResponse(bytes units.Bytes) {
	if !end.node.traits().cache.RequestResponse() {
		return
	}
	sim := end.session.sim
	sim.net.At(sim.net.Now().Add(uniform(sim.rng, 0, end.session.plan.baseRTT)), func() {
		if peer := end.peer; !peer.isOver() {
			peer.qp.Admission().Answered(bytes)
			peer.wake()
		}
	})
}

// checkedCreditGate counts the credits that a gate takes and checks that its outstanding lines
// never exceed their bound.
type checkedCreditGate struct {
	*carc.Gate
	end         *peerEnd
	taken       carc.Lines
	outstanding []taken // messages whose credits are not returned, oldest first
}

// taken is a message that took credits.
type taken struct {
	upTo       carc.Lines // of all credits taken
	maxCredits carc.Lines // maximum credits of the gate since
	overdrawn  carc.Lines // its own, if it took more than the gate had
}

// Agree implements cc.CreditGate.
func (g *checkedCreditGate) Agree(t cc.CreditTerms) {
	g.Gate.Agree(t)
	g.check()
}

// Sent implements cc.Gate.
func (g *checkedCreditGate) Sent(p *cc.Outgoing, now units.Time) cc.Marks {
	before, credits := g.Outstanding(), g.Credits()
	marks := g.Gate.Sent(p, now)
	if n := g.Outstanding() - before; n > 0 {
		g.taken += n
		t := taken{upTo: g.taken, maxCredits: credits}
		if n > credits {
			t.overdrawn = n
		}
		g.outstanding = append(g.outstanding, t)
	}
	g.check()
	return marks
}

// Receive implements cc.Gate. It checks that no more is returned than was consumed.
func (g *checkedCreditGate) Receive(n *cc.ControlMessage, b cc.Backlog, now units.Time) error {
	err := g.Gate.Receive(n, b, now)
	if r := g.end.peer.creditGranter; n.Returned > uint64(r.consumed) {
		g.end.failf(nil, "%d lines returned, want at most the %d consumed", n.Returned, r.consumed)
	}
	g.check()
	return err
}

// Answered implements cc.CreditGate.
func (g *checkedCreditGate) Answered(bytes units.Bytes, now units.Time) {
	g.Gate.Answered(bytes, now)
	g.check()
}

// check compares the outstanding lines with the maximum credits since the oldest of them left, plus
// one message larger than all credits.
func (g *checkedCreditGate) check() {
	returned := g.taken - g.Outstanding()
	for len(g.outstanding) > 0 && g.outstanding[0].upTo <= returned {
		g.outstanding = g.outstanding[1:]
	}
	overdrafts, overdrawn := 0, carc.Lines(0)
	for i := range g.outstanding {
		t := &g.outstanding[i]
		t.maxCredits = max(t.maxCredits, g.Credits())
		if t.overdrawn > 0 {
			overdrafts++
			overdrawn = t.overdrawn
		}
	}
	if len(g.outstanding) > 0 && (overdrafts > 1 ||
		g.Outstanding() > g.outstanding[0].maxCredits+overdrawn) {
		g.end.failf(nil, "%d lines outstanding, of %d credits; %d messages overdrawn, by %d lines",
			g.Outstanding(), g.outstanding[0].maxCredits, overdrafts, overdrawn)
	}
}

// checkedCreditGranter counts delivered and consumed lines and checks that the host's sessions
// together are granted no more than its cache.
type checkedCreditGranter struct {
	*carc.Granter
	end                 *peerEnd
	line                units.Bytes
	advertised          units.Bytes // credits without the delta that loosens them
	delivered, consumed carc.Lines
}

// Attach implements cc.Granter.
func (g *checkedCreditGranter) Attach(r cc.Reporter) {
	n := g.end.node
	if r == nil {
		delete(n.cacheSharers, g)
	} else {
		n.cacheSharers[g] = true
	}
	g.Granter.Attach(r)
}

// Agree implements cc.CreditGranter.
func (g *checkedCreditGranter) Agree(t cc.CreditTerms) {
	g.line = t.Line
	g.Granter.Agree(t)
	g.updateAdvertised()
}

// updateAdvertised records the credits that the sender knows.
func (g *checkedCreditGranter) updateAdvertised() {
	g.advertised = units.Bytes(g.Credits()-max(0, g.Delta())) * g.line
	g.end.node.checkCacheShare()
}

func (g *checkedCreditGranter) lines(bytes units.Bytes) carc.Lines {
	return carc.Lines((bytes + g.line - 1) / g.line)
}

// Delivered implements cc.CreditGranter.
func (g *checkedCreditGranter) Delivered(bytes units.Bytes, now units.Time) {
	g.delivered += g.lines(bytes)
	g.Granter.Delivered(bytes, now)
}

// Consumed implements cc.Granter.
func (g *checkedCreditGranter) Consumed(bytes units.Bytes, now units.Time) {
	if g.consumed += g.lines(bytes); g.consumed > g.delivered {
		g.end.failf(nil, "%d lines consumed, want at most the %d delivered", g.consumed,
			g.delivered)
	}
	g.Granter.Consumed(bytes, now)
}

// Emit implements cc.Granter.
func (g *checkedCreditGranter) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	n, some := g.Granter.Emit(incomplete, now)
	if some {
		if n.Returned > uint64(g.consumed) {
			g.end.failf(nil, "returns %d lines, want at most the %d consumed", n.Returned,
				g.consumed)
		}
		g.updateAdvertised()
	}
	return n, some
}

// checkCacheShare checks the host's credits against its cache. The delta that loosens credits, and
// the packet that each session may always send, are excluded.
func (n *node) checkCacheShare() {
	sum, room := units.Bytes(0), n.llc
	for g := range n.cacheSharers {
		sum += g.advertised
		room += g.end.session.mtu + g.line
	}
	if sum > room {
		n.failf("%d sessions are granted %d bytes of cache, want at most %d", len(n.cacheSharers),
			int64(sum),
			int64(room))
	}
}

// checkCreditBalance checks, after a session without errors, that no line was lost.
func (end *peerEnd) checkCreditBalance() {
	peer := end.peer
	if end.creditGate == nil || end.errored || end.aborted || end.destroyed || end.withdrawn ||
		peer.errored ||
		peer.aborted || peer.destroyed || peer.withdrawn || end.fatalEvents+peer.fatalEvents > 0 ||
		peer.creditGranter == nil {
		return
	}
	if r := peer.creditGranter; end.creditGate.taken != r.consumed || r.consumed != r.delivered {
		end.failf(nil, "%d lines taken, %d delivered, %d consumed, want equal",
			end.creditGate.taken,
			r.delivered, r.consumed)
	}
}

func (g *checkedCreditGate) String() string {
	return fmt.Sprintf("gate: taken %d, outstanding %d of %d, next %v, %+v", g.taken,
		g.Outstanding(),
		g.Credits(), g.Next(), g.Stats())
}

func (g *checkedCreditGranter) String() string {
	return fmt.Sprintf("granter: delivered %d, consumed %d, credits %d and %d, next %v, %+v",
		g.delivered, g.consumed, g.Credits(), g.Delta(), g.Next(), g.Stats())
}
