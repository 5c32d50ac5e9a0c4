package sim

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// outstanding messages of one flow: the next is posted before the last one is acknowledged.
const outstanding = 2

// Conn is a connection between two nodes. From is the end that sends flows.
type Conn struct {
	QP, Remote *transport.QueuePair
	From, To   *Node
	// Written, unless nil, is called for every message that Write posted, in order, inside Poll.
	Written func(status transport.Status, now units.Time)
	// Arrived is called for every message that Send brought to To, and Replied for every one that
	// Reply brought back, inside Poll.
	Arrived, Replied func(bytes units.Bytes, now units.Time)

	id            uint64
	flow          *Transfer
	ownFlow       bool // reserved for one flow
	inbox, outbox int  // of To and From, from 1
}

// Connect makes a connection between two hosts, with the Service of the Scheme.
func (s *Simulation) Connect(from, to int) (*Conn, error) {
	p := s.pair(from, to)
	return s.connect(p, s.Scheme.service(p))
}

// pair returns the name of the next connection between two hosts.
func (s *Simulation) pair(from, to int) Pair { return Pair{from, to, s.Nodes[from].counts[to]} }

func (s *Simulation) connect(p Pair, service Service) (*Conn, error) {
	conn, err := s.join(p, service)
	if err != nil {
		return nil, fmt.Errorf("sim: connect %v: %w", p, err)
	}
	return conn, nil
}

// join makes the queue pairs of a connection and brings them up.
func (s *Simulation) join(p Pair, service Service) (*Conn, error) {
	a, b := s.Nodes[p.From], s.Nodes[p.To]
	qa, err := a.queuePair()
	if err != nil {
		return nil, err
	}
	qb, err := b.queuePair()
	if err != nil {
		return nil, err
	}
	a.counts[p.To]++
	if service.Control != nil {
		algorithm, err := service.Control.New(s.path(p))
		if err == nil {
			err = qa.Modify(transport.Init, transport.QPAttr{Algorithm: algorithm})
		}
		if err != nil {
			return nil, err
		}
	}
	if err := service.admit(p, s.path(p), qa, qb); err != nil {
		return nil, err
	}
	ab, ba := s.agree(&service, qa, qb)
	psnA, psnB := wire.PSN(a.Endpoint.Setup().RandomPSN()), wire.PSN(b.Endpoint.Setup().RandomPSN())
	if err := s.bringUp(qa, b, qb, psnA, psnB, ab, &service); err != nil {
		return nil, err
	}
	if err := s.bringUp(qb, a, qa, psnB, psnA, ba, &service); err != nil {
		return nil, err
	}
	conn := &Conn{QP: qa, Remote: qb, From: a, To: b, id: uint64(len(a.conns))}
	a.conns = append(a.conns, conn)
	return conn, conn.open(s.Hosts.Receives)
}

// agree returns the extensions that each end of a connection uses.
func (s *Simulation) agree(service *Service, a, b *transport.QueuePair) (ab, ba wire.Agreement) {
	extended := service.Control != nil || service.Admit != nil || service.Credits != nil
	if s.Hosts.Plain || !s.Scheme.Selective && !extended {
		return ab, ba
	}
	offerA, offerB := a.Offer(), b.Offer()
	if !s.Scheme.Selective {
		offerA.Features &^= wire.FeatureSACK
	}
	return wire.Agree(offerA, offerB), wire.Agree(offerB, offerA)
}

// Bytes around the payload of a WRITE in the middle of a message, and of an ACK, both over IPv4.
const (
	dataOverhead = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen + wire.ICRCLen
	ackLen       = dataOverhead + wire.AETHLen
)

// BaseRTT returns the round-trip time of a full packet and its ACK through empty queues.
func (s *Simulation) BaseRTT(from, to int) units.Duration {
	return s.Net.BaseRTT(from, to, s.Hosts.PathMTU+dataOverhead, ackLen)
}

// BaseRTT returns the BaseRTT of the simulation that New would build, for parameters that depend on
// it.
func (s Scenario) BaseRTT(from, to int) (units.Duration, error) {
	b := &Simulation{Scenario: s}
	if err := b.build(); err != nil {
		return 0, err
	}
	return b.BaseRTT(from, to), nil
}

// path describes the connection's path for congestion control.
func (s *Simulation) path(p Pair) cc.Path {
	signals := cc.SignalDelay | cc.SignalEndpoint | cc.SignalMarks | cc.SignalINT |
		cc.SignalOneWay | s.src(p.From, p.To)
	if s.Hosts.Plain {
		signals = cc.SignalDelay
	}
	return cc.Path{
		LineRate: s.Net.Host(p.From).NIC().Ports()[0].Rate(),
		BaseRTT:  s.BaseRTT(p.From, p.To),
		Payload:  s.Hosts.PathMTU,
		Hops:     len(s.Net.Path(p.From, p.To, 0)) - 1,
		Signals:  signals,
		Seed:     uint32(s.Seed)<<24 ^ uint32(p.From)<<14 ^ uint32(p.To)<<4 ^ uint32(p.N),
	}
}

func (n *Node) queuePair() (*transport.QueuePair, error) {
	h := &n.sim.Hosts
	init := transport.QPInit{
		Type: transport.RC, PD: n.PD, SendCQ: n.CQ, RecvCQ: n.CQ,
		MaxSendWR: max(2*outstanding, h.SendDepth, h.Receives), MaxRecvWR: h.Receives,
	}
	if err := n.growCQ(init.MaxSendWR + init.MaxRecvWR); err != nil {
		return nil, err
	}
	return n.Endpoint.CreateQP(init)
}

