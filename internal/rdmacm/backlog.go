package rdmacm

import (
	"net/netip"
	"slices"

	"github.com/goroce/goroce/units"
)

// Limits of half-open connections: those that a REQ started and that are not established. Any host
// can start one under a forged address, so a half-open connection must not keep a place that
// another one needs.

// listener is a service that accepts connections.
type listener struct {
	backlog  int
	halfOpen []*Conn // oldest first
}

// quota is the number of half-open connections, over all services, from which on a peer's REQs no
// longer displace others. The value is ours.
func (l *listener) quota() int { return max(1, l.backlog/4) }

// activeShare: one in activeShare connections is reserved for Connect. The value is ours.
const activeShare = 8

// eventsFull reports whether so many events wait for the program that peers must not cause more.
func (m *Machine) eventsFull() bool { return len(m.events) >= 2*m.config.MaxConns }

// admit reports whether a listener may have another half-open connection, from peer. If necessary
// it makes room: it displaces connections in timewait before half-open ones, and the oldest first.
func (m *Machine) admit(l *listener, peer netip.Addr) bool {
	backlogFull := len(l.halfOpen) >= l.backlog
	machineFull := len(m.conns) >= m.config.MaxConns-m.config.MaxConns/activeShare
	switch {
	case m.eventsFull():
		return false
	case !backlogFull && !machineFull:
		return true
	case m.halfOpen[peer] >= l.quota():
		return false
	case backlogFull:
		l.halfOpen[0].displace()
		return true
	}
	c := m.firstTimewaitExit()
	if c == nil {
		c = m.oldestHalfOpen()
	}
	if c == nil {
		return false
	}
	c.displace()
	return true
}

// firstTimewaitExit returns the connection that leaves timewait first, or nil.
func (m *Machine) firstTimewaitExit() (first *Conn) {
	for _, c := range m.deadlines {
		if c.state == timewait && (first == nil || c.deadline.Before(first.deadline)) {
			first = c
		}
	}
	return first
}

func (m *Machine) oldestHalfOpen() (oldest *Conn) {
	for _, l := range m.listeners {
		if len(l.halfOpen) > 0 && (oldest == nil ||
			l.halfOpen[0].requestedAt.Before(oldest.requestedAt)) {
			oldest = l.halfOpen[0]
		}
	}
	return oldest
}

// displace ends a half-open connection, or its timewait, to make room. A shortened timewait is
// harmless, because IDs are drawn from 2^32.
func (c *Conn) displace() {
	c.machine.counters.Displaced++
	if c.state != timewait {
		c.sendREJ(NoResources, nil)
		c.notify(Event{Kind: Unreachable, Reason: NoResources})
	}
	if c.state != reqRcvd {
		c.notify(Event{Kind: TimewaitExit})
	}
	c.machine.remove(c)
}

// joinBacklog adds a connection to the backlog of its listener.
func (c *Conn) joinBacklog(l *listener, now units.Time) {
	c.listener, c.requestedAt = l, now
	l.halfOpen = append(l.halfOpen, c)
	c.machine.halfOpen[c.peer]++
}

// leaveBacklog removes a connection from its listener's backlog.
func (c *Conn) leaveBacklog() {
	l := c.listener
	if l == nil {
		return
	}
	i := slices.Index(l.halfOpen, c)
	l.halfOpen = slices.Delete(l.halfOpen, i, i+1)
	m := c.machine
	if m.halfOpen[c.peer]--; m.halfOpen[c.peer] == 0 {
		delete(m.halfOpen, c.peer)
	}
	c.listener = nil
}
