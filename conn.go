package goroce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// MaxMessage is the longest message of a Conn. For longer transfers, use verbs (Host.Do, Host.Run).
const MaxMessage = 64 * units.KiB

// slots is how many messages a Conn buffers in each direction.
const slots = 64

// Conn sends and receives messages over a reliable connection. Each message is delivered once,
// whole and in order. The methods are safe for concurrent use.
type Conn struct {
	w         *worker
	linger    time.Duration
	peer      netip.Addr
	qp        *transport.QueuePair
	cq        *transport.CompletionQueue
	out, in   *transport.MemoryRegion
	sendFree  chan int    // unused slots of out
	inbox     chan signal // received messages
	destroyed bool        // the queue pair is destroyed; belongs to the polling core
	tcp       net.Conn    // of the handshake; its end signals the peer's end

	mu          sync.Mutex
	err         error
	failed      chan struct{} // closed when err is set
	sent, acked uint64        // messages
	progress    chan struct{} // closed when acked grows; nil without a waiter

	ending   atomic.Bool
	ended    chan struct{} // closed when endError is set
	endError error
}

// signal locates a received message.
type signal struct {
	slot int
	n    int
}

func (c *Conn) repost(slot int) error {
	return c.qp.PostRecv(&transport.RecvRequest{ID: uint64(slot),
		SGList: []transport.SGE{c.in.SGE(slot*int(MaxMessage), int(MaxMessage))}})
}

// reap handles completions on the polling core. Sending to sendFree and inbox never blocks: they
// have room for all slots.
func (c *Conn) reap(cq *transport.CompletionQueue) {
	var wcs [16]transport.WorkCompletion
	var acked uint64
	for {
		n := cq.Poll(wcs[:])
		for i := range n {
			wc := &wcs[i]
			switch {
			case wc.Status != transport.StatusSuccess:
				if wc.Status != transport.StatusWRFlushErr {
					c.fail(fmt.Errorf("goroce: connection to %v: %v", c.peer, wc.Status))
				}
			case wc.Op == transport.OpRecv:
				c.inbox <- signal{int(wc.ID), int(wc.ByteLen)}
			default:
				c.sendFree <- int(wc.ID)
				acked++
			}
		}
		if n < len(wcs) {
			break
		}
	}
	c.acknowledge(acked)
	cq.RequestNotify(false)
}

// acknowledge counts n messages as acknowledged by the peer and wakes the waiters.
func (c *Conn) acknowledge(n uint64) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked += n
	if c.progress != nil {
		close(c.progress)
		c.progress = nil
	}
}

// watch fails the connection when the handshake's TCP connection ends.
func (c *Conn) watch() {
	_, err := c.tcp.Read(make([]byte, 1))
	if err == nil {
		err = errors.New("unexpected data after the handshake")
	}
	if errors.Is(err, io.EOF) {
		c.fail(io.EOF)
		return
	}
	c.fail(fmt.Errorf("goroce: connection to %v: %w", c.peer, err))
}

// abortWithHost aborts the connection when its host is closed.
func (c *Conn) abortWithHost() {
	select {
	case <-c.w.ended:
		_ = c.Abort()
	case <-c.ended:
	}
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.failed)
	}
}

// Err returns why the connection ended, or nil if it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// RemoteAddr returns the peer's RoCEv2 address.
func (c *Conn) RemoteAddr() netip.Addr { return c.peer }

// Send queues a message of up to MaxMessage bytes. The caller may reuse p on return. Send blocks
// while all of the connection's slots are in flight.
func (c *Conn) Send(ctx context.Context, p []byte) error {
	if len(p) > int(MaxMessage) {
		return fmt.Errorf("goroce: send: message of %d bytes, want at most %d: %w", len(p),
			int64(MaxMessage), transport.ErrInvalid)
	}
	if err := c.Err(); err != nil {
		return err
	}
	var slot int
	select {
	case slot = <-c.sendFree:
	case <-c.failed:
		return c.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
	at := slot * int(MaxMessage)
	copy(c.out.Bytes()[at:], p)
	n := len(p)
	if err := c.count(); err != nil {
		return err
	}
	return c.w.post(func(*transport.Endpoint) {
		if c.destroyed {
			return
		}
		if err := c.qp.PostSend(&transport.WorkRequest{ID: uint64(slot), Op: transport.OpSend,
			SGList: []transport.SGE{c.out.SGE(at, n)}}); err != nil {
			c.fail(err)
		}
	})
}

// count adds a message to those sent, unless the connection has ended, so that Abort knows every
// message that may be lost.
func (c *Conn) count() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.sent++
	}
	return c.err
}

