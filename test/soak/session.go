package main

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// session is a connection between two hosts, from its draw to its end.
type session struct {
	plan    *plan
	number  int
	service transport.QPType
	begin   units.Time // with a prior: so long after its end
	mtu     units.Bytes
	v6      bool
	class   uint8 // DSCP and ECN
	hops    uint8
	port    uint16 // UDP source; 0: the transport chooses
	pkeys   [2]uint16
	repeats bool   // selectively
	sack    uint16 // bits that tell the peer what came behind a gap

	control     cc.Control // nil: windows and rates are fixed, or changed by whim
	tokens      *tocc.Spec // nil: none
	patience    units.Duration
	path        cc.Path     // that it is made for
	unscheduled units.Bytes // that may be under way without a token

	sides  [2]*side
	prior  *session
	sequel *session

	world *world
	state sessionState
}

type sessionState uint8

const (
	sessionToCome sessionState = iota
	sessionOpen
	sessionEnding // both sides are done, what is on its way may still come
	sessionClosed
)

// newSession draws a session between two hosts.
func (p *plan) newSession(d dice, hosts [2]int, first units.Time) *session {
	s := &session{plan: p, number: len(p.sessions), v6: d.chance(0.4), begin: between(d, 0, first)}
	p.sessions = append(p.sessions, s)
	switch r := d.Float64(); {
	case r < 0.08:
		s.service = transport.UD
	case r < 0.18:
		s.service = transport.UC
	}
	s.repeats, s.sack = d.chance(0.6), 32*uint16(scale(d, 1, wire.MaxSACKBits/32))
	if p.mode.admits() {
		s.service = transport.RC
	}
	switch p.mode.recovery {
	case recoverGoBackN:
		s.repeats = false
	case recoverSelective:
		s.repeats = true
	}
	most := transport.PathMTUFor(p.parts.MTU)
	s.mtu = min(most, oneOf(d, transport.MTU256, transport.MTU512, transport.MTU1024,
		transport.MTU1024, transport.MTU2048, transport.MTU4096, transport.MTU4096))
	if s.service == transport.UD {
		s.mtu = most
	}
	if d.chance(0.7) {
		s.class = uint8(d.Uint32())
	}
	if d.chance(0.2) {
		s.hops, s.port = uint8(d.Uint32()), uint16(between(d, 0xc000, 0xffff))
	}
	if d.chance(0.3) {
		key := uint16(between(d, 1, 0x7fff))
		s.pkeys = [2]uint16{key | 0x8000, key | uint16(d.IntN(2))<<15}
	}
	for i := range s.sides {
		s.sides[i] = s.newSide(d, hosts[i], 2*s.number+i)
	}
	s.sides[0].peer, s.sides[1].peer = s.sides[1], s.sides[0]
	s.sides[0].reads, s.sides[1].serves = agree(d)
	s.sides[1].reads, s.sides[0].serves = agree(d)
	return s
}

// agree draws how many READs and atomics one side may have outstanding and the other answers.
func agree(d dice) (reads, serves int) {
	reads = scale(d, 1, transport.MaxRdAtomic)
	return reads, between(d, reads, transport.MaxRdAtomic)
}

// open makes the queue pairs and connects them, when both hosts are there. Otherwise it waits for
// them; one that never comes back ends it.
func (s *session) open() {
	for _, x := range s.sides {
		if n := s.world.nodes[x.host]; n.endpoint == nil {
			if n.returns {
				n.waiting = append(n.waiting, s)
			} else {
				s.close()
			}
			return
		}
	}
	s.state = sessionOpen
	for _, x := range s.sides {
		x.node = s.world.nodes[x.host]
	}
	if err := s.prepare(); err != nil {
		s.world.violated("session %d: %v", s.number, err)
		return
	}
	agreements := [2]wire.Agreement{}
	if s.plan.agrees(s) {
		offers := [2]wire.Offer{s.sides[0].offer(), s.sides[1].offer()}
		offers[0].SACKBits = min(offers[0].SACKBits, s.sack)
		if !s.repeats {
			offers[0].Features &^= wire.FeatureSACK
		}
		agreements = [2]wire.Agreement{wire.Agree(offers[0], offers[1]),
			wire.Agree(offers[1], offers[0])}
	}
	for i, x := range s.sides {
		x.tag = agreements[i].RecvTag
		x.node.tap.forget()
		x.connect(s.pkeys[i], agreements[i])
	}
	s.greet()
}

