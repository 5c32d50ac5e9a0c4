package goroce

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
)

// backlog is how many requests of a listener may wait for the program, or for the peer's last word.
// Newer ones take the place of the oldest.
const backlog = 512

// CMListener accepts connections of the RDMA connection manager.
type CMListener struct {
	m       *cm
	service rdmacm.ServiceID
	port    uint16
	closed  chan struct{}

	mu       sync.Mutex
	requests []*CMRequest  // for Accept, in the order of their coming; some have ended
	arrived  chan struct{} // holds a token when requests may not be empty
}

// ListenCM waits for connections to a port of the RDMA connection manager's TCP port space
// (RDMA_PS_TCP): from programs of librdmacm, or DialCM. On a host of several endpoints it is
// endpoint 0 that hears requests, so the port must hand it what is for queue pair 1; the queue pair
// of a connection may be any endpoint's.
func (h *Host) ListenCM(port uint16) (*CMListener, error) {
	l := &CMListener{service: rdmacm.TCPService(port), port: port, closed: make(chan struct{}),
		arrived: make(chan struct{}, 1)}
	m, err := h.manager()
	if err == nil {
		l.m = m
		err = m.do(func(*transport.Endpoint) error {
			if err := m.machine.Listen(l.service, backlog); err != nil {
				return err
			}
			m.listeners[l.service] = l
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("goroce: listen on port %d by RDMA CM: %w", port, err)
	}
	return l, nil
}

// Port is the port it listens on.
func (l *CMListener) Port() uint16 { return l.port }

// Close ends the listener and rejects the requests that nobody has taken; its connections stay.
func (l *CMListener) Close() error {
	err := l.m.do(func(*transport.Endpoint) error {
		if l.m.listeners[l.service] == l {
			l.m.unlisten(l)
		}
		return nil
	})
	if errors.Is(err, ErrClosed) {
		err = nil // the host went first
	}
	return err
}

// unlisten ends a listener, on the manager's core.
func (m *cm) unlisten(l *CMListener) {
	m.machine.Unlisten(l.service)
	delete(m.listeners, l.service)
	close(l.closed)
	for r := l.next(); r != nil; r = l.next() {
		_ = r.c.conn.Reject(rdmacm.InvalidServiceID, nil) // fails when the peer gave up
		m.end(r.c, ErrClosed)
	}
}

// queue hands a request to Accept. It returns false where too many wait that have not ended. It is
// the manager's core's.
func (l *CMListener) queue(r *CMRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) == backlog {
		l.requests = slices.DeleteFunc(l.requests, func(r *CMRequest) bool {
			return r.c.Err() != nil
		})
	}
	if len(l.requests) == backlog {
		return false
	}
	l.requests = append(l.requests, r)
	l.signal()
	return true
}

// signal wakes an Accept.
func (l *CMListener) signal() {
	select {
	case l.arrived <- struct{}{}:
	default: // one will wake already
	}
}

// crowd is how many requests wait when a program does not keep up.
const crowd = backlog / 4

// next takes out the oldest request, or the newest one of a crowd: newer ones displace the oldest
// before their peers can answer, so that a program that always began with these would do all its
// work for nothing. It returns nil if there is none.
func (l *CMListener) next() *CMRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.requests) > 0 {
		i := 0
		if len(l.requests) > crowd {
			i = len(l.requests) - 1
		}
		r := l.requests[i]
		l.requests = slices.Delete(l.requests, i, i+1)
		if r.c.Err() != nil {
			continue // its peer gave up, or it was displaced
		}
		if len(l.requests) > 0 {
			l.signal() // another Accept
		}
		return r
	}
	return nil
}

// Accept waits for the next request. When more wait than the program takes, it returns the newest
// of them.
func (l *CMListener) Accept(ctx context.Context) (*CMRequest, error) {
	for {
		if r := l.next(); r != nil {
			return r, nil
		}
		var err error
		select {
		case <-l.arrived:
			continue
		case <-l.closed:
			err = ErrClosed
		case <-l.m.worker.ended:
			err = ErrClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
		return nil, fmt.Errorf("goroce: accept on port %d by RDMA CM: %w", l.port, err)
	}
}

// CMRequest is a connection that a peer asks for. The program accepts or rejects it, within a
// minute.
type CMRequest struct{ c *CMConn }

// Peer is who asks: its address, and the port that it dials from.
func (r *CMRequest) Peer() netip.AddrPort { return r.c.peer }

// Private is what the peer's program says to it: 56 bytes, zeros behind it.
func (r *CMRequest) Private() []byte { return r.c.private }

// Type is the type that the queue pair must have: RC or UC.
func (r *CMRequest) Type() transport.QPType {
	if r.c.conn.Request().Type == rdmacm.UC {
		return transport.UC
	}
	return transport.RC
}

// Accept brings the queue pair up and waits until the peer has done so, too. If it fails the peer
// is told.
func (r *CMRequest) Accept(ctx context.Context, p CMParams) (*CMConn, error) {
	if err := r.accept(ctx, p); err != nil {
		return nil, fmt.Errorf("goroce: accept %v by RDMA CM: %w", r.c.peer, err)
	}
	return r.c, nil
}

func (r *CMRequest) accept(ctx context.Context, p CMParams) error {
	c, m := r.c, r.c.m
	if err := c.Err(); err != nil {
		return err
	}
	var ours rdmacm.Offer
	err := r.take(&p)
	if err == nil {
		err = m.do(func(ep *transport.Endpoint) error {
			ours = p.offer(ep.RandomPSN())
			return nil
		})
	}
	if err == nil {
		err = c.bringUp(ours, &p)
	}
	if err == nil {
		err = m.do(func(ep *transport.Endpoint) error { return c.conn.Accept(ours, ep.Now()) })
	}
	if err == nil {
		_, err = c.wait(ctx)
	}
	if err != nil {
		return c.abandon(err)
	}
	return nil
}

// take gives the connection its queue pair.
func (r *CMRequest) take(p *CMParams) error {
	w, err := p.check(r.c.m.host)
	if err != nil {
		return err
	}
	if p.QP.Type != r.Type() {
		return fmt.Errorf("the peer asks for %v, the queue pair is of %v: %w", r.Type(), p.QP.Type,
			transport.ErrInvalid)
	}
	return r.c.m.do(func(*transport.Endpoint) error {
		r.c.qp, r.c.worker = p.QP, w
		return nil
	})
}

// Reject refuses the connection; up to 148 bytes of private data tell the peer's program why.
func (r *CMRequest) Reject(private []byte) error {
	err := r.c.m.do(func(*transport.Endpoint) error {
		if err := r.c.conn.Reject(rdmacm.ConsumerReject, private); err != nil {
			return err
		}
		r.c.m.end(r.c, ErrClosed)
		return nil
	})
	if err != nil {
		return fmt.Errorf("goroce: reject %v by RDMA CM: %w", r.c.peer, err)
	}
	return nil
}
