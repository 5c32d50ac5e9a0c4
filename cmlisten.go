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

// backlog is how many requests of a listener may wait for the program's decision or for the peer's
// final message. A newer request displaces the oldest.
const backlog = 512

// CMListener accepts connections through the RDMA connection manager.
type CMListener struct {
	m       *cm
	service rdmacm.ServiceID
	port    uint16
	closed  chan struct{}

	mu       sync.Mutex
	requests []*CMRequest  // for Accept, in order of arrival; some have ended
	arrived  chan struct{} // holds a token if requests may be non-empty
}

// ListenCM listens on a port of the RDMA connection manager's TCP port space (RDMA_PS_TCP), for
// librdmacm programs and DialCM. On a host with several endpoints, endpoint 0 handles requests, so
// the port must deliver packets for queue pair 1 to it. A connection's queue pair may belong to any
// endpoint.
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

// Port returns the port that the listener listens on.
func (l *CMListener) Port() uint16 { return l.port }

// Close ends the listener and rejects pending requests; established connections stay.
func (l *CMListener) Close() error {
	err := l.m.do(func(*transport.Endpoint) error {
		if l.m.listeners[l.service] == l {
			l.m.unlisten(l)
		}
		return nil
	})
	if errors.Is(err, ErrClosed) {
		err = nil // the host was closed before
	}
	return err
}

// unlisten ends a listener. It runs on the manager's core.
func (m *cm) unlisten(l *CMListener) {
	m.machine.Unlisten(l.service)
	delete(m.listeners, l.service)
	close(l.closed)
	for r := l.next(); r != nil; r = l.next() {
		_ = r.c.conn.Reject(rdmacm.InvalidServiceID, nil) // fails if the peer has given up
		m.end(r.c, ErrClosed)
	}
}

// queue adds a request for Accept and reports whether there was room. Ended requests do not take
// room. It runs on the manager's core.
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

// signal wakes one Accept.
func (l *CMListener) signal() {
	select {
	case l.arrived <- struct{}{}:
	default: // a token is pending already
	}
}

// overloadDepth is the number of pending requests from which on next prefers the newest.
const overloadDepth = backlog / 4

// next removes and returns the oldest request, or nil if there is none. When more than
// overloadDepth requests wait, it returns the newest: under overload the oldest are displaced
// before their peers can respond, and accepting them first would waste all work.
func (l *CMListener) next() *CMRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.requests) > 0 {
		i := 0
		if len(l.requests) > overloadDepth {
			i = len(l.requests) - 1
		}
		r := l.requests[i]
		l.requests = slices.Delete(l.requests, i, i+1)
		if r.c.Err() != nil {
			continue // its peer gave up, or a newer request displaced it
		}
		if len(l.requests) > 0 {
			l.signal() // for another Accept
		}
		return r
	}
	return nil
}

// Accept waits for the next request. Under overload it returns the newest first.
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
		case <-l.m.host.life.Done():
			err = context.Cause(l.m.host.life)
		case <-ctx.Done():
			err = ctx.Err()
		}
		return nil, fmt.Errorf("goroce: accept on port %d by RDMA CM: %w", l.port, err)
	}
}

// CMRequest is a peer's request for a connection. The program must accept or reject it within a
// minute.
type CMRequest struct{ c *CMConn }

// Peer returns the peer's address and the port that it dials from.
func (r *CMRequest) Peer() netip.AddrPort { return r.c.peer }

// Private returns the request's private data: 56 bytes, zero padded.
func (r *CMRequest) Private() []byte { return r.c.private }

// Type returns the type that the queue pair must have, RC or UC.
func (r *CMRequest) Type() transport.QPType {
	if r.c.conn.Request().Type == rdmacm.UC {
		return transport.UC
	}
	return transport.RC
}

// Accept moves the queue pair to RTS and waits until the peer has done the same. On failure the
// peer is notified.
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
			ours = p.offer(ep.Setup().RandomPSN())
			return nil
		})
	}
	if err == nil {
		err = c.bringUp(ours, &p)
	}
	if err == nil {
		err = m.do(func(ep *transport.Endpoint) error {
			return c.conn.Accept(ours, ep.Loop().Now())
		})
	}
	if err == nil {
		_, err = c.wait(ctx)
	}
	if err != nil {
		return c.abandon(err)
	}
	return nil
}

// take assigns the queue pair to the connection.
func (r *CMRequest) take(p *CMParams) error {
	w, err := p.check(r.c.m.host)
	if err != nil {
		return err
	}
	if p.QP.Type != r.Type() {
		return fmt.Errorf("queue pair of type %v, want %v as the peer requested: %w",
			p.QP.Type, r.Type(), transport.ErrInvalid)
	}
	return r.c.m.do(func(*transport.Endpoint) error {
		r.c.qp, r.c.worker = p.QP, w
		return nil
	})
}

// Reject refuses the connection with up to 148 bytes of private data for the peer's program.
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