// Recv waits for the next message, copies it to p and returns its length. A message longer than p
// is truncated and the error is io.ErrShortBuffer. After the peer has closed and all messages were
// read the error is io.EOF; after the peer has aborted it is a different error.
func (c *Conn) Recv(ctx context.Context, p []byte) (int, error) {
	var m signal
	select {
	case m = <-c.inbox:
	default:
		select {
		case m = <-c.inbox:
		case <-c.failed:
			select {
			case m = <-c.inbox: // arrived before the end
			default:
				return 0, c.Err()
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	at := m.slot * int(MaxMessage)
	n := copy(p, c.in.Bytes()[at:at+m.n])
	_ = c.w.post(func(*transport.Endpoint) { // fails only on a closed host
		if !c.destroyed {
			_ = c.repost(m.slot) // the queue has room for every slot
		}
	})
	if n < m.n {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// Flush waits until the peer has acknowledged every message that was sent before the call.
func (c *Conn) Flush(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for sent := c.sent; c.acked < sent; {
		if c.err != nil {
			return c.err
		}
		if c.progress == nil {
			c.progress = make(chan struct{})
		}
		if err := c.await(ctx, c.progress); err != nil {
			return err
		}
	}
	return nil
}

// await releases the lock and waits until progress is closed, the connection fails or ctx ends.
func (c *Conn) await(ctx context.Context, progress <-chan struct{}) error {
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-progress:
	case <-c.failed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Close waits up to Options.Linger until the peer has acknowledged everything sent, and ends the
// connection. If messages were abandoned, the error has their number. Close returns nil for a
// connection that has already ended; Err returns why it ended.
func (c *Conn) Close() error {
	ctx := context.Background()
	if c.linger >= 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, c.linger)
		defer cancel()
	}
	err := c.Flush(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		return c.Abort()
	}
	return errors.Join(
		fmt.Errorf("goroce: close: %d messages not acknowledged by %v within %v: %w",
			c.unacknowledged(), c.peer, c.linger, err), c.Abort())
}

// Abort ends the connection at once. Unacknowledged messages may be lost; if there are any, the TCP
// connection is reset, so that the peer's Recv does not return io.EOF. A waiting Close returns.
func (c *Conn) Abort() error {
	c.fail(ErrClosed)
	if c.ending.CompareAndSwap(false, true) {
		c.endError = c.end()
		close(c.ended)
	}
	<-c.ended
	return c.endError
}

// end releases the connection's resources.
func (c *Conn) end() error {
	lost := c.unacknowledged() > 0
	err := c.w.do(func(*transport.Endpoint) { c.destroy() })
	if errors.Is(err, ErrClosed) {
		err = nil // the host was closed before
	}
	if tcp, ok := c.tcp.(interface{ SetLinger(sec int) error }); ok && lost {
		err = errors.Join(err, tcp.SetLinger(0))
	}
	return errors.Join(err, c.tcp.Close())
}

// unacknowledged returns the number of sent messages that the peer has not acknowledged.
func (c *Conn) unacknowledged() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent - c.acked
}

// destroy destroys the queue pair and its memory regions, on the polling core.
func (c *Conn) destroy() {
	if c.destroyed {
		return
	}
	c.destroyed = true
	if c.qp != nil {
		c.qp.Destroy()
	}
	for _, mr := range []*transport.MemoryRegion{c.in, c.out} {
		if mr != nil {
			mr.Deregister()
		}
	}
}
