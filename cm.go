package goroce

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// ErrUnreachable is returned when the peer sent no response before the RDMA connection manager's
// retries ran out.
var ErrUnreachable = errors.New("no response from the peer's connection manager")

// errBacklogFull ends a request that a newer one displaced from the backlog.
var errBacklogFull = errors.New("connection request displaced: the listener's backlog is full")

// errTooLate ends a request that the program neither accepted nor rejected in time.
var errTooLate = errors.New("connection request neither accepted nor rejected in time")

// CMReject is the error of a connection that the peer's RDMA connection manager rejected.
type CMReject struct {
	Reason  rdmacm.Reason
	Private []byte // 148 bytes of the peer's program, zero padded
}

func (r *CMReject) Error() string { return "rejected: " + r.Reason.String() }

// disconnectTimeout is how long a closing host waits for its peers to confirm disconnection.
const disconnectTimeout = 100 * time.Millisecond

// cm is a host's connection manager, a Program on the core of endpoint 0, which owns queue pair 1.
// Its state belongs to that core; other goroutines reach it through do.
type cm struct {
	host      *Host
	worker    *worker // of endpoint 0
	machine   *rdmacm.Machine
	listeners map[rdmacm.ServiceID]*CMListener
	conns     map[*rdmacm.Conn]*CMConn // connections that have not ended
	closed    bool
}

// manager returns the host's connection manager and starts it on the first call, unless Options.CM
// did. Before that the endpoint drops what arrives at queue pair 1.
func (h *Host) manager() (*cm, error) {
	h.cmMu.Lock()
	defer h.cmMu.Unlock()
	if err := h.alive(); err != nil {
		return nil, err
	}
	if h.cm != nil {
		return h.cm, nil
	}
	if h.life.Err() != nil { // Close would not find it
		return nil, context.Cause(h.life)
	}
	m, err := h.newManager(h.Info(0).MAC)
	if err != nil {
		return nil, err
	}
	m.worker = h.workers[0]
	if err := m.do(func(ep *transport.Endpoint) error {
		return ep.Setup().Manage(m.machine)
	}); err != nil {
		return nil, err
	}
	return m, h.runManager(m)
}

// newManager makes a connection manager, which no worker runs yet.
func (h *Host) newManager(mac [6]byte) (*cm, error) {
	m := &cm{host: h, listeners: map[rdmacm.ServiceID]*CMListener{},
		conns: map[*rdmacm.Conn]*CMConn{}}
	config, err := rdmacm.Config{GUID: guid(mac)}, error(nil)
	if h.seed != 0 {
		config.Seed = cmp.Or(h.seed^0x636d, 1) // a different stream than that of the keys
	}
	m.machine, err = rdmacm.New(config)
	return m, err
}

// runManager runs a connection manager whose machine has queue pair 1 already. The caller holds
// cmMu, or is opening the host.
func (h *Host) runManager(m *cm) error {
	if _, err := m.worker.run(m); err != nil {
		return err
	}
	h.cm = m
	return nil
}

// guid returns the EUI-64 of a MAC address (RFC 4291 appendix A), which rxe and other drivers use
// as their GUID.
func guid(mac [6]byte) uint64 {
	v := uint64(mac[0]^2)<<16 | uint64(mac[1])<<8 | uint64(mac[2])
	return v<<40 | 0xfffe<<24 | uint64(mac[3])<<16 | uint64(mac[4])<<8 | uint64(mac[5])
}

// do runs f on the manager's core and returns its error, or ErrClosed.
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

// Step dispatches the machine's events to listeners and connections.
func (m *cm) Step(_ *transport.Endpoint, _ units.Time) (busy, done bool) {
	for e, ok := m.machine.Event(); ok; e, ok = m.machine.Event() {
		busy = true
		if e.Kind == rdmacm.ConnectRequest {
			m.handleRequest(e)
		} else if c := m.conns[e.Conn]; c != nil {
			m.handleEvent(c, e)
		}
	}
	return busy, false
}

// handleRequest queues a connection request at its listener, or rejects it.
func (m *cm) handleRequest(e rdmacm.Event) {
	l := m.listeners[e.Conn.Request().Service]
	if l != nil {
		c := newCMConn(m, e.Conn)
		c.private = e.Private
		if l.queue(&CMRequest{c}) {
			m.conns[e.Conn] = c
			return
		}
	}
	// Reject cannot fail: the request is new.
	_ = e.Conn.Reject(rdmacm.NoResources, nil)
}

// handleEvent applies an event to a connection.
func (m *cm) handleEvent(c *CMConn, e rdmacm.Event) {
	switch e.Kind {
	case rdmacm.ConnectResponse, rdmacm.Established:
		c.answer <- e // never blocks: a connection gets one of these events
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

// end removes a connection that has ended and moves its queue pair to the error state.
func (m *cm) end(c *CMConn, err error) {
	delete(m.conns, c.conn)
	if !c.finish(err) || c.qp == nil {
		return
	}
	qp := c.qp
	if c.worker == m.worker {
		_ = qp.Modify(transport.Errored, transport.QPAttr{})
		return
	}
	// Posting could block this core on the other core's mailbox.
	go func() {
		_ = c.worker.post(func(*transport.Endpoint) {
			_ = qp.Modify(transport.Errored, transport.QPAttr{})
		})
	}()
}

// close disconnects all connections and waits up to disconnectTimeout for the peers to confirm.
func (m *cm) close() {
	var leaving []*CMConn
	err := m.do(func(ep *transport.Endpoint) error {
		m.closed = true
		for _, l := range m.listeners {
			m.unlisten(l)
		}
		for _, c := range m.conns {
			c.closing = true
			c.conn.Disconnect(ep.Loop().Now())
			leaving = append(leaving, c)
		}
		return nil
	})
	if err != nil {
		return
	}
	late := time.After(disconnectTimeout)
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

// workerOf returns the worker whose endpoint owns qp, or nil if no endpoint of the host does.
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
