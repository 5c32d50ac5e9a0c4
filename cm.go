package goroce

import (
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// ErrUnreachable says that a peer did not answer until the RDMA connection manager gave up.
var ErrUnreachable = errors.New("the peer does not answer")

// errBacklogFull is the end of a connection whose place a newer request has taken.
var errBacklogFull = errors.New("more peers ask for connections than the backlog holds")

// errTooLate is the end of a connection that the program did not decide about.
var errTooLate = errors.New("the program took too long to decide")

// CMReject says that a peer refused a connection of the RDMA connection manager.
type CMReject struct {
	Reason  rdmacm.Reason
	Private []byte // what the peer's program says to it: 148 bytes, zeros behind it
}

func (r *CMReject) Error() string { return "rejected: " + r.Reason.String() }

// farewell is how long a closing host waits for the peers of its connections to agree.
const farewell = 100 * time.Millisecond

// cm is a host's connection manager: a program on the core of endpoint 0, which owns queue pair 1.
// All of it belongs to that core; other goroutines reach it through do.
type cm struct {
	host      *Host
	worker    *worker // of endpoint 0
	machine   *rdmacm.Machine
	listeners map[rdmacm.ServiceID]*CMListener
	conns     map[*rdmacm.Conn]*CMConn // those that have not ended
	closed    bool
}

// manager answers the host's connection manager. The first one who asks starts it: until then
// nobody answers what comes to queue pair 1.
func (h *Host) manager() (*cm, error) {
	h.cmMu.Lock()
	defer h.cmMu.Unlock()
	if h.cm != nil {
		return h.cm, nil
	}
	if h.life.Err() != nil { // Close would not find it
		return nil, ErrClosed
	}
	m := &cm{host: h, worker: h.workers[0], listeners: map[rdmacm.ServiceID]*CMListener{},
		conns: map[*rdmacm.Conn]*CMConn{}}
	config, err := rdmacm.Config{GUID: guid(h.Info(0).MAC)}, error(nil)
	if h.seed != 0 {
		config.Seed = cmp.Or(h.seed^0x636d, 1) // other numbers than those of the keys
	}
	if m.machine, err = rdmacm.New(config); err != nil {
		return nil, err
	}
	if err := m.do(func(ep *transport.Endpoint) error { return ep.Manage(m.machine) }); err != nil {
		return nil, err
	}
	if _, err := m.worker.run(m); err != nil {
		return nil, err
	}
	h.cm = m
	return m, nil
}

// guid is the EUI-64 of a MAC address (RFC 4291 appendix A), as rxe and others have it.
func guid(mac [6]byte) uint64 {
	v := uint64(mac[0]^2)<<16 | uint64(mac[1])<<8 | uint64(mac[2])
	return v<<40 | 0xfffe<<24 | uint64(mac[3])<<16 | uint64(mac[4])<<8 | uint64(mac[5])
}

// do runs f on the manager's core and answers its error, or ErrClosed.
func (m *cm) do(f func(*transport.Endpoint) error) error {
	var failure error
	if err := m.worker.do(func(ep *transport.Endpoint) {
		if failure = ErrClosed; !m.closed {
			failure = f(ep)
		}
	}); err != nil {
		return err
	}
	return failure
}

// Step tells what happened to whom it concerns.
func (m *cm) Step(_ *transport.Endpoint, _ units.Time) (busy, done bool) {
	for e, ok := m.machine.Event(); ok; e, ok = m.machine.Event() {
		busy = true
		if e.Kind == rdmacm.ConnectRequest {
			m.request(e)
		} else if c := m.conns[e.Conn]; c != nil {
			m.tell(c, e)
		}
	}
	return busy, false
}

// request hands a request to its listener.
func (m *cm) request(e rdmacm.Event) {
	l := m.listeners[e.Conn.Request().Service]
	if l != nil {
		c := newCMConn(m, e.Conn)
		c.private = e.Private
		if l.queue(&CMRequest{c}) {
			m.conns[e.Conn] = c
			return
		}
	}
	// a connection that was just asked for can be rejected
	_ = e.Conn.Reject(rdmacm.NoResources, nil)
}

// tell takes what happened to a connection.
func (m *cm) tell(c *CMConn, e rdmacm.Event) {
	switch e.Kind {
	case rdmacm.ConnectResponse, rdmacm.Established:
		c.answer <- e // there is room for the one that comes
	case rdmacm.Rejected:
		m.end(c, &CMReject{e.Reason, e.Private})
	case rdmacm.Unreachable:
		switch e.Reason {
		case rdmacm.Timeout:
			m.end(c, ErrUnreachable)
		case rdmacm.NoResources:
			m.end(c, errBacklogFull)
		default:
			m.end(c, errTooLate)
		}
	case rdmacm.Disconnected:
		err := error(io.EOF)
		if e.Reason != 0 {
			err = &CMReject{e.Reason, e.Private}
		}
		m.end(c, err)
	}
}

// end is called when a connection has ended. Its queue pair goes to the error state.
func (m *cm) end(c *CMConn, err error) {
	delete(m.conns, c.conn)
	if !c.finish(err) || c.qp == nil {
		return
	}
	qp := c.qp
	if c.worker == m.worker {
		qp.ToError()
		return
	}
	// A polling core must not wait for another one's mailbox.
	go func() { _ = c.worker.post(func(*transport.Endpoint) { qp.ToError() }) }()
}

// close ends all connections, tells their peers, and gives these a moment to agree.
func (m *cm) close() {
	var leaving []*CMConn
	err := m.do(func(ep *transport.Endpoint) error {
		m.closed = true
		for _, l := range m.listeners {
			m.unlisten(l)
		}
		for _, c := range m.conns {
			c.closing = true
			c.conn.Disconnect(ep.Now())
			leaving = append(leaving, c)
		}
		return nil
	})
	if err != nil {
		return
	}
	late := time.After(farewell)
	for _, c := range leaving {
		select {
		case <-c.done:
		case <-late:
			late = nil
		}
		if late == nil {
			break
		}
	}
	_ = m.worker.do(func(*transport.Endpoint) {
		for _, c := range leaving {
			m.end(c, ErrClosed)
		}
	})
}

// workerOf answers the core that a queue pair belongs to, nil when it is none of the host's.
func (h *Host) workerOf(qp *transport.QueuePair) *worker {
	if qp != nil {
		for _, w := range h.workers {
			if w.ep == qp.Endpoint() {
				return w
			}
		}
	}
	return nil
}
