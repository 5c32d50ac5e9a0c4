package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// side is one end of a session: a queue pair, what it sends, and what it knows of that.
type side struct {
	session *session
	number  int // of all sides
	host    int
	peer    *side
	script  []*message

	depth, recvDepth  int
	sges, recvSGEs    int
	inline            int
	signals           float64 // how many requests ask for a completion
	signalAll         bool
	shared            bool // receives from the node's shared queue
	window, inFlight  units.Bytes
	rate              units.BitRate
	whimsical         bool        // window and rate are the least of what changes by whim
	hears             cc.EventSet // and on what occasions
	reads, serves     int         // outstanding at the peer, and of the peer
	retries, rnrRetry uint8
	rnrTimer, timeout uint8
	rtoLow, rtoHigh   units.Duration
	drainAt           units.Time // when the program stops its send queue for a while; 0: never
	haltAt            units.Time // when the program stops something for good; 0: never
	halts             halt       // and what that is
	psn               wire.PSN
	again             *side // of the prior session: its queue pair is used

	shortest, patience units.Duration // the shortest time-out, and the longest for all retries
	fragile            bool           // bad luck may exceed the retries

	node    *node
	life    int // of the node
	qp      *transport.QueuePair
	tag     uint16       // that packets of the extension have, toward it
	gate    *watchedGate // nil without tokens
	granter *watchedGranter
	credits *watchedCredits // nil without credits
	returns *watchedReturns
	handle  *transport.AddressHandle
	local   *arena // what is sent, read and found
	target  *arena // what the peer writes and reads
	vault   *arena // what it may not
	exile   *arena // what belongs to another domain
	inbox   *inbox

	takes []*message // of the peer, for which a receive is posted

	next, done int        // messages posted, and messages completed
	heard      int        // messages of the peer that came before the next to be received
	alarm      units.Time // when it posts next
	watched    bool       // by its node, in each round
	draining   bool       // its send queue, by the program
	aborted    bool       // by the program
	withdrawn  bool       // its target region, by the program
	dead       bool       // a request failed or was flushed
	failures   int        // requests that failed, and were not flushed
	extra      int        // messages posted after that
	unconsumed int        // messages of the peer, by the program
	fatals     int        // asynchronous events that said so
	gone       bool       // its host stopped, or the program destroyed the queue pair
	closed     bool
}

func (s *session) newSide(d dice, host, number int) *side {
	p := s.plan
	x := &side{session: s, number: number, host: host,
		depth: scale(d, 1, 64), recvDepth: scale(d, 1, 64), sges: between(d, 1, 5),
		recvSGEs: between(d, 1, 5),
		signals:  oneOf(d, 1, 0.7, 0.2), signalAll: d.chance(0.1),
		window: scale(d, units.Bytes(100), units.MiB), psn: wire.PSN(d.Uint32() & wire.PSNMask),
		rnrTimer: between(d, uint8(1), 14), rnrRetry: 7, retries: 7,
	}
	if d.chance(0.5) {
		x.inline = scale(d, 8, transport.MaxInline)
	}
	if d.chance(0.1) { // soon to wrap
		x.psn = wire.PSN(wire.PSNMask - d.IntN(50))
	}
	if d.chance(0.15) {
		x.rate = max(100*units.Mbps, scale(d, p.topology.slowest/20, p.topology.slowest))
	}
	if d.chance(0.3) {
		x.whimsical, x.hears = true, cc.EventSet(d.Uint32())|cc.Events(cc.TIMER)
	}
	if d.chance(0.3) {
		x.inFlight = scale(d, units.Bytes(100), units.MiB)
	}
	if d.chance(0.3) {
		x.retries = between(d, uint8(0), 7)
	}
	x.shared = s.service != transport.UD && p.traits[host].shared > 0 && d.chance(0.8)
	return x
}

// reuse makes the side use the queue pair of a side of the prior session, as that was created.
func (x *side) reuse(d dice, prior *side) {
	x.again, x.psn = prior, wire.PSN(d.Uint32()&wire.PSNMask)
	x.depth, x.recvDepth, x.sges, x.recvSGEs, x.inline = prior.depth, prior.recvDepth, prior.sges,
		prior.recvSGEs, prior.inline
	x.signalAll, x.shared, x.window, x.rate, x.whimsical, x.hears = prior.signalAll, prior.shared,
		prior.window, prior.rate, prior.whimsical, prior.hears
}

