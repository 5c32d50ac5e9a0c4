package perftest

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// peerConn is the connection to the peer, TCP or with -R a [control], read ahead of whoever wants
// the bytes: the end of the peer is noticed at once, also while a measurement runs and nobody
// reads.
type peerConn struct {
	net.Conn
	gone chan struct{} // closed when the peer is

	mu       sync.Mutex
	arrived  sync.Cond
	buffer   []byte
	err      error // of the connection, after what is in buffer
	deadline bool  // passed
}

// maxAhead bounds what is read ahead. The longest message of a handshake fits.
const maxAhead = 8 << 20

func newPeerConn(c net.Conn) *peerConn {
	p := &peerConn{Conn: c, gone: make(chan struct{})}
	p.arrived.L = &p.mu
	go p.readAhead()
	return p
}

func (p *peerConn) readAhead() {
	chunk := make([]byte, 64<<10)
	for {
		n, err := p.Conn.Read(chunk)
		p.mu.Lock()
		p.buffer = append(p.buffer, chunk[:n]...)
		if err == nil && len(p.buffer) > maxAhead {
			err = io.ErrShortBuffer
		}
		p.err = err
		p.arrived.Broadcast()
		p.mu.Unlock()
		if err != nil {
			close(p.gone)
			return
		}
	}
}

func (p *peerConn) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// attended is ctx until the peer is gone.
func (p *peerConn) attended(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.gone:
			cancel(ErrPeerGone)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Read implements net.Conn.
func (p *peerConn) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buffer) == 0 && p.err == nil && !p.deadline {
		p.arrived.Wait()
	}
	switch {
	case len(p.buffer) > 0:
		n := copy(b, p.buffer)
		p.buffer = append(p.buffer[:0], p.buffer[n:]...)
		return n, nil
	case p.err != nil:
		return 0, p.err
	}
	return 0, os.ErrDeadlineExceeded
}

// putBack makes b what is read next.
func (p *peerConn) putBack(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buffer = append(bytes.Clone(b), p.buffer...)
}

// SetDeadline implements net.Conn, as far as connect uses it: a moment long past ends what waits.
func (p *peerConn) SetDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = !t.IsZero() && t.Before(time.Now())
	p.arrived.Broadcast()
	return p.Conn.SetWriteDeadline(t)
}

// speaks waits for the first byte of the peer. A connection that ends without one was somebody who
// only looked whether the port is open.
func (p *peerConn) speaks(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, func() { _ = p.SetDeadline(time.Unix(1, 0)) })
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buffer) == 0 && p.err == nil && !p.deadline {
		p.arrived.Wait()
	}
	return stop() && len(p.buffer) > 0
}