// prepare makes memory, queue pairs and receive queues.
func (s *session) prepare() error {
	if err := s.layOut(); err != nil {
		return err
	}
	for _, x := range s.sides {
		if err := x.prepare(); err != nil {
			return err
		}
		var err error
		if x.inbox, err = newInbox(x); err != nil {
			return err
		}
	}
	return nil
}

// offer is what the side can do beyond RoCEv2.
func (x *side) offer() wire.Offer {
	if x.credits != nil {
		return x.qp.Offer()
	}
	o := x.node.endpoint.Offer()
	if x.gate != nil {
		o.Features |= wire.FeatureToken
	}
	return o
}

// connect brings a queue pair to RTS.
func (x *side) connect(pkey uint16, agreement wire.Agreement) {
	s, peer := x.session, x.peer
	path := transport.AddressVector{IP: peer.node.address(s.v6), TrafficClass: s.class,
		HopLimit: s.hops, SourcePort: s.port}
	if s.v6 {
		path.FlowLabel = uint32(x.number)
	}
	err := x.qp.Connect(
		transport.InitAttr{Access: transport.RemoteWrite | transport.RemoteRead |
			transport.RemoteAtomic, PKey: pkey, QKey: qkey},
		transport.RTRAttr{
			Path: path, PathMTU: s.mtu, DestQPN: peer.qp.Num, RecvPSN: peer.psn,
			MaxDestRdAtomic: x.serves, MinRNRTimer: x.rnrTimer,
			Extension: agreement,
		},
		transport.RTSAttr{
			SendPSN: x.psn, Timeout: x.timeout, RetryCount: x.retries, RNRRetry: x.rnrRetry,
			MaxRdAtomic: x.reads,
			RTOLow:      x.rtoLow, RTOHigh: x.rtoHigh, MaxInFlight: x.inFlight,
			Reordering: s.patience,
		})
	if err == nil && s.service == transport.UD {
		x.handle, err = x.node.endpoint.CreateAH(x.node.domain, path)
	}
	if err != nil {
		x.violated(nil, "connect: %v", err)
	}
}

const qkey = 0x11223344

// check sees whether the session is over. What is on its way to a side whose peer is done may
// still come.
func (s *session) check() {
	if s.state != sessionOpen || !s.sides[0].finished() || !s.sides[1].finished() {
		return
	}
	s.state = sessionEnding
	w, settled := s.world, s.plan.transit()
	if s.plan.mode.credits {
		settled += creditsSettle
	}
	// what it has to say is said
	if s.service == transport.RC && !s.plan.quiet() && w.dice.chance(0.5) {
		settled = between(w.dice, 0, 2*s.plan.trip)
	}
	w.net.At(w.net.Now().Add(settled), s.end)
}

// end takes the queue pairs to the error state, which flushes what is left, and closes the session.
func (s *session) end() {
	for _, x := range s.sides {
		x.hangUp()
	}
	if s.service != transport.RC && s.plan.quiet() {
		s.sides[0].allArrived()
		s.sides[1].allArrived()
	}
	s.close()
}

func (s *session) close() {
	s.state = sessionClosed
	w := s.world
	w.open--
	if next := s.sequel; next != nil {
		w.net.At(w.net.Now().Add(units.Duration(next.begin)), next.open)
	} else if w.open == 0 {
		w.net.Stop()
	}
}

func (s *session) String() string {
	recovery := "go-back-N"
	if s.repeats {
		recovery = "selective repeat"
	}
	text := fmt.Sprintf("session %d: %v %s, hosts %d and %d, from %v, MTU %d, IPv6 %v, class %#x",
		s.number, s.service, recovery, s.sides[0].host, s.sides[1].host, s.begin, int64(s.mtu),
		s.v6, s.class)
	if s.control != nil {
		text += fmt.Sprintf(", control %v", s.control)
	}
	if s.tokens != nil {
		text += fmt.Sprintf(", tokens %v over %v", s.tokens, s.path.BDP())
	}
	if s.prior != nil {
		text += fmt.Sprintf(", after %d", s.prior.number)
	}
	for _, x := range s.sides {
		text += "\n    " + x.describe()
	}
	return text
}
