package rdmacm

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/goroce/goroce/internal/secret"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// maxDatagrams is the maximum number of datagrams that wait for Emit. Further ones are dropped, as
// on a network, and retransmitted later.
const maxDatagrams = 1024

// Datagram is a message from queue pair 1 to queue pair 1, with QKey.
type Datagram struct {
	Local, Peer netip.Addr
	// Via is the source MAC address of the datagram that this one replies to; zero if there is
	// none.
	Via [6]byte
	MAD [MADLen]byte
}

// Counters counts the events of a Machine.
type Counters struct {
	Malformed     uint64 // datagrams that Parse rejected
	Unexpected    uint64 // messages that match no connection or not its state
	Duplicates    uint64 // duplicate messages, which were answered again
	Refused       uint64 // REQs rejected without asking the program
	Retransmitted uint64
	Dropped       uint64 // datagrams beyond maxDatagrams
	Displaced     uint64 // connections ended early to make room for others
}

// peerID identifies a connection by the peer's address and ID.
type peerID struct {
	ip netip.Addr
	id CommID
}

// peerQPN identifies a connection by the peer's address and queue pair.
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
	peers     map[peerQPN]*Conn  // connections whose peer has proved to own the queue pair
	halfOpen  map[netip.Addr]int // number of each peer's connections in backlogs
	lookups   lookups
	ids       *rand.Rand
	via       [6]byte // source MAC address of the message being received
	deadlines deadlines
	out       []Datagram
	events    []Event
	counters  Counters
}

// New returns a Machine. Its error is ErrInvalid.
func New(c Config) (*Machine, error) {
	if err := c.setDefaults(); err != nil {
		return nil, err
	}
	ids := secret.Stream()
	if c.Seed != 0 {
		ids = rand.NewPCG(c.Seed, 0)
	}
	return &Machine{
		config: c, listeners: map[ServiceID]*listener{}, conns: map[CommID]*Conn{},
		requests: map[peerID]*Conn{}, peers: map[peerQPN]*Conn{}, halfOpen: map[netip.Addr]int{},
		lookups: lookups{map[CommID]*Lookup{}, map[peerID]*Lookup{}}, ids: rand.New(ids),
	}, nil
}

// Listen accepts connections to a service. At most backlog of its connections are between
// ConnectRequest and Established. A further REQ displaces the oldest of them, unless its sender has
// at least a quarter of the backlog; then the REQ is rejected with NoResources.
func (m *Machine) Listen(s ServiceID, backlog int) error {
	if backlog < 1 {
		return fmt.Errorf("rdmacm: listen: backlog %d: want 1 or more: %w", backlog, ErrInvalid)
	}
	if m.listeners[s] != nil {
		return fmt.Errorf("rdmacm: listen: service %#x already has a listener: %w", uint64(s),
			ErrInvalid)
	}
	m.listeners[s] = &listener{backlog: backlog}
	return nil
}

// Unlisten ends Listen. Existing connections are kept.
func (m *Machine) Unlisten(s ServiceID) { delete(m.listeners, s) }

// Len returns the number of connections, including those in timewait.
func (m *Machine) Len() int { return len(m.conns) }

// Counters returns the counters.
func (m *Machine) Counters() Counters { return m.counters }

// Pending reports whether a datagram waits for Emit.
func (m *Machine) Pending() bool { return len(m.out) > 0 }

// Emit removes and returns the oldest datagram to send.
func (m *Machine) Emit() (d Datagram, ok bool) { return take(&m.out) }

// Event removes and returns the oldest event.
func (m *Machine) Event() (e Event, ok bool) { return take(&m.events) }

func take[T any](queue *[]T) (first T, ok bool) {
	q := *queue
	if len(q) == 0 {
		return first, false
	}
	first = q[0]
	var zero T
	q[0] = zero // release references
	if *queue = q[1:]; len(q) == 1 {
		*queue = nil
	}
	return first, true
}

// Poll handles what is due and returns the latest time of its next call.
func (m *Machine) Poll(now units.Time) units.Time {
	for len(m.deadlines) > 0 && !m.deadlines[0].deadline.After(now) {
		m.deadlines[0].expire(now)
	}
	if len(m.deadlines) == 0 {
		return now.Add(units.Forever)
	}
	return m.deadlines[0].deadline
}

// reply queues a message to the sender of the message being received.
func (m *Machine) reply(local, peer netip.Addr, tid uint64, message Message) {
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

// add adds a connection with a new ID.
func (m *Machine) add(local, peer netip.Addr) *Conn {
	c := &Conn{machine: m, local: local, peer: peer, heapIndex: -1}
	for c.id == 0 || m.conns[c.id] != nil {
		c.id = CommID(m.ids.Uint32())
	}
	m.conns[c.id] = c
	return c
}

// remove removes a connection.
func (m *Machine) remove(c *Conn) {
	c.clearDeadline()
	c.leaveBacklog()
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
