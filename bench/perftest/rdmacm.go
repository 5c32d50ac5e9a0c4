package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// retryInterval is the pause before a client retries a server that does not listen. After its
// control connection ib_write_bw stops listening, and listens anew for the queue pairs.
const retryInterval = 20 * time.Millisecond

// manager makes a session's connections with -R. All use one port of the server's RDMA connection
// manager: first the connection that replaces TCP ([control]), then one for each queue pair of the
// test, in order.
type manager struct {
	x           *session
	listener    *goroce.CMListener // server only
	server      netip.AddrPort     // client only
	local, peer netip.Addr         // addresses of the control connection, and so of all
	pairs       []*goroce.CMConn
}

// runServerCM is runServer with -R.
func runServerCM(ctx context.Context, s *Settings, c *console) (x *session, err error) {
	x = &session{settings: s, server: true, console: c}
	defer func() { err = x.finish(ctx, err) }()
	if err := x.open(c.log()); err != nil {
		return x, err
	}
	x.cm = &manager{x: x}
	if x.cm.listener, err = x.host.ListenCM(uint16(s.Port)); err != nil {
		return x, err
	}
	c.banner()
	conn, err := accept(ctx, func() (net.Conn, error) { return x.cm.accept(ctx) })
	if err != nil {
		return x, err
	}
	return x, x.run(ctx, conn)
}

// runClientCM is runClient with -R.
func runClientCM(ctx context.Context, s *Settings, c *console) (x *session, err error) {
	x = &session{settings: s, console: c}
	defer func() { err = x.finish(ctx, err) }()
	if err := x.open(c.log()); err != nil {
		return x, err
	}
	server, err := netip.ParseAddr(s.Host)
	if err != nil {
		return x, err
	}
	x.cm = &manager{x: x, server: netip.AddrPortFrom(server, uint16(s.Port))}
	setup, cancel := x.deadline(ctx)
	conn, err := x.cm.connect(setup)
	cancel()
	if err != nil {
		return x, err
	}
	return x, x.run(ctx, newPeerConn(conn))
}

// accept waits for a control connection.
func (m *manager) accept(ctx context.Context) (net.Conn, error) {
	for {
		r, err := m.listener.Accept(ctx)
		if err != nil {
			return nil, withCause(ctx, err)
		}
		c, err := newControl(m.x.host)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		patience, cancel := context.WithTimeout(ctx, silence)
		conn, err := r.Accept(patience, c.params())
		cancel()
		if err == nil {
			return c, m.begin(c, conn)
		}
		// The client gave up or has the wrong type of queue pair: try the next.
		_ = c.Close()
	}
}

// connect makes the control connection to the server.
func (m *manager) connect(ctx context.Context) (net.Conn, error) {
	if err := m.x.waitLink(ctx); err != nil {
		return nil, err
	}
	if err := m.x.waitNeighbor(ctx, 0, m.server.Addr()); err != nil {
		return nil, err
	}
	var c *control
	conn, err := m.dial(ctx, func() (p goroce.CMParams, err error) {
		if c != nil {
			_ = c.Close() // it was rejected
		}
		if c, err = newControl(m.x.host); err == nil {
			p = c.params()
		}
		return p, err
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, m.begin(c, conn)
}

// begin starts to use an established control connection.
func (m *manager) begin(c *control, conn *goroce.CMConn) error {
	c.begin(conn)
	m.peer = conn.Peer().Addr()
	return c.do(func(ep *transport.Endpoint) (err error) {
		m.local, err = ep.Setup().Source(m.peer)
		return err
	})
}

// dial connects to the server, and retries while it does not listen. It calls next for the
// parameters of each attempt, because a queue pair that left RESET cannot be used again after a
// rejection.
func (m *manager) dial(ctx context.Context, next func() (goroce.CMParams, error)) (*goroce.CMConn,
	error) {
	for {
		p, err := next()
		if err != nil {
			return nil, err
		}
		conn, err := m.x.host.DialCM(ctx, m.server, p)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() == nil && !isNotListening(err) {
			return nil, err
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return nil, withCause(ctx, fmt.Errorf("no server with --rdma_cm: %w", err))
		}
	}
}

// isNotListening reports whether err means that the server does not listen.
func isNotListening(err error) bool {
	var refused *goroce.CMReject
	return errors.As(err, &refused) && refused.Reason == rdmacm.InvalidServiceID
}

// withCause adds the cause of ctx's end to err, if it has ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// connectPairs connects the queue pairs of the test and returns their path MTU. A client proposes
// mtu.
func (m *manager) connectPairs(ctx context.Context, mtu units.Bytes) (units.Bytes, error) {
	ctx, cancel := m.x.conn.attended(ctx)
	defer cancel()
	s := m.x.settings
	for number := range s.QPs {
		l := m.x.queueSets[number%s.Queues]
		conn, err := m.connectPair(ctx, l.pairs[number/s.Queues].qp, mtu)
		if err != nil {
			return 0, fmt.Errorf("queue pair %d of %d (does the peer use --qp %d?): "+
				"%w", number+1, s.QPs,
				s.QPs, err)
		}
		m.pairs = append(m.pairs, conn)
	}
	if m.listener != nil {
		_ = m.listener.Close() // there is one client; refuse others
	}
	first := m.x.queueSets[0]
	err := first.do(func(*transport.Endpoint) error {
		mtu = first.pairs[0].qp.Query().PathMTU
		return nil
	})
	return mtu, err
}

// connectPair connects a queue pair.
func (m *manager) connectPair(ctx context.Context, qp *transport.QueuePair,
	mtu units.Bytes) (*goroce.CMConn, error) {
	s := m.x.settings
	p := goroce.CMParams{
		QP: qp, Access: access, MinRNRTimer: rnrTimer, RetryCount: uint8(s.RetryCount),
		RNRRetry: rnrRetry,
		PathMTU:  mtu, TrafficClass: uint8(s.TrafficClass), AnswerClass: uint8(s.AnswerClass),
	}
	if s.Test.isOneSided() {
		// An accepting perftest keeps --outs READs outstanding whatever is offered.
		p.MaxRdAtomic, p.MaxDestRdAtomic = s.Outs, endpoint.MaxRdAtomic
	}
	if m.x.server {
		return m.acceptPair(ctx, p)
	}
	return m.dial(ctx, func() (goroce.CMParams, error) { return p, nil })
}

// acceptPair accepts the next connection of the client that has the control connection.
func (m *manager) acceptPair(ctx context.Context, p goroce.CMParams) (*goroce.CMConn, error) {
	for {
		r, err := m.listener.Accept(ctx)
		if err != nil {
			return nil, withCause(ctx, err)
		}
		if r.Peer().Addr() != m.peer {
			_ = r.Reject(nil) // one client at a time
			continue
		}
		conn, err := r.Accept(ctx, p)
		if err != nil {
			return nil, withCause(ctx, err)
		}
		return conn, nil
	}
}

// peerLeft reports whether the peer has disconnected a queue pair of the test. When it ends it does
// so before it closes the control connection.
func (m *manager) peerLeft() bool {
	return m != nil && slices.ContainsFunc(m.pairs, func(c *goroce.CMConn) bool {
		return errors.Is(c.Err(), io.EOF)
	})
}

// close disconnects the queue pairs of the test.
func (m *manager) close() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	for _, conn := range m.pairs {
		_ = conn.Disconnect(ctx) // a silent peer is reported elsewhere
	}
}
