package cluster

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Config says how the endpoints work. The zero value is RC with a path MTU of 1024, no congestion
// control but a window of a MiB, and go-back-N.
type Config struct {
	Seed    uint64
	PathMTU units.Bytes // 0 means 1024
	// Algorithm makes the congestion control of one connection; nil is the transport's default.
	Algorithm func() cc.Algorithm
	// Control, unless nil, is the congestion control of every connection, made for its path; it
	// goes before Algorithm. Connections agree to all of the extension then, but to selective
	// repeat only with Selective.
	Control cc.Control
	// ControlOf, unless nil, is that of the n-th connection between two hosts: for mixed runs, and
	// flows of several priorities.
	ControlOf func(from, to, n int) cc.Control
	// Serve, unless nil, says how a flow is served, on a connection of its own. It goes before
	// Control, ControlOf, Around, Admit, Credits, TrafficClass and AnswerClass.
	Serve func(workload.Flow) Service
	// Admit, unless nil, makes the gate of the sender and the granter of the receiver of the n-th
	// connection between two hosts (receiver-driven control), or neither. Connections agree to it,
	// and to selective repeat only with Selective.
	Admit func(from, to, n int, path cc.Path) (cc.Gate, cc.Granter, error)
	// Credits, unless nil, makes the gate and the granter of credits for the receiver's cache,
	// beside those of Admit.
	Credits func(from, to, n int, path cc.Path) (cc.CreditGate, cc.CreditGranter, error)
	// Around, unless nil, answers what stands in for the algorithm of such a connection: one that
	// hears what it hears, to take it down or to add to it.
	Around func(from, to, n int, a cc.Algorithm) cc.Algorithm
	// Controller, unless nil, makes what runs congestion control on a host, such as nicoffload's;
	// nil is in line.
	Controller func(host int, now units.Time) (cc.Controller, error)
	// Plain makes connections agree to nothing: RoCEv2 as with anybody's peer. Delays are all that
	// congestion control gets.
	Plain bool
	// Wrap, unless nil, answers what stands in for the port of a host, such as a recorder of its
	// frames.
	Wrap func(host int, p packet.Port) packet.Port
	// TrafficClass of connections: DSCP and ECN. ClassOf, unless nil, is that of the n-th
	// connection between two hosts.
	TrafficClass uint8
	ClassOf      func(from, to, n int) uint8
	// AnswerClass is that of ACKs and CNPs; 0 means TrafficClass.
	AnswerClass uint8
	// TrimmedDSCP is what packets have that switches trimmed; 0: none does.
	TrimmedDSCP uint8
	// CNPInterval is how far apart the CNPs of a connection are, at least; 0 is transport's
	// default.
	CNPInterval units.Duration
	// Chunk is the longest message of a flow; 0 means 1 MiB. Two are outstanding at a time.
	Chunk units.Bytes
	// SendDepth is how many messages Conn.Write may have outstanding; 0 means 4.
	SendDepth int
	// Receives is how many receives a connection has in each direction, for Conn.Send.
	Receives int
	// Timeout is the spec's code for the time an ACK may take; 0 means 8, about a millisecond.
	Timeout uint8
	// Selective makes connections agree to selective repeat, with these timeouts and this bound of
	// what is in flight (IRN section 3); the zero Recovery leaves Timeout and the window alone.
	Selective bool
	Recovery  Recovery
}

// Service is how a flow is served.
type Service struct {
	Control cc.Control
	// Admit and Credits, unless nil, are as Config's.
	Admit   func(from, to, n int, path cc.Path) (cc.Gate, cc.Granter, error)
	Credits func(from, to, n int, path cc.Path) (cc.CreditGate, cc.CreditGranter, error)
	// TrafficClass of data, DSCP and ECN, and that of ACKs and CNPs; AnswerClass 0 is TrafficClass.
	TrafficClass, AnswerClass uint8
	// Class is the transmit queue of data, see transport.RTSAttr.
	Class packet.Class
}

// Recovery is how selective repeat finds out that nothing comes any more; see transport.RTSAttr.
type Recovery struct {
	Reordering units.Duration
	// buffers of an endpoint that wait for packets before theirs, see transport.Config
	MaxHeld         int
	RTOLow, RTOHigh units.Duration
	MaxInFlight     units.Bytes
}

// Cluster is a network with an endpoint on every host.
type Cluster struct {
	Net   *fabric.Network
	Nodes []*Node

	config  Config
	source  []byte
	sink    []byte
	done    func(*Running)
	Errors  []error // of flows that failed
	running int
}

// Node is one host's endpoint.
type Node struct {
	Host     *fabric.Host
	Endpoint *transport.Endpoint
	PD       *transport.ProtectionDomain
	CQ       *transport.CompletionQueue

	cluster *Cluster
	source  *transport.MemoryRegion
	sink    *transport.MemoryRegion
	conns   []*Conn         // by the ID of their work requests
	counts  map[int]int     // connections to the other host
	idle    map[int][]*Conn // by the other host; looked up only, never walked
	inboxes []inbox         // by the ID of their receives
	todo    []func(units.Time)
	wcs     [16]transport.WorkCompletion
}

// New makes the endpoints of a network, on all its hosts.
func New(net *fabric.Network, c Config) (*Cluster, error) {
	if err := net.Build(); err != nil {
		return nil, err
	}
	if c.PathMTU == 0 {
		c.PathMTU = transport.MTU1024
	}
	if c.Chunk == 0 {
		c.Chunk = units.MiB
	}
	if c.Timeout == 0 {
		c.Timeout = 8
	}
	cl := &Cluster{Net: net, config: c, source: make([]byte, c.Chunk), sink: make([]byte, c.Chunk)}
	for _, h := range net.Hosts() {
		n := &Node{Host: h, cluster: cl, idle: map[int][]*Conn{}, counts: map[int]int{}}
		if err := n.start(); err != nil {
			return nil, fmt.Errorf("cluster: %v: %w", h, err)
		}
		cl.Nodes = append(cl.Nodes, n)
	}
	return cl, nil
}

// start makes the endpoint and gives it to the host.
func (n *Node) start() (err error) {
	c := &n.cluster.config
	var port packet.Port = n.Host.NIC()
	if c.Wrap != nil {
		port = c.Wrap(n.Host.Index(), port)
	}
	var controller cc.Controller
	if c.Controller != nil {
		if controller, err = c.Controller(n.Host.Index(), n.cluster.Net.Now()); err != nil {
			return err
		}
	}
	n.Endpoint, err = transport.New(transport.Config{
		Port: port, Addrs: n.Host.Addrs(), Seed: c.Seed<<16 ^ uint64(n.Host.Index()),
		Repeatable: true, NewAlgorithm: c.Algorithm,
		Controller: controller, CNPInterval: c.CNPInterval, TrimmedDSCP: c.TrimmedDSCP,
		MaxHeld: c.Recovery.MaxHeld,
	}, n.cluster.Net.Now())
	if err != nil {
		return err
	}
	n.PD = n.Endpoint.AllocPD()
	if n.CQ, err = n.Endpoint.CreateCQ(1 << 16); err != nil {
		return err
	}
	if n.source, err = n.Endpoint.RegisterMemory(n.PD, n.cluster.source, 0); err != nil {
		return err
	}
	if n.sink, err = n.Endpoint.RegisterMemory(n.PD, n.cluster.sink,
		transport.LocalWrite|transport.RemoteWrite|transport.RemoteRead); err != nil {
		return err
	}
	n.Endpoint.OnRound(n.reap)
	n.Host.Run(n.Endpoint)
	return nil
}
