package rdmacm

import (
	"net/netip"
	"slices"

	"github.com/goroce/goroce/units"
)

// What half-open connections may take: those that a REQ has begun and that are not established.
// Anybody can begin one in anybody's name, so none of them may keep a place that another one needs.

// listener is a service that accepts connections.
type listener struct {
	backlog  int
	halfOpen []*Conn // the oldest first
}

// quota is how many half-open connections a peer may have, with all services, and still push out
// others. OURS.
func (l *listener) quota() int { return max(1, l.backlog/4) }

// forDialling is which part of all connections only Connect may use. OURS.
const forDialling = 8

// deaf reports whether so many events wait for the program that peers must not add to them.
func (m *Machine) deaf() bool { return len(m.events) >= 2*m.config.MaxConns }

// admit reports whether a listener may have one half-open connection more, of a peer. It makes room
// if it must: a connection in timewait goes before one that is half open, the oldest one first.
func (m *Machine) admit(l *listener, peer netip.Addr) bool {
	backlogFull := len(l.halfOpen) >= l.backlog
	machineFull := len(m.conns) >= m.config.MaxConns-m.config.MaxConns/forDialling
	switch {
	case m.deaf():
		return false
	case !backlogFull && !machineFull:
		return true
	case m.halfOpen[peer] >= l.quota():
		return false
	case backlogFull:
		l.halfOpen[0].displace()
		return true
	}
	c := m.soonestExit()
	if c == nil {
		c = m.oldestHalfOpen()
	}
	if c == nil {
		return false
	}
	c.displace()
	return true
}

// soonestExit returns the connection that leaves timewait first, or nil.
func (m *Machine) soonestExit() (first *Conn) {
	for _, c := range m.deadlines {
		if c.state == timewait && (first == nil || c.deadline.Before(first.deadline)) {
			first = c
		}
	}
	return first
}

func (m *Machine) oldestHalfOpen() (oldest *Conn) {
	for _, l := range m.listeners {
		if len(l.halfOpen) > 0 && (oldest == nil || l.halfOpen[0].begun.Before(oldest.begun)) {
			oldest = l.halfOpen[0]
		}
	}
	return oldest
}

// displace ends a half-open connection, or its timewait, because others need its place. That it is
// not waited until its packets have left the network does no harm: IDs are drawn from 2^32.
func (c *Conn) displace() {
	c.machine.counters.Displaced++
	if c.state != timewait {
		c.sendREJ(NoResources, nil)
		c.tell(Event{Kind: Unreachable, Reason: NoResources})
	}
	if c.state != reqRcvd {
		c.tell(Event{Kind: TimewaitExit})
	}
	c.machine.remove(c)
}

// enlist puts a connection into the backlog of its listener.
func (c *Conn) enlist(l *listener, now units.Time) {
	c.listener, c.begun = l, now
	l.halfOpen = append(l.halfOpen, c)
	c.machine.halfOpen[c.peer]++
}

// settle takes a connection out of its listener's backlog.
func (c *Conn) settle() {
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
