package sim

import (
	"errors"
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Simulation is a built scenario: a network with an endpoint on every host.
type Simulation struct {
	Scenario
	Net    *fabric.Network
	Nodes  []*Node
	Errors []error // of flows and messages that failed

	source, sink []byte
	done         func(*Transfer)
	running      int // flows
	ofTraffic    int // the part of running that Drive started
	exhausted    bool
	foreign      int // frames of plain hosts with extensions
	zero         units.Time
	result       *Result
}

// Node is the endpoint of one host.
type Node struct {
	Host     *fabric.Host
	Endpoint *transport.Endpoint
	PD       *transport.ProtectionDomain
	CQ       *transport.CompletionQueue

	sim     *Simulation
	source  *transport.MemoryRegion
	sink    *transport.MemoryRegion
	conns   []*Conn         // by the ID of their work requests
	counts  map[int]int     // number of connections, by the other host
	idle    map[int][]*Conn // by the other host; never iterated over, since its order is random
	inboxes []inbox         // by the ID of their receives
	depth   int             // of CQ
	wrs     int             // that the queue pairs may have outstanding
	todo    []func(units.Time)
	wcs     [16]transport.WorkCompletion
}

// New builds the network of a scenario and the endpoints of its hosts.
func New(scenario Scenario) (*Simulation, error) {
	s := &Simulation{Scenario: scenario}
	if err := s.build(); err != nil {
		return nil, err
	}
	s.source, s.sink = make([]byte, s.Hosts.Chunk), make([]byte, s.Hosts.Chunk)
	for _, h := range s.Net.Hosts() {
		n := &Node{Host: h, sim: s, depth: firstCQDepth, idle: map[int][]*Conn{},
			counts: map[int]int{}}
		if err := n.start(); err != nil {
			return nil, fmt.Errorf("sim: %v: %w", h, err)
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s, nil
}

// build sets the defaults and builds the network.
func (s *Simulation) build() error {
	if s.Topology == nil {
		return errors.New("sim: the scenario has no topology")
	}
	s.fill()
	s.Scheme.instantiate()
	s.Net = s.Topology.Build(s.parts())
	s.Net.SetTrace(s.ring("network"))
	return s.Net.Build()
}

// fill sets the fields that are zero to their defaults.
func (s *Simulation) fill() {
	h := &s.Hosts
	if h.PathMTU == 0 {
		h.PathMTU = units.KiB
	}
	if h.LinkMTU == 0 {
		h.LinkMTU = LinkMTU
	}
	if h.Chunk == 0 {
		h.Chunk = units.MiB
	}
	if h.Timeout == 0 {
		h.Timeout = 8
	}
	for _, m := range s.Workload.Messages {
		h.Chunk = max(h.Chunk, m.Bytes)
		h.Receives, h.SendDepth = max(h.Receives, m.Depth), max(h.SendDepth, m.Depth+2)
	}
	if s.Scheme.bolt && s.Scheme.Switch.Queues == nil {
		s.Scheme.Switch.Queues = fabric.Queues{{Bolt: Bolt(h.PathMTU)}}.At()
	}
}

// The depth of a node's completion queue. It has room for twice what may be outstanding on the
// node's queue pairs, and grows with them, up to maxCQDepth.
const (
	firstCQDepth = 1 << 8
	maxCQDepth   = 1 << 16
)

// ring returns a ring for the events of a part of the simulation; nil without a log.
func (s *Simulation) ring(name string) *trace.Ring {
	if s.Trace == nil {
		return nil
	}
	return s.Trace.Ring(name)
}

// start makes the endpoint and attaches it to the host.
func (n *Node) start() (err error) {
	s, index := n.sim, n.Host.Index()
	var port packet.Port = n.Host.NIC()
	if s.Hosts.Plain {
		port = &foreignCounter{port, &s.foreign}
	}
	if s.Hosts.Wrap != nil {
		port = s.Hosts.Wrap(index, port)
	}
	var controller cc.Controller
	if s.Scheme.Controller != nil {
		if controller, err = s.Scheme.Controller(index, s.Net.Now()); err != nil {
			return err
		}
	}
	n.Endpoint, err = transport.New(transport.Config{
		Port: port, Addrs: n.Host.Addrs(), Seed: s.Seed<<16 ^ uint64(index), Repeatable: true,
		NewAlgorithm: s.Scheme.Algorithm, Controller: controller, CNPInterval: s.Scheme.CNPInterval,
		TrimmedDSCP: s.Scheme.TrimmedDSCP, MaxHeld: s.Scheme.Recovery.MaxHeld,
		Trace: s.ring(n.Host.String()),
	}, s.Net.Now())
	if err != nil {
		return err
	}
	n.PD = n.Endpoint.AllocPD()
	if n.CQ, err = n.Endpoint.CreateCQ(firstCQDepth); err != nil {
		return err
	}
	if n.source, err = n.Endpoint.RegisterMemory(n.PD, s.source, 0); err != nil {
		return err
	}
	writable := transport.LocalWrite | transport.RemoteWrite | transport.RemoteRead
	if n.sink, err = n.Endpoint.RegisterMemory(n.PD, s.sink, writable); err != nil {
		return err
	}
	n.Endpoint.Loop().OnRound(n.reap)
	n.Host.Run(n.Endpoint)
	return nil
}
