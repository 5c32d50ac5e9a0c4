package cluster

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// outstanding messages of one flow: the next one is posted before the last one is acknowledged.
const outstanding = 2

// Conn is a connection between two nodes, seen from the one that sends flows.
type Conn struct {
	QP, Remote *transport.QueuePair
	From, To   *Node
	// Written, unless nil, is told of every message that Write posted, in order, inside Poll.
	Written func(status transport.Status, now units.Time)
	// Arrived is told of every message that came to To by Send, and Replied of what came back by
	// Reply, inside Poll.
	Arrived, Replied func(bytes units.Bytes, now units.Time)

	id            uint64
	flow          *Running
	inbox, outbox int // of To and From, from 1
}

// Connect makes a connection between two hosts.
func (c *Cluster) Connect(from, to int) (*Conn, error) {
	n := c.Nodes[from].counts[to]
	s := Service{Control: c.controlOf(from, to, n), TrafficClass: c.config.TrafficClass,
		AnswerClass: c.config.AnswerClass, Admit: c.config.Admit, Credits: c.config.Credits}
	if c.config.ClassOf != nil {
		s.TrafficClass = c.config.ClassOf(from, to, n)
	}
	return c.connect(from, to, s)
}

func (c *Cluster) connect(from, to int, s Service) (*Conn, error) {
	a, b := c.Nodes[from], c.Nodes[to]
	qa, err := a.queuePair()
	if err != nil {
		return nil, fmt.Errorf("cluster: connect %d to %d: %w", from, to, err)
	}
	qb, err := b.queuePair()
	if err != nil {
		return nil, fmt.Errorf("cluster: connect %d to %d: %w", from, to, err)
	}
	n := a.counts[to]
	a.counts[to]++
	if s.Control != nil {
		algorithm, err := s.Control.New(c.path(from, to, n))
		if err == nil && c.config.Around != nil && c.config.Serve == nil {
			algorithm = c.config.Around(from, to, n, algorithm)
		}
		if err == nil {
			err = qa.Control(algorithm)
		}
		if err != nil {
			return nil, fmt.Errorf("cluster: connect %d to %d: %w", from, to, err)
		}
	}
	if err := s.admit(from, to, n, c.path(from, to, n), qa, qb); err != nil {
		return nil, fmt.Errorf("cluster: connect %d to %d: %w", from, to, err)
	}
	var ab, ba wire.Agreement // of a and of b
	if !c.config.Plain && (c.config.Selective || s.Control != nil || s.Admit != nil ||
		s.Credits != nil) {
		offerA, offerB := qa.Offer(), qb.Offer()
		if !c.config.Selective {
			offerA.Features &^= wire.FeatureSACK
		}
		ab, ba = wire.Agree(offerA, offerB), wire.Agree(offerB, offerA)
	}
	psnA, psnB := wire.PSN(a.Endpoint.RandomPSN()), wire.PSN(b.Endpoint.RandomPSN())
	if err := c.bringUp(qa, b, qb, psnA, psnB, ab, s); err != nil {
		return nil, fmt.Errorf("cluster: connect %d to %d: %w", from, to, err)
	}
	if err := c.bringUp(qb, a, qa, psnB, psnA, ba, s); err != nil {
		return nil, fmt.Errorf("cluster: connect %d to %d: %w", from, to, err)
	}
	conn := &Conn{QP: qa, Remote: qb, From: a, To: b, id: uint64(len(a.conns))}
	a.conns = append(a.conns, conn)
	if err := conn.open(c.config.Receives); err != nil {
		return nil, fmt.Errorf("cluster: connect %d to %d: %w", from, to, err)
	}
	return conn, nil
}

// admit gives the sender its gates and the receiver its granters.
func (s *Service) admit(from, to, n int, path cc.Path, sender,
	receiver *transport.QueuePair) error {
	var gates []cc.Gate
	var granters []cc.Granter
	take := func(gate cc.Gate, granter cc.Granter, err error) error {
		if gate != nil {
			gates, granters = append(gates, gate), append(granters, granter)
		}
		return err
	}
	if s.Admit != nil {
		if err := take(s.Admit(from, to, n, path)); err != nil {
			return err
		}
	}
	if s.Credits != nil {
		if err := take(s.Credits(from, to, n, path)); err != nil {
			return err
		}
	}
	if len(gates) == 0 {
		return nil
	}
	return errors.Join(sender.Admit(cc.AllOf(gates...)), receiver.Admit(nil, granters...))
}

// controlOf is the congestion control of the n-th connection between two hosts.
func (c *Cluster) controlOf(from, to, n int) cc.Control {
	if c.config.ControlOf != nil {
		return c.config.ControlOf(from, to, n)
	}
	return c.config.Control
}

// Bytes around the payload of a WRITE in the middle of a message, and of an ACK, both over IPv4.
const (
	dataOverhead = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen + wire.ICRCLen
	ackLen       = dataOverhead + wire.AETHLen
)

// BaseRTT is how long a full packet to the other host and its ACK take through empty queues.
func (c *Cluster) BaseRTT(from, to int) units.Duration {
	return c.Net.BaseRTT(from, to, c.config.PathMTU+dataOverhead, ackLen)
}

