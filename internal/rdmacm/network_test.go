package rdmacm

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// network is two machines in virtual time, with programs that accept everything.
type network struct {
	t      testing.TB
	now    units.Time
	ends   [2]*end // client and server
	flying []flight
	// delays returns the delays of a datagram's copies; none means that it is lost.
	delays func(from int, m Message) []units.Duration
}

type end struct {
	*Machine
	offer  Offer
	conn   *Conn // the newest
	told   []EventKind
	last   Event
	reject Reason      // reason to reject requests, if not 0
	mute   bool        // does not decide
	other  func(Event) // a program of the test's own, if not nil
}

type flight struct {
	to int
	at units.Time
	d  Datagram
}

const oneWay = 10 * units.Microsecond

func newNetwork(t testing.TB, c Config) *network {
	n := &network{t: t, delays: func(int, Message) []units.Duration {
		return []units.Duration{oneWay}
	}}
	for i, offer := range []Offer{clientOffer, serverOffer} {
		c.GUID, c.Seed = uint64(i), uint64(i)
		m, err := New(c)
		require.NoError(t, err)
		n.ends[i] = &end{Machine: m, offer: offer}
	}
	require.NoError(t, n.ends[1].Listen(TCPService(serverPort), 8))
	return n
}

// drop drops the nth messages of a kind, or all of them if no nth is given.
func (n *network) drop(kind Message, nth ...int) {
	before, count := n.delays, 0
	n.delays = func(from int, m Message) []units.Duration {
		if m.attribute() == kind.attribute() {
			count++
			for _, k := range nth {
				if k == count {
					return nil
				}
			}
			if len(nth) == 0 {
				return nil
			}
		}
		return before(from, m)
	}
}

func (n *network) connect() *Conn {
	c, err := n.ends[0].Connect(clientDial(), n.now)
	require.NoError(n.t, err)
	n.ends[0].conn = c
	return c
}

// settle hands events to the programs and datagrams to the network.
func (n *network) settle() {
	for i, e := range n.ends {
		for ev, ok := e.Event(); ok; ev, ok = e.Event() {
			e.receive(n, ev)
		}
		for d, ok := e.Emit(); ok; d, ok = e.Emit() {
			_, m, err := Parse(d.MAD[:])
			require.NoError(n.t, err)
			for _, delay := range n.delays(i, m) {
				n.flying = append(n.flying, flight{to: 1 - i, at: n.now.Add(delay), d: d})
			}
		}
	}
}

func (e *end) receive(n *network, ev Event) {
	if e.other != nil {
		e.other(ev)
		return
	}
	e.told, e.last, e.conn = append(e.told, ev.Kind), ev, ev.Conn
	if ev.Kind > ConnectResponse || e.mute {
		return
	}
	// The connection may have ended since; the program learns by the next event.
	switch {
	case e.reject != 0:
		_ = ev.Conn.Reject(e.reject, []byte("no"))
	case ev.Kind == ConnectRequest:
		_ = ev.Conn.Accept(e.offer, n.now)
	default:
		_ = ev.Conn.Confirm()
	}
}

// run lets time pass until then.
func (n *network) run(until units.Time) {
	for {
		n.settle()
		next, which := until, -1
		for _, e := range n.ends {
			next = units.Earlier(next, e.Poll(n.now))
		}
		n.settle() // output of the polls
		for i, f := range n.flying {
			if f.at.Before(next) {
				next, which = f.at, i
			}
		}
		n.now = next
		if which >= 0 {
			f := n.flying[which]
			n.flying = append(n.flying[:which], n.flying[which+1:]...)
			n.ends[f.to].Receive(f.d.Peer, f.d.Local, f.d.MAD[:], n.now)
		} else if next == until {
			return
		}
	}
}

func (n *network) later(d units.Duration) { n.run(n.now.Add(d)) }

// say delivers a message to one end as if the other had sent it, and returns the replies.
func (n *network) say(to int, m Message) (replies []Message) {
	addresses := [2]netip.Addr{clientIP, serverIP}
	n.ends[to].Receive(addresses[to], addresses[1-to], Append(nil, 7, m), n.now)
	return n.ends[to].emitted(n.t)
}

// emitted returns the messages that a machine sends.
func (m *Machine) emitted(t testing.TB) (all []Message) {
	for d, ok := m.Emit(); ok; d, ok = m.Emit() {
		_, message, err := Parse(d.MAD[:])
		require.NoError(t, err)
		all = append(all, message)
	}
	return all
}
