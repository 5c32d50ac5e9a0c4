package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// The mode tocc: every session is a reliable connection that repeats selectively, with a gate and a
// granter of package tocc at both ends, whatever the kind of the seed. Where packets are lost, RTSs
// and TOKENs are lost more often than others, and hosts stall, so that tokens grow old.

// toccTimeout is the least time that an ACK may take then: a notice that was not heard of is said
// again a millisecond later at most.
const toccTimeout = 5 * units.Millisecond

// drawTokens draws points of the design space, from dice of their own: other modes draw what they
// drew before.
func (p *plan) drawTokens() {
	if !p.mode.tokens {
		return
	}
	for _, s := range p.sessions {
		d := newDice(p.seed, uint64(s.number)<<32|0x746f6363)
		s.path = cc.Path{LineRate: p.topology.slowest, BaseRTT: max(p.trip, units.Microsecond),
			Payload: s.mtu, Signals: cc.SignalDelay | cc.SignalMarks}
		bdp := s.path.BDP()
		unsch := "0B"
		if bdp >= s.mtu && d.chance(0.6) {
			s.unscheduled, unsch = bdp, "1BDP"
		}
		// one packet a round trip would waste thousands of tokens each time
		for _, x := range s.sides {
			if x.window = max(x.window, bdp/16); x.inFlight > 0 {
				x.inFlight = max(x.inFlight, bdp/16)
			}
		}
		window := scale(d, s.mtu, max(units.MiB, bdp))
		k, age := int64(s.mtu)*between(d, int64(1), 8), oneOf(d, 0, 20*units.Microsecond,
			200*units.Microsecond)
		if age > 0 { // a poller that is away for longer would discard all tokens
			age += 2 * p.away
		}
		text := fmt.Sprintf("k=%d,unsch=%s,window=%dB,most=%dB,age=%v", k, unsch, int64(window),
			int64(16*max(units.MiB, bdp)), age)
		for _, off := range []string{"realtime", "pace"} {
			if d.chance(0.2) {
				text += "," + off + "=off"
			}
		}
		text += fmt.Sprintf(",priority=%d,cc=%s", d.IntN(8),
			oneOf(d, "none", "dcqcn", "dcqcn", "dctcp", "swift", "timely"))
		spec, err := tocc.Parse(text)
		if err != nil {
			panic(err) // ours, whatever the seed
		}
		s.tokens, s.patience = &spec, oneOf(d, 0, 0,
			scale(d, units.Microsecond, 300*units.Microsecond))
	}
}

// admit gives the queue pair its gates and its granters, which are watched.
func (x *side) admit() error {
	var (
		s        = x.session
		gates    []cc.Gate
		granters []cc.Granter
	)
	if s.tokens != nil {
		path := s.path
		path.Seed = uint32(x.number)
		gate, granter, err := s.tokens.New(path)
		if err != nil {
			return err
		}
		x.gate = &watchedGate{Gate: gate, side: x}
		x.granter = &watchedGranter{Granter: granter, side: x}
		gates, granters = append(gates, x.gate), append(granters, x.granter)
	}
	if s.plan.mode.credits {
		if err := x.admitCredits(); err != nil {
			return err
		}
		gates, granters = append(gates, x.credits), append(granters, x.returns)
	}
	if gates == nil {
		return nil
	}
	return x.qp.Admit(cc.AllOf(gates...), granters...)
}

// watchedGate keeps an account of what a gate lets go, and looks that its unscheduled phase keeps
// its bound.
type watchedGate struct {
	cc.Gate
	side *side

	posted, lost units.Bytes // to send, and to send again
	left         units.Bytes // for the first time or again
	free         units.Bytes // left without a token
	loose        units.Bytes // of them, at most, what is not acknowledged
}

// Posted implements cc.Gate.
func (g *watchedGate) Posted(bytes units.Bytes, b cc.Backlog, now units.Time) {
	g.posted += bytes
	g.look(b)
	g.Gate.Posted(bytes, b, now)
}

// Took implements cc.Gate.
func (g *watchedGate) Took(p *cc.Outgoing, now units.Time) cc.Marks {
	g.look(p.Backlog)
	marks := g.Gate.Took(p, now)
	g.left += p.Bytes
	if marks.Set&cc.MarkUnscheduled != 0 {
		g.free += p.Bytes
		if g.loose += p.Bytes; g.loose > g.side.session.unscheduled {
			g.side.violated(nil, "%d bytes are under way that had no token, and %d may be",
				int64(g.loose), int64(g.side.session.unscheduled))
		}
	}
	return marks
}

// Lost implements cc.Gate.
func (g *watchedGate) Lost(bytes units.Bytes, b cc.Backlog, now units.Time) {
	g.lost += bytes
	g.look(b)
	g.Gate.Lost(bytes, b, now)
}

// Hear implements cc.Gate.
func (g *watchedGate) Hear(n *cc.Notice, b cc.Backlog, now units.Time) error {
	g.look(b)
	return g.Gate.Hear(n, b, now)
}

// Emit implements cc.Gate.
func (g *watchedGate) Emit(b cc.Backlog, now units.Time) (cc.Notice, bool) {
	g.look(b)
	n, some := g.Gate.Emit(b, now)
	if some && b.Waits > g.waits() {
		g.side.violated(nil, "%d bytes wait to be sent, of %d posted, %d that left and %d lost",
			int64(b.Waits), int64(g.posted), int64(g.left), int64(g.lost))
	}
	return n, some
}

// waits is what was posted and did not leave, or was lost.
func (g *watchedGate) waits() units.Bytes { return g.posted + g.lost - g.left }

// look takes what is under way for what left last.
func (g *watchedGate) look(b cc.Backlog) { g.loose = min(g.loose, b.InFlight) }

// discarded is how many bytes of tokens it let go unused.
func (g *watchedGate) discarded() units.Bytes {
	t := g.Gate.(*tocc.Sender).Tally()
	return t.Discarded + t.Unneeded
}

// watchedGranter keeps an account of what a granter grants.
type watchedGranter struct {
	cc.Granter
	side *side

	granted, missing units.Bytes
}

// Missing implements cc.Granter.
func (g *watchedGranter) Missing(packets int, bytes units.Bytes, now units.Time) {
	g.missing += bytes
	g.Granter.Missing(packets, bytes, now)
}

// Emit implements cc.Granter. Total volume control: what is granted is what needs tokens, what was
// lost and is sent again, as either end may be the first to know, and what the sender discarded.
func (g *watchedGranter) Emit(incomplete bool, now units.Time) (cc.Notice, bool) {
	n, some := g.Granter.Emit(incomplete, now)
	if !some {
		return n, some
	}
	g.granted += units.Bytes(int32(n.Limit - uint32(g.granted)))
	sender := g.side.peer.gate
	needed, again, discarded := sender.posted-sender.free, sender.lost+g.missing, sender.discarded()
	if g.granted > needed+again+discarded {
		g.side.violated(nil, "granted %d bytes, for %d to be sent, %d lost and %d discarded",
			int64(g.granted), int64(needed), int64(again), int64(discarded))
	}
	return n, some
}

func (g *watchedGate) String() string {
	return fmt.Sprintf("gate: posted %d, lost %d, free %d, loose %d, next %v, %+v", int64(g.posted),
		int64(g.lost), int64(g.free), int64(g.loose), g.Next(), g.Gate.(*tocc.Sender).Tally())
}

func (g *watchedGranter) String() string {
	return fmt.Sprintf("granter: granted %d, missing %d, next %v, %+v", int64(g.granted),
		int64(g.missing), g.Next(), g.Granter.(*tocc.Receiver).Tally())
}
