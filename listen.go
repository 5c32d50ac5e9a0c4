package goroce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/internal/connect"
)

// maxHelloSize limits the bytes read from a client before the first response: several times the
// size of a Hello.
const maxHelloSize = 16 << 10

// Listener accepts connections. Handshakes run concurrently and within Options.HandshakeTimeout, so
// that no client delays another. The resources of clients that Accept has not returned are limited
// by MaxHandshakes and MaxUnaccepted.
type Listener struct {
	host *Host
	tcp  net.Listener
	// streams reports whether the connections are streams.
	streams bool
	life    context.Context // ends with the listener or its host
	end     context.CancelCauseFunc
	ready   chan *Conn // for Accept

	handshakes handshakes
	failed     atomic.Uint64
	running    sync.WaitGroup
}

// ListenerCounters count the outcomes of handshakes.
type ListenerCounters struct {
	Established uint64 // handshakes that made a connection
	Failed      uint64 // handshakes that did not, for any reason
	Displaced   uint64 // failed handshakes displaced by newer clients
}

// Listen accepts connections; addr is a TCP address for the handshake, such as ":18515".
func (h *Host) Listen(addr string) (*Listener, error) {
	if err := h.alive(); err != nil {
		return nil, fmt.Errorf("goroce: listen: %w", err)
	}
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("goroce: listen: %w", err)
	}
	return h.listen(tcp, false), nil
}

// listen accepts clients from a net.Listener until the Listener or the host is closed.
func (h *Host) listen(tcp net.Listener, streams bool) *Listener {
	l := &Listener{host: h, tcp: tcp, streams: streams, ready: make(chan *Conn)}
	l.life, l.end = context.WithCancelCause(h.life)
	context.AfterFunc(l.life, func() { _ = tcp.Close() })
	l.running.Go(l.serve)
	return l
}

// Addr returns the TCP address of the handshake.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Counters returns the outcomes of handshakes so far.
func (l *Listener) Counters() ListenerCounters {
	established, displaced := l.handshakes.counts()
	return ListenerCounters{Established: established, Failed: l.failed.Load(), Displaced: displaced}
}

// Close ends the listener and the connections that Accept has not returned; other connections stay.
func (l *Listener) Close() error {
	l.end(ErrClosed)
	err := l.tcp.Close()
	l.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// Accept waits for the next connection. The listener survives the end of ctx. The error is
// ErrClosed after the listener or the host is closed, and dpdk.ErrRemoved after the port is
// removed. Failed handshakes are counted and not returned.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	err := ctx.Err()
	if err == nil {
		select {
		case c := <-l.ready:
			return c, nil
		case <-l.life.Done():
			err = context.Cause(l.life)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return nil, fmt.Errorf("goroce: accept: %w", err)
}

// serve accepts TCP connections until the listener ends.
func (l *Listener) serve() {
	const shortest, longest = 5 * time.Millisecond, time.Second
	pause := shortest
	for {
		tcp, err := l.tcp.Accept()
		switch {
		case err == nil:
			pause = shortest
			l.running.Go(func() { l.client(tcp) })
			continue
		case l.life.Err() != nil:
			return
		case errors.Is(err, net.ErrClosed):
			l.end(ErrClosed)
			return
		}
		l.host.log.Warn("cannot accept TCP connections", "address", l.Addr(), "error", err)
		select {
		case <-time.After(pause): // for example too many open files
			pause = min(2*pause, longest)
		case <-l.life.Done():
		}
	}
}

// client performs a client's handshake and hands the connection to Accept.
func (l *Listener) client(tcp net.Conn) {
	ctx, cancel := context.WithTimeout(l.life, l.host.handshakeTimeout)
	defer cancel()
	ctx, hs := l.handshakes.enter(ctx, sourceOf(tcp.RemoteAddr()))
	defer l.handshakes.leave(hs)
	c, err := l.handshake(ctx, hs, tcp)
	if err != nil {
		l.failed.Add(1)
		l.host.log.Debug("handshake failed", "client", tcp.RemoteAddr(), "error", err)
		return
	}
	select {
	case l.ready <- c:
	case <-l.life.Done():
		_ = c.Abort()
	}
}

// handshake allocates nothing for a client before its Hello has arrived and the limits permit a
// queue pair.
func (l *Listener) handshake(ctx context.Context, hs *handshake, tcp net.Conn) (*Conn, error) {
	theirs, err := connect.Receive(ctx, tcp, maxHelloSize)
	if err == nil {
		err = l.handshakes.greeted(ctx, hs)
	}
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	c, err := l.host.acceptHandshake(ctx, tcp, theirs, l.streams)
	if err == nil {
		l.handshakes.done()
	}
	return c, err
}
