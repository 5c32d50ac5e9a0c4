package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// The mode tocc: every session is a reliable connection with selective repeat, with a gate and a
// granter of package tocc at both ends, whatever the kind of the seed. Where packets are lost, RTSs
// and TOKENs are lost more often than others, and hosts stall, so that tokens expire.

// toccTimeout is the minimum ACK timeout with tokens: a lost control message is repeated after at
// most a millisecond.
const toccTimeout = 5 * units.Millisecond

// drawTokens draws points of the design space, from generators of their own, so that other modes
// draw the same values as without it.
func (p *plan) drawTokens() {
	if !p.mode.tokens {
		return
	}
	for _, s := range p.sessions {
		r := newRNG(p.seed, uint64(s.number)<<32|0x746f6363)
		s.path = cc.Path{LineRate: p.topology.slowest, BaseRTT: max(p.baseRTT, units.Microsecond),
			Payload: s.mtu, Signals: cc.SignalDelay | cc.SignalMarks}
		bdp := s.path.BDP()
		unsch := "0B"
		if bdp >= s.mtu && r.chance(0.6) {
			s.unscheduled, unsch = bdp, "1BDP"
		}
		// One packet per round trip would waste thousands of tokens each time.
		for _, end := range s.ends {
			if end.window = max(end.window, bdp/16); end.inFlight > 0 {
				end.inFlight = max(end.inFlight, bdp/16)
			}
		}
		window := logUniform(r, s.mtu, max(units.MiB, bdp))
		k, age := int64(s.mtu)*uniform(r, int64(1), 8), pick(r, 0, 20*units.Microsecond,
			200*units.Microsecond)
		if age > 0 { // a poller that is absent for longer would discard all tokens
			age += 2 * p.maxAbsence
		}
		text := fmt.Sprintf("k=%d,unsch=%s,window=%dB,most=%dB,age=%v", k, unsch, int64(window),
			int64(16*max(units.MiB, bdp)), age)
		for _, off := range []string{"realtime", "pace"} {
			if r.chance(0.2) {
				text += "," + off + "=off"
			}
		}
		text += fmt.Sprintf(",priority=%d,cc=%s", r.IntN(8),
			pick(r, "none", "dcqcn", "dcqcn", "dctcp", "swift", "timely"))
		spec, err := tocc.Parse(text)
		if err != nil {
			panic(err) // the text is ours, whatever the seed
		}
		s.tokens, s.reordering = &spec, pick(r, 0, 0,
			logUniform(r, units.Microsecond, 300*units.Microsecond))
	}
}

// admit attaches gates and granters to the queue pair, with checks around each.
func (end *peerEnd) admit() error {
	var (
		s        = end.session
		gates    []cc.Gate
		granters []cc.Granter
	)
	if s.tokens != nil {
		path := s.path
		path.Seed = uint32(end.number)
		gate, granter, err := s.tokens.New(path)
		if err != nil {
			return err
		}
		end.tokenGate = &checkedGate{Gate: gate, end: end}
		end.tokenGranter = &checkedGranter{Granter: granter, end: end}
		gates, granters = append(gates, end.tokenGate), append(granters, end.tokenGranter)
	}
	if s.plan.mode.credits {
		if err := end.newCredits(); err != nil {
			return err
		}
		gates, granters = append(gates, end.creditGate), append(granters, end.creditGranter)
	}
	if gates == nil {
		return nil
	}
	return end.qp.Modify(transport.Init,
		transport.QPAttr{Gate: cc.AllOf(gates...), Granters: granters})
}

// checkedGate counts the bytes that a gate lets pass and checks the bound of its unscheduled phase.
type checkedGate struct {
	cc.Gate
	end *peerEnd

	posted, lost        units.Bytes // for the first transmission, and for retransmission
	sent                units.Bytes // first transmissions and retransmissions
	unscheduled         units.Bytes // sent without a token
	unscheduledInFlight units.Bytes // upper bound of the unacknowledged part
}

// Posted implements cc.Gate.
func (g *checkedGate) Posted(bytes units.Bytes, b cc.Backlog, now units.Time) {
	g.posted += bytes
	g.update(b)
	g.Gate.Posted(bytes, b, now)
}

