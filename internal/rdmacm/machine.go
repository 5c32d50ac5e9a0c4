package rdmacm

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/goroce/goroce/internal/secret"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// maxDatagrams is how many datagrams may wait for Emit. What comes beyond is lost, as on a
// network: the retries make up for it.
const maxDatagrams = 1024

// Datagram is a message on its way: from queue pair 1 to queue pair 1, with QKey.
type Datagram struct {
	Local, Peer netip.Addr
	// the Ethernet address that what it answers came from; zero: it answers nothing
	Via [6]byte
	MAD [MADLen]byte
}

// Counters counts what a machine saw.
type Counters struct {
	Malformed     uint64 // datagrams that Parse refused
	Unexpected    uint64 // messages that fit no connection, or not its state
	Duplicates    uint64 // messages that came again and were answered again
	Refused       uint64 // REQs rejected without asking the program
	Retransmitted uint64
	Dropped       uint64 // datagrams that found maxDatagrams waiting
	Displaced     uint64 // connections that made room for others before their time
}

// peerID is a connection as its peer names it.
type peerID struct {
	ip netip.Addr
	id CommID
}

// peerQPN is the peer's queue pair of a connection.
type peerQPN struct {
	ip  netip.Addr
	qpn wire.QPN
}

// Machine is the communication manager of one host.
type Machine struct {
	config    Config
	listeners map[ServiceID]*listener
	conns     map[CommID]*Conn
	requests  map[peerID]*Conn   // passive connections
	peers     map[peerQPN]*Conn  // connections whose peer has proved to have the queue pair
	halfOpen  map[netip.Addr]int // connections of each peer that are in a backlog
	ids       *rand.Rand
	via       [6]byte // where the message that is being received came from
	deadlines deadlines
	out       []Datagram
	events    []Event
	counters  Counters
}

// New makes a machine. The error is ErrInvalid.
func New(c Config) (*Machine, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	ids := secret.Stream()
	if c.Seed != 0 {
		ids = rand.NewPCG(c.Seed, 0)
	}
	return &Machine{
		config: c, listeners: map[ServiceID]*listener{}, conns: map[CommID]*Conn{},
		requests: map[peerID]*Conn{}, peers: map[peerQPN]*Conn{}, halfOpen: map[netip.Addr]int{},
		ids: rand.New(ids),
	}, nil
}

// Listen lets peers connect to a service. At most backlog of its connections are between
// ConnectRequest and Established. A REQ beyond takes the place of the oldest of them, unless its
// sender has a quarter of the backlog, or more: then it is rejected with NoResources.
func (m *Machine) Listen(s ServiceID, backlog int) error {
	if backlog < 1 {
		return fmt.Errorf("rdmacm: listen: backlog %d: %w", backlog, ErrInvalid)
	}
	if m.listeners[s] != nil {
		return fmt.Errorf("rdmacm: listen: service %#x has a listener: %w", uint64(s), ErrInvalid)
	}
	m.listeners[s] = &listener{backlog: backlog}
	return nil
}

// Unlisten ends Listen. Connections stay.
func (m *Machine) Unlisten(s ServiceID) { delete(m.listeners, s) }

// Len answers how many connections there are, those in timewait included.
func (m *Machine) Len() int { return len(m.conns) }

// Counters answers what was counted.
func (m *Machine) Counters() Counters { return m.counters }

// Pending says whether a datagram waits for Emit.
func (m *Machine) Pending() bool { return len(m.out) > 0 }

// Emit takes out the oldest datagram to send.
func (m *Machine) Emit() (d Datagram, ok bool) { return take(&m.out) }

// Event takes out the oldest event.
func (m *Machine) Event() (e Event, ok bool) { return take(&m.events) }

func take[T any](queue *[]T) (first T, ok bool) {
	q := *queue
	if len(q) == 0 {
		return first, false
	}
	first = q[0]
	var zero T
	q[0] = zero // holds nothing any more
	if *queue = q[1:]; len(q) == 1 {
		*queue = nil
	}
	return first, true
}

// Poll does what is due, and answers when it wants to be called again at the latest.
func (m *Machine) Poll(now units.Time) units.Time {
	for len(m.deadlines) > 0 && !m.deadlines[0].deadline.After(now) {
		m.deadlines[0].expire(now)
	}
	if len(m.deadlines) == 0 {
		return now.Add(units.Forever)
	}
	return m.deadlines[0].deadline
}

// answer queues a message to where the one that is being received came from.
func (m *Machine) answer(local, peer netip.Addr, tid uint64, message Message) {
	m.send(Datagram{Local: local, Peer: peer, Via: m.via}, tid, message)
}

// send queues a message.
func (m *Machine) send(d Datagram, tid uint64, message Message) {
	if len(m.out) == maxDatagrams {
		m.counters.Dropped++
		return
	}
	Append(d.MAD[:0], tid, message)
	m.out = append(m.out, d)
}

// add makes a connection with an ID of its own.
func (m *Machine) add(local, peer netip.Addr) *Conn {
	c := &Conn{machine: m, local: local, peer: peer, heapIx: -1}
	for c.id == 0 || m.conns[c.id] != nil {
		c.id = CommID(m.ids.Uint32())
	}
	m.conns[c.id] = c
	return c
}

// remove forgets a connection.
func (m *Machine) remove(c *Conn) {
	c.stop()
	c.settle()
	c.state = closed
	delete(m.conns, c.id)
	if id := (peerID{c.peer, c.remote}); m.requests[id] == c {
		delete(m.requests, id)
	}
	m.forgetQPN(c)
}

func (m *Machine) forgetQPN(c *Conn) {
	if qp := (peerQPN{c.peer, c.peerQPN}); m.peers[qp] == c {
		delete(m.peers, qp)
	}
}
