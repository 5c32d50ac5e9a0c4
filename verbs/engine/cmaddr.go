package engine

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	limits "github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
	"github.com/goroce/goroce/verbs/protocol"
)

// cmAddrOf encodes an address.
func cmAddrOf(a netip.AddrPort) (c protocol.CMAddr) {
	if !a.Addr().IsValid() {
		return c
	}
	c.Addr, c.Port, c.Family = a.Addr().As16(), a.Port(), 6
	if a.Addr().Is4() {
		c.Family = 4
	}
	return c
}

// parseCMAddr decodes an address. The result is invalid if there is none.
func parseCMAddr(c *protocol.CMAddr) (netip.AddrPort, error) {
	a := netip.AddrFrom16(c.Addr)
	switch {
	case c.Family == 0:
		return netip.AddrPort{}, nil
	case c.Family == 4 && a.Is4In6(), c.Family == 6:
		return netip.AddrPortFrom(a.Unmap(), c.Port), nil
	}
	return netip.AddrPort{}, fmt.Errorf("address family %d with %v: %w", c.Family, a,
		unix.EAFNOSUPPORT)
}

// pathMTU returns the largest path MTU of the port.
func (e *Engine) pathMTU() units.Bytes { return limits.PathMTUFor(e.host.Info(0).MTU) }

// pathTo describes the path from an address of ours to a peer.
func (e *Engine) pathTo(local, peer netip.Addr, class uint8) protocol.Path {
	return protocol.Path{DGID: peer.As16(), SGIDIndex: uint8(max(slices.Index(e.gids, local), 0)),
		HopLimit: 64, TrafficClass: class, IsGlobal: 1, Port: 1}
}

// cmPort is a port of a port space.
type cmPort struct {
	space portSpace
	port  uint16
}

// service returns the port's service ID.
func (p cmPort) service() rdmacm.ServiceID {
	if p.space == spaceTCP {
		return rdmacm.TCPService(p.port)
	}
	return rdmacm.UDPService(p.port)
}

func (id *cmID) portKey() cmPort { return cmPort{id.space, id.local.Port()} }

// The ephemeral ports, as Linux has them.
const firstEphemeral, lastEphemeral = 32768, 60999

// bind binds an ID to an address of ours, or to all, and to a port.
func (m *cmManager) bind(id *cmID, a netip.AddrPort) error {
	e := id.session.engine
	if a.Addr().IsLoopback() { // as with Linux: all addresses. libfabric binds to localhost
		a = netip.AddrPortFrom(unspecified(a.Addr()), a.Port())
	}
	switch ip := a.Addr(); {
	case !ip.IsValid():
		return fmt.Errorf("bind to no address: %w", transport.ErrInvalid)
	case !ip.IsUnspecified() && !slices.Contains(e.gids, ip.WithZone("")):
		return fmt.Errorf("bind to %v, want one of %v: %w", ip, e.gids, unix.ENODEV)
	}
	if a.Port() == 0 {
		port, ok := m.freePort(id.space)
		if !ok {
			return fmt.Errorf("bind: no free port: %w", unix.EADDRNOTAVAIL)
		}
		a = netip.AddrPortFrom(a.Addr(), port)
	}
	key := cmPort{id.space, a.Port()}
	for _, other := range m.ports[key] {
		same := other.local.Addr() == a.Addr() || other.local.Addr().IsUnspecified() ||
			a.Addr().IsUnspecified()
		if same && !(id.reuse && other.reuse && other.state != cmListening) {
			return fmt.Errorf("bind to %v: %w", a, unix.EADDRINUSE)
		}
	}
	id.local, id.reservedPort = a, true
	m.ports[key] = append(m.ports[key], id)
	return nil
}

// freePort returns a port that no ID has.
func (m *cmManager) freePort(space portSpace) (uint16, bool) {
	for range lastEphemeral - firstEphemeral + 1 {
		m.nextPort = cmp.Or(m.nextPort, firstEphemeral)
		port := m.nextPort
		if m.nextPort++; m.nextPort > lastEphemeral {
			m.nextPort = firstEphemeral
		}
		if len(m.ports[cmPort{space, port}]) == 0 {
			return port, true
		}
	}
	return 0, false
}

// release gives up the port of an ID, and what it listens on.
func (m *cmManager) release(id *cmID) {
	m.resolving = slices.DeleteFunc(m.resolving, func(o *cmID) bool { return o == id })
	if !id.reservedPort {
		return
	}
	id.reservedPort = false
	key := id.portKey()
	m.ports[key] = slices.DeleteFunc(m.ports[key], func(o *cmID) bool { return o == id })
	if id.state == cmListening && !slices.ContainsFunc(m.ports[key], func(o *cmID) bool {
		return o.state == cmListening
	}) {
		m.machine.Unlisten(key.service())
	}
	if len(m.ports[key]) == 0 {
		delete(m.ports, key)
	}
}

// listenerOf returns the ID that listens for requests to an address of ours.
func (m *cmManager) listenerOf(key cmPort, local netip.Addr) (best *cmID) {
	for _, id := range m.ports[key] {
		ip := id.local.Addr()
		switch {
		case id.state != cmListening:
		case ip == local:
			return id
		case ip.IsUnspecified() && (ip.Is4() == local.Is4() || ip.Is6() && !id.v6only):
			best = id
		}
	}
	return best
}

