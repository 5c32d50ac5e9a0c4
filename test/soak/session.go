package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// session is a connection between two hosts.
type session struct {
	plan      *plan
	number    int
	service   transport.QPType
	begin     units.Time // with a predecessor: time after its end
	mtu       units.Bytes
	v6        bool
	class     uint8 // DSCP and ECN
	hops      uint8
	port      uint16 // UDP source port; 0: the transport chooses
	pkeys     [2]uint16
	selective bool   // selective repeat; otherwise go-back-N
	sackBits  uint16 // maximum length of the SACK bitmap

	control     cc.Factory // nil: fixed or random windows and rates
	tokens      *tocc.Spec // nil: none
	reordering  units.Duration
	path        cc.Path     // for which controllers and gates are made
	unscheduled units.Bytes // bound on bytes in flight without a token

	ends        [2]*peerEnd
	predecessor *session
	successor   *session

	sim   *simulation
	state sessionState
}

type sessionState uint8

const (
	sessionToCome sessionState = iota
	sessionOpen
	sessionEnding // both ends are finished, packets may still be in flight
	sessionClosed
)

// newSession draws a session between two hosts.
func (p *plan) newSession(r rng, hosts [2]int, first units.Time) *session {
	s := &session{plan: p, number: len(p.sessions), v6: r.chance(0.4), begin: uniform(r, 0, first)}
	p.sessions = append(p.sessions, s)
	switch r := r.Float64(); {
	case r < 0.08:
		s.service = transport.UD
	case r < 0.18:
		s.service = transport.UC
	}
	s.selective, s.sackBits = r.chance(0.6), 32*uint16(logUniform(r, 1, extension.MaxSACKBits/32))
	if p.mode.hasAdmission() {
		s.service = transport.RC
	}
	switch p.mode.recovery {
	case recoverGoBackN:
		s.selective = false
	case recoverSelective:
		s.selective = true
	}
	most := endpoint.PathMTUFor(p.parts.MTU)
	s.mtu = min(most, pick(r, 256, 512, units.KiB,
		units.KiB, 2*units.KiB, 4*units.KiB, 4*units.KiB))
	if s.service == transport.UD {
		s.mtu = most
	}
	if r.chance(0.7) {
		s.class = uint8(r.Uint32())
	}
	if r.chance(0.2) {
		s.hops, s.port = uint8(r.Uint32()), uint16(uniform(r, 0xc000, 0xffff))
	}
	if r.chance(0.3) {
		key := uint16(uniform(r, 1, 0x7fff))
		s.pkeys = [2]uint16{key | 0x8000, key | uint16(r.IntN(2))<<15}
	}
	for i := range s.ends {
		s.ends[i] = s.newPeerEnd(r, hosts[i], 2*s.number+i)
	}
	s.ends[0].peer, s.ends[1].peer = s.ends[1], s.ends[0]
	s.ends[0].maxReads, s.ends[1].servedReads = drawReadLimits(r)
	s.ends[1].maxReads, s.ends[0].servedReads = drawReadLimits(r)
	return s
}

// drawReadLimits draws the number of READs and atomics that one end may have outstanding and the
// number that its peer serves.
func drawReadLimits(r rng) (reads, serves int) {
	reads = logUniform(r, 1, endpoint.MaxRdAtomic)
	return reads, uniform(r, reads, endpoint.MaxRdAtomic)
}

// open creates the queue pairs and connects them if both hosts are running. If one is stopped, the
// session waits for its restart, or closes if it never restarts.
func (s *session) open() {
	for _, end := range s.ends {
		if n := s.sim.nodes[end.host]; n.endpoint == nil {
			if n.restarts {
				n.waiting = append(n.waiting, s)
			} else {
				s.close()
			}
			return
		}
	}
	s.state = sessionOpen
	for _, end := range s.ends {
		end.node = s.sim.nodes[end.host]
	}
	if err := s.prepare(); err != nil {
		s.sim.failf("session %d: %v", s.number, err)
		return
	}
	agreements := [2]wire.Agreement{}
	if s.plan.agreesExtension(s) {
		offers := [2]wire.Offer{s.ends[0].offer(), s.ends[1].offer()}
		offers[0].SACKBits = min(offers[0].SACKBits, s.sackBits)
		if !s.selective {
			offers[0].Features &^= wire.FeatureSACK
		}
		agreements = [2]wire.Agreement{wire.Agree(offers[0], offers[1]),
			wire.Agree(offers[1], offers[0])}
	}
	for i, end := range s.ends {
		end.tag = agreements[i].RecvTag
		end.node.tap.reset()
		end.connect(s.pkeys[i], agreements[i])
	}
	s.startWhenResolved()
}