// path is what congestion control is told of the way of the n-th connection between two hosts.
func (c *Cluster) path(from, to, n int) cc.Path {
	signals := cc.SignalDelay | cc.SignalEndpoint | cc.SignalMarks | cc.SignalINT |
		cc.SignalOneWay | c.src(from, to)
	if c.config.Plain {
		signals = cc.SignalDelay
	}
	return cc.Path{
		LineRate: c.Net.Host(from).NIC().Ports()[0].Rate(),
		BaseRTT:  c.BaseRTT(from, to),
		Payload:  c.config.PathMTU,
		Hops:     len(c.Net.Path(from, to, 0)) - 1,
		Signals:  signals,
		Seed:     uint32(c.config.Seed)<<24 ^ uint32(from)<<14 ^ uint32(to)<<4 ^ uint32(n),
	}
}

func (n *Node) queuePair() (*transport.QueuePair, error) {
	return n.Endpoint.CreateQP(transport.QPInit{
		Type: transport.RC, PD: n.PD, SendCQ: n.CQ, RecvCQ: n.CQ, MaxSendWR: max(2*outstanding,
			n.cluster.config.SendDepth, n.cluster.config.Receives),
		MaxRecvWR: n.cluster.config.Receives,
	})
}

// bringUp tells one end of the other.
func (c *Cluster) bringUp(qp *transport.QueuePair, peer *Node, peerQP *transport.QueuePair, mine,
	theirs wire.PSN, extension wire.Agreement, s Service) error {
	return qp.Connect(
		transport.InitAttr{Access: transport.RemoteWrite | transport.RemoteRead},
		transport.RTRAttr{
			Path: transport.AddressVector{IP: peer.Host.Addrs()[0].Addr(),
				TrafficClass: s.TrafficClass},
			PathMTU: c.config.PathMTU, DestQPN: peerQP.Num, RecvPSN: theirs, MaxDestRdAtomic: 4,
			MinRNRTimer: 12, Extension: extension,
			AnswerClass: s.AnswerClass,
		},
		transport.RTSAttr{
			SendPSN: mine, Timeout: c.config.Timeout, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 4,
			RTOLow: c.config.Recovery.RTOLow, RTOHigh: c.config.Recovery.RTOHigh,
			MaxInFlight: c.config.Recovery.MaxInFlight,
			Class:       s.Class, Reordering: c.config.Recovery.Reordering,
		},
	)
}

// post sends the next messages of the connection's flow.
func (n *Node) post(c *Conn) error {
	f := c.flow
	for f.posted < f.Bytes && f.outstanding < outstanding {
		size := min(f.Bytes-f.posted, n.cluster.config.Chunk)
		err := c.QP.PostSend(&transport.WorkRequest{
			ID: c.id, Op: transport.OpWrite, Flags: transport.Signaled,
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

// retire ends a connection that no flow will use again, once the round is over.
func (c *Cluster) retire(conn *Conn) {
	c.Net.At(c.Net.Now(), func() {
		conn.QP.Destroy()
		conn.Remote.Destroy()
		conn.From.conns[conn.id] = nil
	})
}

// reap handles what is to be done and completions, inside Poll.
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
			n.note(fmt.Errorf("cluster: a reply of %v: %v", n.Host, wc.Status))
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
		n.cluster.failed(c, fmt.Errorf("cluster: flow %+v: %v", f.Flow, wc.Status))
		return
	}
	if f.posted < f.Bytes {
		if err := n.post(c); err != nil {
			n.cluster.failed(c, err)
		}
		return
	}
	if f.outstanding == 0 {
		f.Done = now
		c.flow = nil
		if n.cluster.config.Serve != nil {
			n.cluster.retire(c)
		} else {
			n.idle[f.Dst] = append(n.idle[f.Dst], c)
		}
		n.cluster.finished(f)
	}
}

// Introduce lets hosts get to know each other's addresses, all pairs of them, and takes some
// virtual time.
func (c *Cluster) Introduce() error {
	const atOnce = neigh.QueueDepth / 2 // solicitations of a host
	for i := 1; i < len(c.Nodes); i++ {
		for at, n := range c.Nodes {
			ip := c.Nodes[(at+i)%len(c.Nodes)].Host.Addrs()[0].Addr()
			if _, err := n.Endpoint.Neighbors().Resolve(ip, c.Net.Now()); err != nil {
				return err
			}
		}
		if i%atOnce != 0 && i+1 < len(c.Nodes) {
			continue
		}
		for _, n := range c.Nodes {
			n.Host.Wake()
		}
		if err := c.Net.Run(c.Net.Now().Add(100 * units.Microsecond)); err != nil {
			return err
		}
	}
	return nil
}

// Warm makes a connection that no flow uses yet, so that the next flow between the hosts finds it
// there, and their neighbour tables filled.
func (c *Cluster) Warm(from, to int) error {
	conn, err := c.Connect(from, to)
	if err != nil {
		return err
	}
	n := c.Nodes[from]
	n.idle[to] = append(n.idle[to], conn)
	n.Host.Wake()
	return nil
}
