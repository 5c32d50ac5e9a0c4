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

// greeting is how many bytes a client may send before it is told anything: several times what a
// Hello takes.
const greeting = 16 << 10

// Listener accepts connections. Handshakes run beside each other and within
// Options.HandshakeTimeout, so that no client delays another. What a client can hold of the host
// before Accept returns its connection is limited: see MaxHandshakes and MaxUnaccepted.
type Listener struct {
	host  *Host
	tcp   net.Listener
	life  context.Context // ends with the listener or its host
	end   context.CancelFunc
	ready chan *Conn // to Accept

	handshakes handshakes
	failed     atomic.Uint64
	running    sync.WaitGroup
}

// ListenerCounters are what became of the clients of a Listener.
type ListenerCounters struct {
	Established uint64 // a handshake ended with a connection
	Failed      uint64 // it did not, for whatever reason
	Displaced   uint64 // of those that failed: newer ones took their place
}

// Listen accepts connections; addr is a TCP address for the handshake, such as ":18515".
func (h *Host) Listen(addr string) (*Listener, error) {
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("goroce: listen: %w", err)
	}
	return h.listen(tcp), nil
}

// listen takes clients from a net.Listener until the Listener or the host is closed.
func (h *Host) listen(tcp net.Listener) *Listener {
	l := &Listener{host: h, tcp: tcp, ready: make(chan *Conn)}
	l.life, l.end = context.WithCancel(h.life)
	context.AfterFunc(l.life, func() { _ = tcp.Close() })
	l.running.Go(l.serve)
	return l
}

// Addr is the address the handshake listens on.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Counters returns what became of the clients so far.
func (l *Listener) Counters() ListenerCounters {
	established, displaced := l.handshakes.counts()
	return ListenerCounters{Established: established, Failed: l.failed.Load(), Displaced: displaced}
}

// Close ends the listener and the connections that Accept has not returned; the others stay.
func (l *Listener) Close() error {
	l.end()
	err := l.tcp.Close()
	l.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// Accept waits for the next connection. When ctx ends the listener goes on; when the listener or
// the host is closed the error is ErrClosed. Clients that fail in their handshake are counted, and
// are no error.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	err := ctx.Err()
	if err == nil {
		select {
		case c := <-l.ready:
			return c, nil
		case <-l.life.Done():
			err = ErrClosed
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
			l.end()
			return
		}
		l.host.log.Warn("cannot accept TCP connections", "address", l.Addr(), "error", err)
		select {
		case <-time.After(pause): // too many open files, say
			pause = min(2*pause, longest)
		case <-l.life.Done():
		}
	}
}

// client makes a connection for a client and gives it to Accept.
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

// handshake creates nothing for a client before its Hello has come and it is its turn.
func (l *Listener) handshake(ctx context.Context, hs *handshake, tcp net.Conn) (*Conn, error) {
	theirs, err := connect.Receive(ctx, tcp, greeting)
	if err == nil {
		err = l.handshakes.greeted(ctx, hs)
	}
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	c, err := l.host.answer(ctx, tcp, theirs)
	if err == nil {
		l.handshakes.done()
	}
	return c, err
}