// prepare creates memory, queue pairs and receive queues.
func (s *session) prepare() error {
	if err := s.placeMessages(); err != nil {
		return err
	}
	for _, end := range s.ends {
		if err := end.prepare(); err != nil {
			return err
		}
		var err error
		if end.recv, err = newRecvQueue(end); err != nil {
			return err
		}
	}
	return nil
}

// offer returns the end's features beyond RoCEv2.
func (end *peerEnd) offer() wire.Offer {
	if end.creditGate != nil {
		return end.qp.Offer()
	}
	o := end.node.endpoint.Setup().Offer()
	if end.tokenGate != nil {
		o.Features |= wire.FeatureToken
	}
	return o
}

// connect moves the queue pair to RTS.
func (end *peerEnd) connect(pkey uint16, agreement wire.Agreement) {
	s, peer := end.session, end.peer
	path := transport.AddressVector{IP: peer.node.address(s.v6), TrafficClass: s.class,
		HopLimit: s.hops, SourcePort: s.port}
	if s.v6 {
		path.FlowLabel = uint32(end.number)
	}
	err := end.qp.Connect(transport.QPAttr{
		Access: transport.RemoteWrite | transport.RemoteRead | transport.RemoteAtomic,
		PKey:   pkey, QKey: qkey,
		Path: path, PathMTU: s.mtu, DestQPN: peer.qp.Num, RecvPSN: peer.psn,
		MaxDestRdAtomic: end.servedReads, MinRNRTimer: end.rnrTimer, Extension: agreement,
		SendPSN: end.psn, Timeout: end.timeout, RetryCount: end.retries, RNRRetry: end.rnrRetry,
		MaxRdAtomic: end.maxReads, RTOLow: end.rtoLow, RTOHigh: end.rtoHigh,
		MaxInFlight: end.inFlight, Reordering: s.reordering,
	})
	if err == nil && s.service == transport.UD {
		end.handle, err = end.node.endpoint.CreateAH(end.node.domain, path)
	}
	if err != nil {
		end.failf(nil, "connect: %v", err)
	}
}

const qkey = 0x11223344

// endIfFinished schedules the end of the session once both ends are finished. Packets may still be
// in flight to an end whose peer is finished.
func (s *session) endIfFinished() {
	if s.state != sessionOpen || !s.ends[0].isFinished() || !s.ends[1].isFinished() {
		return
	}
	s.state = sessionEnding
	sim, settled := s.sim, s.plan.transit()
	if s.plan.mode.credits {
		settled += creditDelay
	}
	// A finished end needs nothing further from its peer, so the session may end early.
	if s.service == transport.RC && !s.plan.isFaultFree() && sim.rng.chance(0.5) {
		settled = uniform(sim.rng, 0, 2*s.plan.baseRTT)
	}
	sim.net.At(sim.net.Now().Add(settled), s.end)
}

// end moves the queue pairs to the error state, which flushes outstanding requests, and closes the
// session.
func (s *session) end() {
	for _, end := range s.ends {
		end.shutDown()
	}
	if s.service != transport.RC && s.plan.isFaultFree() {
		s.ends[0].checkAllArrived()
		s.ends[1].checkAllArrived()
	}
	s.close()
}

func (s *session) close() {
	s.state = sessionClosed
	sim := s.sim
	sim.open--
	if next := s.successor; next != nil {
		sim.net.At(sim.net.Now().Add(units.Duration(next.begin)), next.open)
	} else if sim.open == 0 {
		sim.net.Stop()
	}
}

func (s *session) String() string {
	recovery := "go-back-N"
	if s.selective {
		recovery = "selective repeat"
	}
	text := fmt.Sprintf("session %d: %v %s, hosts %d and %d, from %v, MTU %d, IPv6 %v, class %#x",
		s.number, s.service, recovery, s.ends[0].host, s.ends[1].host, s.begin, int64(s.mtu),
		s.v6, s.class)
	if s.control != nil {
		text += fmt.Sprintf(", control %v", s.control)
	}
	if s.tokens != nil {
		text += fmt.Sprintf(", tokens %v over %v", s.tokens, s.path.BDP())
	}
	if s.predecessor != nil {
		text += fmt.Sprintf(", after %d", s.predecessor.number)
	}
	for _, end := range s.ends {
		text += "\n    " + end.describe()
	}
	return text
}
