package main

import (
	"net/netip"
	"slices"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// manager is the communication manager of a host in the mode hostile. It listens; forgers send it
// requests for connections and other messages, from its peers' addresses and others. Its own
// connections are dialled meanwhile, and their number has a limit.
type manager struct {
	*rdmacm.Machine
	node    *node
	offered wire.QPN
	dialled int // own connections that have not ended
}

const (
	// managerConns is the maximum number of connections of a manager, so small that forgers reach
	// it.
	managerConns   = 32
	managerBacklog = 8
	managerPort    = 18515
	// managerTimeout is longer than any connection of a manager, including a second in which its
	// peer's address is not resolved.
	managerTimeout = 2 * units.Second
)

// newManager returns the manager of an incarnation of n, with waits of up to 4 ms instead of
// minutes, so that connections end within a simulation.
func newManager(n *node) (*manager, error) {
	const code = 10 // 4.096 µs · 2^10
	machine, err := rdmacm.New(rdmacm.Config{
		GUID: uint64(n.index + 1), Seed: n.sim.plan.seed<<8 | uint64(n.incarnations) | 1,
		ResponseTimeout: code, PacketLifetime: code, ServiceTimeout: code, MaxTimeout: code,
		MaxPatience: code + 2, MaxRetries: 3, MaxConns: managerConns})
	if err != nil {
		return nil, err
	}
	m := &manager{Machine: machine, node: n, offered: 1 << 20}
	if err := m.Listen(rdmacm.TCPService(managerPort), managerBacklog); err != nil {
		return nil, err
	}
	return m, n.endpoint.Setup().Manage(machine)
}

// offer returns an offer with a queue pair number of its own.
func (m *manager) offer() rdmacm.Offer {
	m.offered++
	return rdmacm.Offer{QPN: m.offered, PSN: 1, RetryCount: 7, RNRRetry: 7}
}

// onRound accepts what peers, real or forged, request, and ends what was dialled.
func (m *manager) onRound(now units.Time) {
	if n := m.Len(); n > managerConns {
		m.node.failf("its communication manager holds %d connections, more than %d", n,
			managerConns)
	}
	for ev, ok := m.Event(); ok; ev, ok = m.Event() {
		switch ev.Kind {
		case rdmacm.ConnectRequest:
			_ = ev.Conn.Accept(m.offer(), now) // it may have been evicted
		case rdmacm.ConnectResponse:
			_ = ev.Conn.Confirm()
			ev.Conn.Disconnect(now)
		case rdmacm.Rejected, rdmacm.Unreachable, rdmacm.TimewaitExit:
			if ev.Conn.Context != nil {
				m.dialled--
			}
		}
	}
}

// dial requests a connection with a peer. A part of the connections is reserved for that, whatever
// forgers request.
func (m *manager) dial(local, peer netip.Addr, now units.Time) {
	if m.dialled == managerConns/8 {
		return
	}
	conn, err := m.Connect(rdmacm.Dial{Offer: m.offer(), Local: local, Peer: peer, MTU: units.KiB,
		Service: rdmacm.TCPService(managerPort)}, now)
	if err != nil {
		m.node.failf("dial %v by its communication manager: %v", peer, err)
		return
	}
	m.dialled++
	conn.Context = m
	m.node.host.Wake()
}

// awaitManagers waits until the communication managers have no connections, and no datagrams that
// wait for an address.
func (sim *simulation) awaitManagers() {
	holds := func(n *node) bool {
		return n.endpoint != nil && n.manager != nil &&
			(n.manager.Len() > 0 || n.endpoint.Loop().IsBusy())
	}
	until := sim.net.Now().Add(managerTimeout)
	for sim.net.Now().Before(until) && slices.ContainsFunc(sim.nodes, holds) {
		sim.advance(sim.net.Now().Add(units.Millisecond))
	}
}