// Sent implements cc.Gate.
func (g *checkedGate) Sent(p *cc.Outgoing, now units.Time) cc.Marks {
	g.update(p.Backlog)
	marks := g.Gate.Sent(p, now)
	g.sent += p.Bytes
	if marks.Set&cc.MarkUnscheduled != 0 {
		g.unscheduled += p.Bytes
		if g.unscheduledInFlight += p.Bytes; g.unscheduledInFlight > g.end.session.unscheduled {
			g.end.failf(nil, "%d unscheduled bytes in flight, want at most %d",
				int64(g.unscheduledInFlight), int64(g.end.session.unscheduled))
		}
	}
	return marks
}

// Lost implements cc.Gate.
func (g *checkedGate) Lost(bytes units.Bytes, b cc.Backlog, now units.Time) {
	g.lost += bytes
	g.update(b)
	g.Gate.Lost(bytes, b, now)
}

// Receive implements cc.Gate.
func (g *checkedGate) Receive(n *cc.ControlMessage, b cc.Backlog, now units.Time) error {
	g.update(b)
	return g.Gate.Receive(n, b, now)
}

// Emit implements cc.Gate.
func (g *checkedGate) Emit(b cc.Backlog, now units.Time) (cc.ControlMessage, bool) {
	g.update(b)
	n, some := g.Gate.Emit(b, now)
	if some && b.Waits > g.unsent() {
		g.end.failf(nil, "%d bytes wait: %d posted, %d sent and %d lost",
			int64(b.Waits), int64(g.posted), int64(g.sent), int64(g.lost))
	}
	return n, some
}

// unsent returns the bytes that were posted or lost and not sent since.
func (g *checkedGate) unsent() units.Bytes { return g.posted + g.lost - g.sent }

// update bounds the unscheduled bytes in flight by all bytes in flight.
func (g *checkedGate) update(b cc.Backlog) {
	g.unscheduledInFlight = min(g.unscheduledInFlight, b.InFlight)
}

// discarded returns the bytes of tokens that the sender discarded.
func (g *checkedGate) discarded() units.Bytes {
	t := g.Gate.(*tocc.Sender).Stats()
	return t.Discarded + t.Unneeded
}

// checkedGranter checks what a granter grants.
type checkedGranter struct {
	cc.Granter
	end *peerEnd

	granted, missing units.Bytes
}

// Missing implements cc.Granter.
func (g *checkedGranter) Missing(packets int, bytes units.Bytes, now units.Time) {
	g.missing += bytes
	g.Granter.Missing(packets, bytes, now)
}

// Emit implements cc.Granter. It checks total volume control: a granter grants at most what needs
// tokens, plus what was lost and is sent again, as either end may detect it first, plus what the
// sender discarded.
func (g *checkedGranter) Emit(incomplete bool, now units.Time) (cc.ControlMessage, bool) {
	n, some := g.Granter.Emit(incomplete, now)
	if !some {
		return n, some
	}
	g.granted += units.Bytes(int32(n.Limit - uint32(g.granted)))
	sender := g.end.peer.tokenGate
	needed, again, discarded := sender.posted-sender.unscheduled, sender.lost+g.missing,
		sender.discarded()
	if g.granted > needed+again+discarded {
		g.end.failf(nil, "granted %d bytes, want at most %d to be sent, %d lost and %d discarded",
			int64(g.granted), int64(needed), int64(again), int64(discarded))
	}
	return n, some
}

func (g *checkedGate) String() string {
	return fmt.Sprintf("gate: posted %d, lost %d, unscheduled %d, in flight %d, next %v, %+v",
		int64(g.posted),
		int64(g.lost), int64(g.unscheduled), int64(g.unscheduledInFlight), g.Next(),
		g.Gate.(*tocc.Sender).Stats())
}

func (g *checkedGranter) String() string {
	return fmt.Sprintf("granter: granted %d, missing %d, next %v, %+v", int64(g.granted),
		int64(g.missing), g.Next(), g.Granter.(*tocc.Receiver).Stats())
}