// prepare makes the queue pair.
func (x *side) prepare() error {
	n := x.node
	x.life = n.lives
	if old := x.again; old != nil && old.qp != nil && !old.gone && old.life == x.life {
		x.qp = old.qp
		x.qp.ToReset()
		n.sides[x.qp.Num] = x
		return x.admit()
	}
	algorithm, err := x.algorithm()
	if err != nil {
		return err
	}
	init := transport.QPInit{
		Type: x.session.service, PD: n.domain, SendCQ: n.queue, RecvCQ: n.queue, MaxSendWR: x.depth,
		MaxRecvWR:  x.recvDepth,
		MaxSendSGE: x.sges, MaxRecvSGE: x.recvSGEs, MaxInline: x.inline, SignalAll: x.signalAll,
		Algorithm: algorithm,
	}
	if x.shared {
		init.SRQ = n.inbox.queue
	}
	if x.qp, err = n.endpoint.CreateQP(init); err != nil {
		return err
	}
	n.sides[x.qp.Num] = x
	return x.admit()
}

// start begins to post.
func (x *side) start() {
	if x.over() {
		return
	}
	net := x.session.world.net
	x.inbox.supply()
	x.post()
	x.wake()
	if x.drainAt != 0 {
		net.At(x.drainAt, x.drain)
	}
	if x.haltAt != 0 {
		net.At(x.haltAt, x.halt)
	}
}

// over says that nothing can be asked of the queue pair any more.
func (x *side) over() bool { return x.gone || x.closed }

// finished says that all requests have ended.
func (x *side) finished() bool {
	if x.over() {
		return true
	}
	all := x.next == len(x.script) || x.dead && x.extra >= afterFailure || x.aborted
	return all && x.done == x.next && x.unconsumed == 0 &&
		!(x.draining && x.qp.State() == transport.SQDrained)
}

// wake makes the host poll.
func (x *side) wake() {
	if !x.over() {
		x.node.host.Wake()
	}
}

// hangUp ends what is left of the queue pair, after everything that was on its way has come.
func (x *side) hangUp() {
	if !x.over() {
		n := x.node
		n.reap()
		if state := x.qp.State(); state != transport.ReadyToSend && state != transport.SQDrained &&
			!x.dead && !x.aborted && x.fatals == 0 {
			x.violated(nil, "the queue pair is in %v, for no reason", state)
		}
		x.balanced()
		x.closed = true
		x.qp.ToError()
		n.reap()
		if x.done != x.next {
			x.violated(nil, "%d requests have not ended", x.next-x.done)
		}
		x.inbox.emptied()
		delete(n.sides, x.qp.Num)
		if s := x.session.sequel; s == nil || s.sides[0].again == nil {
			x.qp.Destroy()
		}
		if x.handle != nil {
			x.handle.Destroy()
		}
		x.deregister()
		if n.cache != nil { // others have a part of it now
			n.host.Wake()
		}
	}
	for _, m := range x.script {
		if m.progress != waiting {
			x.abandon(m)
		}
	}
}

// violated reports that an invariant does not hold.
func (x *side) violated(m *message, format string, args ...any) {
	where := fmt.Sprintf("host %d", x.host)
	if x.qp != nil {
		where += fmt.Sprintf(" QP %#x", uint32(x.qp.Num))
	}
	where += fmt.Sprintf(" (session %d, to host %d)", x.session.number, x.peer.host)
	if m != nil {
		where += " " + m.String()
	}
	x.session.world.violated("%s: %s", where, fmt.Sprintf(format, args...))
}

// status tells how far the side is.
func (x *side) status() string {
	state, sent := transport.Reset, ""
	if x.qp != nil {
		state, sent = x.qp.State(), fmt.Sprintf(" %+v", x.qp.Stats())
	}
	if x.gate != nil {
		sent += fmt.Sprintf(" %v %v", x.gate, x.granter)
	}
	if x.credits != nil {
		sent += fmt.Sprintf(" %v %v", x.credits, x.returns)
	}
	return fmt.Sprintf(
		"host %d: %v, %d of %d messages posted, %d done, %d of the peer's heard, gone %v%s",
		x.host, state, x.next, len(x.script), x.done, x.heard, x.gone, sent)
}

// describe tells what was drawn.
func (x *side) describe() string {
	return fmt.Sprintf("host %d: %d messages, depths %d and %d, shared %v, window %d, in flight "+
		"%d, rate %v, READs %d, retries %d and %d, timer %d, RNR timer %d, RTO %v to %v, "+
		"patience %v, fragile %v",
		x.host, len(x.script), x.depth, x.recvDepth, x.shared, int64(x.window), int64(x.inFlight),
		x.rate, x.reads, x.retries, x.rnrRetry,
		x.timeout, x.rnrTimer, x.rtoLow, x.rtoHigh, x.patience, x.fragile)
}