// growCQ makes room for the completions of another queue pair.
func (n *Node) growCQ(wrs int) error {
	n.wrs += wrs
	depth := n.depth
	for depth < min(2*n.wrs, maxCQDepth) {
		depth *= 2
	}
	if depth == n.depth {
		return nil
	}
	n.depth = depth
	return n.CQ.Resize(depth)
}

// bringUp connects one end to the other.
func (s *Simulation) bringUp(
	qp *transport.QueuePair, peer *Node, peerQP *transport.QueuePair, mine, theirs wire.PSN,
	extension wire.Agreement, service *Service,
) error {
	r := &s.Scheme.Recovery
	return qp.Connect(transport.QPAttr{
		Access: transport.RemoteWrite | transport.RemoteRead,
		Path: transport.AddressVector{
			IP: peer.Host.Addrs()[0].Addr(), TrafficClass: service.TrafficClass,
		},
		PathMTU: s.Hosts.PathMTU, DestQPN: peerQP.Num, RecvPSN: theirs, MaxDestRdAtomic: 4,
		MinRNRTimer: 12, Extension: extension, AnswerClass: service.AnswerClass,
		SendPSN: mine, Timeout: s.Hosts.Timeout, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 4,
		RTOLow: r.RTOLow, RTOHigh: r.RTOHigh, MaxInFlight: r.MaxInFlight,
		Class: service.Class, Reordering: r.Reordering,
	})
}

// post sends the next messages of the connection's flow.
func (n *Node) post(c *Conn) error {
	f := c.flow
	for f.posted < f.Bytes && f.outstanding < outstanding {
		size := min(f.Bytes-f.posted, n.sim.Hosts.Chunk)
		err := c.QP.PostSend(&transport.WorkRequest{
			ID: c.id, Op: transport.OpWrite, Signaled: true,
			SGList: []transport.SGE{{Addr: n.source.Addr, Length: uint32(size),
				LKey: n.source.LKey}},
			RemoteAddr: c.To.sink.Addr, RKey: c.To.sink.RKey,
		})
		if err != nil {
			return err
		}
		f.posted += size
		f.outstanding++
	}
	return nil
}

// retire ends a connection that no flow will use again, after the round.
func (s *Simulation) retire(conn *Conn) {
	s.Net.At(s.Net.Now(), func() {
		conn.QP.Destroy()
		conn.Remote.Destroy()
		conn.From.conns[conn.id] = nil
	})
}

// reap runs pending functions and handles completions, inside Poll.
func (n *Node) reap(now units.Time) {
	for len(n.todo) > 0 {
		do := n.todo[0]
		n.todo = n.todo[1:]
		do(now)
	}
	for {
		got := n.CQ.Poll(n.wcs[:])
		for i := range got {
			n.completed(&n.wcs[i], now)
		}
		if got < len(n.wcs) {
			return
		}
	}
}

func (n *Node) completed(wc *transport.WorkCompletion, now units.Time) {
	switch {
	case wc.ID&ofReceive != 0:
		n.received(wc, now)
		return
	case wc.ID&ofReply != 0:
		if wc.Status != transport.StatusSuccess {
			n.note(fmt.Errorf("sim: a reply of %v: %v", n.Host, wc.Status))
		}
		return
	}
	c := n.conns[wc.ID]
	if c.Written != nil {
		c.Written(wc.Status, now)
		return
	}
	f := c.flow
	if f == nil {
		return // flushed after the flow failed
	}
	f.outstanding--
	if wc.Status != transport.StatusSuccess {
		n.sim.failed(c, fmt.Errorf("sim: flow %+v: %v", f.Flow, wc.Status))
		return
	}
	if f.posted < f.Bytes {
		if err := n.post(c); err != nil {
			n.sim.failed(c, err)
		}
		return
	}
	if f.outstanding == 0 {
		f.Done = now
		c.flow = nil
		if c.ownFlow {
			n.sim.retire(c)
		} else {
			n.idle[f.Dst] = append(n.idle[f.Dst], c)
		}
		n.sim.finished(f)
	}
}

// ResolveAddresses makes all hosts resolve each other's addresses, which takes some virtual time.
func (s *Simulation) ResolveAddresses() error {
	const atOnce = neigh.QueueDepth / 2 // solicitations per host
	for i := 1; i < len(s.Nodes); i++ {
		for at, n := range s.Nodes {
			ip := s.Nodes[(at+i)%len(s.Nodes)].Host.Addrs()[0].Addr()
			if _, err := n.Endpoint.Setup().Neighbors().Resolve(ip, s.Net.Now()); err != nil {
				return err
			}
		}
		if i%atOnce != 0 && i+1 < len(s.Nodes) {
			continue
		}
		for _, n := range s.Nodes {
			n.Host.Wake()
		}
		if err := s.Net.Run(s.Net.Now().Add(100 * units.Microsecond)); err != nil {
			return err
		}
	}
	return nil
}

// Warm makes a connection for later: the next flow between the hosts uses it, and does not wait for
// address resolution.
func (s *Simulation) Warm(from, to int) error {
	conn, err := s.Connect(from, to)
	if err != nil {
		return err
	}
	n := s.Nodes[from]
	n.idle[to] = append(n.idle[to], conn)
	n.Host.Wake()
	return nil
}
