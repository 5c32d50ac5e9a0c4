package goroce

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// DialStream connects a stream to a host that listens for streams at addr (HOST:PORT). As dialers
// of package net, and unlike Dial, it makes one attempt. The net.Conn is a *Stream.
func (h *Host) DialStream(ctx context.Context, addr string) (net.Conn, error) {
	never := func(error) bool { return false }
	c, err := h.dialUntil(ctx, never, func(ctx context.Context) (*Conn, error) {
		var d net.Dialer
		tcp, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return h.dialHandshake(ctx, tcp, true)
	})
	if err != nil {
		return nil, err
	}
	return h.streamOf(c), nil
}

// ListenStream accepts streams; addr is a TCP address for the handshake, such as ":18515". Each
// net.Conn is a *Stream. A client of Dial is refused.
func (h *Host) ListenStream(addr string) (net.Listener, error) {
	if err := h.alive(); err != nil {
		return nil, fmt.Errorf("goroce: listen for streams: %w", err)
	}
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("goroce: listen for streams: %w", err)
	}
	return streamListener{h.listen(tcp, true)}, nil
}

// streamListener is a Listener as package net has them.
type streamListener struct{ *Listener }

// Accept waits for the next stream.
func (l streamListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept(context.Background())
	if err != nil {
		if errors.Is(err, ErrClosed) {
			err = net.ErrClosed
		}
		return nil, &net.OpError{Op: "accept", Net: StreamAddr{}.Network(), Addr: l.Addr(),
			Err: err}
	}
	return l.host.streamOf(c), nil
}

// Addr returns a StreamAddr.
func (l streamListener) Addr() net.Addr {
	return StreamAddr{l.tcp.Addr(), l.host.addrs[0].Addr()}
}

// streamOf returns the stream of a connection that is one.
func (h *Host) streamOf(c *Conn) *Stream {
	s := c.use.(*Stream)
	if control, ok := c.control.(tcpControl); ok {
		s.local = StreamAddr{control.LocalAddr(), h.addrs[0].Addr()}
		s.remote = StreamAddr{control.RemoteAddr(), c.peer}
	}
	return s
}
