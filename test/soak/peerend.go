package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// peerEnd is one end of a session: a queue pair, its script, and the state of both.
type peerEnd struct {
	session *session
	number  int // among all peer ends
	host    int
	peer    *peerEnd
	script  []*message

	depth, recvDepth int
	sges, recvSGEs   int
	inline           int
	signals          float64 // fraction of requests that are signaled
	signalAll        bool
	shared           bool // receives from the node's shared queue
	window, inFlight units.Bytes
	rate             units.BitRate
	// window and rate are lower bounds of random congestion control
	randomCC              bool
	ccEvents              cc.EventSet // events that random congestion control subscribes to
	maxReads, servedReads int         // limits on outstanding READs and atomics, own and served
	retries, rnrRetry     uint8
	rnrTimer, timeout     uint8
	rtoLow, rtoHigh       units.Duration
	drainAt               units.Time // when the program drains its send queue for a while; 0: never
	haltAt                units.Time // when the program stops something for good; 0: never
	haltKind              haltKind   // what it stops at haltAt
	psn                   wire.PSN
	reused                *peerEnd // of the predecessor: this end reuses its queue pair

	// shortest timeout, and longest time until retries are exceeded
	minTimeout, retryTime units.Duration
	mayExhaust            bool // bad luck may exceed the retries

	node          *node
	incarnation   int // of the node, when the queue pair was created
	qp            *transport.QueuePair
	tag           uint16       // of extension packets toward this end
	tokenGate     *checkedGate // nil without tokens
	tokenGranter  *checkedGranter
	creditGate    *checkedCreditGate // nil without credits
	creditGranter *checkedCreditGranter
	handle        *transport.AddressHandle
	local         *arena // memory that is sent, or holds results of READs and atomics
	target        *arena // memory that the peer writes and reads
	private       *arena // memory without remote access rights
	foreign       *arena // memory of another protection domain
	recv          *recvQueue

	consuming []*message // messages of the peer that consume receives

	next, done       int        // numbers of messages posted and completed
	nextRecv         int        // first message of the peer that was not received
	postTime         units.Time // time of the next scheduled post
	watched          bool       // updated by its node in each round
	draining         bool       // the program drains its send queue
	aborted          bool       // the program moved it to the error state
	withdrawn        bool       // the program deregistered its target region
	errored          bool       // a request failed or was flushed
	failures         int        // requests that failed, flushed ones not counted
	postedAfterError int        // messages posted after an error
	unconsumed       int        // messages of the peer that the program has not consumed
	fatalEvents      int        // asynchronous error events
	destroyed        bool       // its host stopped, or the program destroyed the queue pair
	closed           bool
}

func (s *session) newPeerEnd(r rng, host, number int) *peerEnd {
	p := s.plan
	end := &peerEnd{session: s, number: number, host: host,
		depth: logUniform(r, 1, 64), recvDepth: logUniform(r, 1, 64), sges: uniform(r, 1, 5),
		recvSGEs: uniform(r, 1, 5),
		signals:  pick(r, 1, 0.7, 0.2), signalAll: r.chance(0.1),
		window:   logUniform(r, units.Bytes(100), units.MiB),
		psn:      wire.PSN(r.Uint32() & wire.PSNMask),
		rnrTimer: uniform(r, uint8(1), 14), rnrRetry: 7, retries: 7,
	}
	if r.chance(0.5) {
		end.inline = logUniform(r, 8, endpoint.MaxInline)
	}
	if r.chance(0.1) { // close to wrapping
		end.psn = wire.PSN(wire.PSNMask - r.IntN(50))
	}
	if r.chance(0.15) {
		end.rate = max(100*units.Mbps, logUniform(r, p.topology.slowest/20, p.topology.slowest))
	}
	if r.chance(0.3) {
		end.randomCC, end.ccEvents = true, cc.EventSet(r.Uint32())|cc.Events(cc.TIMER)
	}
	if r.chance(0.3) {
		end.inFlight = logUniform(r, units.Bytes(100), units.MiB)
	}
	if r.chance(0.3) {
		end.retries = uniform(r, uint8(0), 7)
	}
	end.shared = s.service != transport.UD && p.traits[host].shared > 0 && r.chance(0.8)
	return end
}

// copyQueuePair makes the end reuse the queue pair of an end of the predecessor, with its
// attributes.
func (end *peerEnd) copyQueuePair(r rng, predecessor *peerEnd) {
	end.reused, end.psn = predecessor, wire.PSN(r.Uint32()&wire.PSNMask)
	end.depth, end.recvDepth, end.sges, end.recvSGEs, end.inline = predecessor.depth,
		predecessor.recvDepth, predecessor.sges,
		predecessor.recvSGEs, predecessor.inline
	end.signalAll, end.shared, end.window, end.rate, end.randomCC,
		end.ccEvents = predecessor.signalAll, predecessor.shared,
		predecessor.window, predecessor.rate, predecessor.randomCC, predecessor.ccEvents
}