func (s *Session) bindCMID(_ *transport.Endpoint, r *protocol.CMResolve) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err == nil {
		err = id.requireState(cmIdle)
	}
	var a netip.AddrPort
	if err == nil {
		a, err = parseCMAddr(&r.Source)
	}
	if err == nil {
		err = s.engine.cm.bind(id, a)
	}
	if err != nil {
		return answer{}, err
	}
	id.state = cmBound
	route := id.route()
	return answer{body: &route}, nil
}

// resolveCMAddr starts the resolution of a peer's address.
func (s *Session) resolveCMAddr(ep *transport.Endpoint, r *protocol.CMResolve) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err == nil {
		err = id.requireState(cmIdle, cmBound)
	}
	if err != nil {
		return answer{}, err
	}
	source, err := parseCMAddr(&r.Source)
	if err != nil {
		return answer{}, err
	}
	peer, err := parseCMAddr(&r.Destination)
	if err != nil || !peer.IsValid() {
		return answer{}, fmt.Errorf("destination %v: %w", peer, transport.ErrInvalid)
	}
	m, now := &s.engine.cm, ep.Loop().Now()
	if id.state == cmIdle {
		if !source.IsValid() {
			source = netip.AddrPortFrom(unspecified(peer.Addr()), 0)
		}
		if err := m.bind(id, source); err != nil {
			return answer{}, err
		}
	}
	id.peer, id.state = peer, cmResolvingAddr
	id.deadline = now.Add(units.Duration(r.TimeoutMS) * units.Millisecond)
	if id.local.Addr().IsUnspecified() {
		from, err := ep.Setup().Source(peer.Addr())
		if err != nil { // no route: an event, as with Linux
			m.addrFailed(id, unix.ENETUNREACH)
			return answer{}, nil
		}
		m.rebind(id, from)
	}
	m.resolving = append(m.resolving, id)
	return answer{}, nil
}

// rebind gives an ID that is bound to all addresses the one of its route.
func (m *cmManager) rebind(id *cmID, ip netip.Addr) {
	id.local = netip.AddrPortFrom(ip, id.local.Port())
}

func unspecified(ip netip.Addr) netip.Addr {
	if ip.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

func (m *cmManager) addrFailed(id *cmID, errno unix.Errno) {
	id.state = cmBound
	id.push(&cmEvent{kind: cmAddrError, status: -int32(errno)})
}

// pollResolving ends the resolutions that have an answer, or none in time.
func (m *cmManager) pollResolving(ep *transport.Endpoint, now units.Time) (busy bool) {
	m.resolving = slices.DeleteFunc(m.resolving, func(id *cmID) bool {
		hop, err := ep.Setup().Neighbors().Resolve(id.peer.Addr(), now)
		switch {
		case err != nil:
			m.addrFailed(id, unix.EHOSTUNREACH)
		case hop.Generation() != 0 || ep.Setup().Neighbors().Owns(id.peer.Addr()):
			id.state = cmHasAddr
			id.push(&cmEvent{kind: cmAddrResolved})
		case !now.Before(id.deadline):
			m.addrFailed(id, unix.ETIMEDOUT)
		default:
			return false
		}
		busy = true
		return true
	})
	return busy
}

// resolveCMRoute has nothing to find out: on Ethernet the route is the address.
func (s *Session) resolveCMRoute(_ *transport.Endpoint, r *protocol.CMHandleValue) (answer,
	error) {
	id, err := find[*cmID](s, r.Handle)
	if err == nil {
		err = id.requireState(cmHasAddr)
	}
	if err != nil {
		return answer{}, err
	}
	id.state = cmHasRoute
	id.push(&cmEvent{kind: cmRouteResolved})
	return answer{}, nil
}

// defaultBacklog is the backlog of a program that names none; Linux has 1024.
const defaultBacklog = 512

func (s *Session) listenCM(_ *transport.Endpoint, r *protocol.CMHandleValue) (answer, error) {
	id, err := find[*cmID](s, r.Handle)
	if err == nil {
		err = id.requireState(cmIdle, cmBound)
	}
	m := &s.engine.cm
	if err == nil && id.state == cmIdle {
		err = m.bind(id, netip.AddrPortFrom(netip.IPv4Unspecified(), 0))
	}
	if err != nil {
		return answer{}, err
	}
	key := id.portKey()
	for _, other := range m.ports[key] {
		if other != id && other.state == cmListening && (other.local == id.local ||
			other.reuse && id.reuse && other.local.Addr() == id.local.Addr()) {
			return answer{}, fmt.Errorf("listen on %v: %w", id.local, unix.EADDRINUSE)
		}
	}
	if m.listenerCount(key) == 0 {
		if err := m.machine.Listen(key.service(), defaultBacklog); err != nil {
			return answer{}, err
		}
	}
	id.state = cmListening
	if id.backlog = int(int32(r.Value)); id.backlog <= 0 || id.backlog > defaultBacklog {
		id.backlog = defaultBacklog
	}
	route := id.route()
	return answer{body: &route}, nil
}

func (m *cmManager) listenerCount(key cmPort) (n int) {
	for _, id := range m.ports[key] {
		if id.state == cmListening {
			n++
		}
	}
	return n
}