// prepare creates the queue pair, or resets the one it reuses.
func (end *peerEnd) prepare() error {
	n := end.node
	end.incarnation = n.incarnations
	if old := end.reused; old != nil && old.qp != nil && !old.destroyed &&
		old.incarnation == end.incarnation {
		end.qp = old.qp
		_ = end.qp.Modify(transport.Reset, transport.QPAttr{})
		n.ends[end.qp.Num] = end
		return end.admit()
	}
	algorithm, err := end.newAlgorithm()
	if err != nil {
		return err
	}
	init := transport.QPInit{
		Type: end.session.service, PD: n.domain, SendCQ: n.queue, RecvCQ: n.queue,
		MaxSendWR:  end.depth,
		MaxRecvWR:  end.recvDepth,
		MaxSendSGE: end.sges, MaxRecvSGE: end.recvSGEs, MaxInline: end.inline,
		SignalAll: end.signalAll,
		Algorithm: algorithm,
	}
	if end.shared {
		init.SRQ = n.sharedRecv.srq
	}
	if end.qp, err = n.endpoint.CreateQP(init); err != nil {
		return err
	}
	n.ends[end.qp.Num] = end
	return end.admit()
}

// start starts posting.
func (end *peerEnd) start() {
	if end.isOver() {
		return
	}
	net := end.session.sim.net
	end.recv.refill()
	end.post()
	end.wake()
	if end.drainAt != 0 {
		net.At(end.drainAt, end.drain)
	}
	if end.haltAt != 0 {
		net.At(end.haltAt, end.halt)
	}
}

// isOver reports whether the queue pair must no longer be used.
func (end *peerEnd) isOver() bool { return end.destroyed || end.closed }

// isFinished reports whether all requests have completed.
func (end *peerEnd) isFinished() bool {
	if end.isOver() {
		return true
	}
	all := end.next == len(end.script) || end.errored && end.postedAfterError >= afterFailure ||
		end.aborted
	return all && end.done == end.next && end.unconsumed == 0 &&
		!(end.draining && end.qp.State() == transport.SQDrained)
}

// wake makes the host poll.
func (end *peerEnd) wake() {
	if !end.isOver() {
		end.node.host.Wake()
	}
}

// shutDown flushes and destroys the queue pair after all packets in flight have arrived.
func (end *peerEnd) shutDown() {
	if !end.isOver() {
		n := end.node
		n.reap()
		if state := end.qp.State(); state != transport.ReadyToSend &&
			state != transport.SQDrained &&
			!end.errored && !end.aborted && end.fatalEvents == 0 {
			end.failf(nil, "the queue pair is in %v without a cause", state)
		}
		end.checkCreditBalance()
		end.closed = true
		_ = end.qp.Modify(transport.Errored, transport.QPAttr{})
		n.reap()
		if end.done != end.next {
			end.failf(nil, "%d requests have not completed", end.next-end.done)
		}
		end.recv.checkFlushed()
		delete(n.ends, end.qp.Num)
		if s := end.session.successor; s == nil || s.ends[0].reused == nil {
			end.qp.Destroy()
		}
		if end.handle != nil {
			end.handle.Destroy()
		}
		end.deregister()
		if n.cache != nil { // other sessions share its part now
			n.host.Wake()
		}
	}
	for _, m := range end.script {
		if m.progress != waiting {
			end.checkAbandoned(m)
		}
	}
}

// failf records a violation.
func (end *peerEnd) failf(m *message, format string, args ...any) {
	where := fmt.Sprintf("host %d", end.host)
	if end.qp != nil {
		where += fmt.Sprintf(" QP %#x", uint32(end.qp.Num))
	}
	where += fmt.Sprintf(" (session %d, to host %d)", end.session.number, end.peer.host)
	if m != nil {
		where += " " + m.String()
	}
	end.session.sim.failf("%s: %s", where, fmt.Sprintf(format, args...))
}

// status describes the progress of the end.
func (end *peerEnd) status() string {
	state, sent := transport.Reset, ""
	if end.qp != nil {
		state, sent = end.qp.State(), fmt.Sprintf(" %+v", end.qp.Stats())
	}
	if end.tokenGate != nil {
		sent += fmt.Sprintf(" %v %v", end.tokenGate, end.tokenGranter)
	}
	if end.creditGate != nil {
		sent += fmt.Sprintf(" %v %v", end.creditGate, end.creditGranter)
	}
	return fmt.Sprintf(
		"host %d: %v, %d of %d messages posted, %d done, next of the peer %d, destroyed %v%s",
		end.host, state, end.next, len(end.script), end.done, end.nextRecv, end.destroyed, sent)
}

// describe describes what was drawn.
func (end *peerEnd) describe() string {
	return fmt.Sprintf("host %d: %d messages, depths %d and %d, shared %v, window %d, in flight "+
		"%d, rate %v, READs %d, retries %d and %d, timer %d, RNR timer %d, RTO %v to %v, "+
		"retry time %v, may exhaust %v",
		end.host, len(end.script), end.depth, end.recvDepth, end.shared, int64(end.window),
		int64(end.inFlight),
		end.rate, end.maxReads, end.retries, end.rnrRetry,
		end.timeout, end.rnrTimer, end.rtoLow, end.rtoHigh, end.retryTime, end.mayExhaust)
}
