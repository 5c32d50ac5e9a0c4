package goroce

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/internal/queue"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Conn is a reliable connection for any goroutine: messages, each delivered once, whole and in
// order, and one-sided operations on memory of the peer. Its methods are safe for concurrent use.
type Conn struct {
	w       *worker
	events  *events
	linger  time.Duration
	spin    units.Duration
	retries uint8 // Options.Retries, as QPAttr.RetryCount
	rules   *flowRules
	peer    netip.Addr
	peerQPN wire.QPN
	// peerReads reports whether the peer accepts READs and atomics.
	peerReads bool
	control   control // signals the end of the connection, between its ends; nil without a peer
	use       usage   // of what is sent and received: messages, or a stream
	*messages

	core // the polling core's part

	begun atomic.Uint64 // operations begun; refused is set at the end
	done  atomic.Uint64 // of these: acknowledged, or withdrawn
	// flushing counts the callers of Flush, which wait for progress.
	flushing atomic.Int32

	mu       sync.Mutex
	err      error
	failed   chan struct{} // closed when err is set
	progress chan struct{} // closed when done grows; nil without a caller of Flush

	ending   atomic.Bool
	over     chan struct{} // closed when endError is set
	endError error
}

// core is the part of a Conn that belongs to its polling core.
type core struct {
	pd             *transport.ProtectionDomain
	qp             *transport.QueuePair
	sendCQ, recvCQ *transport.CompletionQueue
	results        *transport.MemoryRegion // of atomics, 8 bytes for each place of the send queue
	posted         queue.FIFO[pending]     // in the send queue
	waiting        queue.FIFO[request]     // for room in it
	postings       uint64                  // ever posted
	memories       map[*Memory]struct{}
	keepAlive      units.Duration // Options.KeepAlive, 0 without probes
	heard          units.Time     // of the latest completion, or probe
	destroyed      bool
	due            bool         // in worker.due
	filled         *Completions // whose consumer has yet to be woken
}

// usage is what a connection's SENDs and receives carry. The polling core calls its methods.
type usage interface {
	// allocate makes the memory, which takes too long for a polling core. It is called before
	// create, by another goroutine.
	allocate()
	// create registers the memory and posts the receives of a queue pair in INIT.
	create(ep *transport.Endpoint) error
	// receives is the depth of the receive queue.
	receives() int
	// received handles a receive that completed.
	received(wc *transport.WorkCompletion)
	// describe adds to the Hello for the peer, on the polling core, what meet needs there.
	describe(mine *connect.Hello)
	// meet takes what it needs from the peer's Hello, or returns why it has another usage.
	meet(theirs *connect.Hello) error
	// serve handles a request of the usage's own, with a tag.
	serve(tag int32)
	// sent is called when the operation with a tag has ended. It is acknowledged if ok.
	sent(tag int32, ok bool)
	// reaped is called when all completions of a round have been handled.
	reaped()
	// isDrained reports whether the peer has everything that was accepted for sending, when this
	// many operations have not been acknowledged. The queue pair has been destroyed.
	isDrained(unfinished uint64) bool
	// destroy deregisters the memory.
	destroy()
}

// control is how the ends of a connection learn of each other's end.
type control interface {
	// wait returns why the peer ended the connection; io.EOF if it has closed it. It returns after
	// close at the latest.
	wait() error
	// ended returns what wait returns, or nil if that has not returned.
	ended() error
	// close ends the connection. Without order messages may have been lost, which the peer should
	// not take for an orderly end.
	close(orderly bool) error
}

const (
	// sendDepth is how many operations of a Conn are in the send queue at a time. Further ones wait
	// at the polling core, and can be withdrawn.
	sendDepth = 128
	// maxReads is the number of outstanding READs and atomics in each direction: with 64, GETs of
	// bench/api are 1.5 to 2 times as many as with 16.
	maxReads = 64
	// maxReadsCM is the same for a connection of the RDMA CM: the limit of most RNICs, which
	// programs that accept whatever is offered could not exceed.
	maxReadsCM = 16
	// refused in Conn.begun makes further operations fail.
	refused = 1 << 63
)

// fail records why the connection has ended and wakes its callers. Only the first reason counts.
func (c *Conn) fail(err error) {
	if c.setFailed(err) {
		_ = c.w.submit(&request{conn: c, kind: endOfConn}) // a closed host has ended everything
	}
}

func (c *Conn) setFailed(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = err
	c.begun.Or(refused)
	close(c.failed)
	return true
}

// Err returns why the connection ended, or nil if it has not: io.EOF if the peer has closed it,
// ErrClosed if this side has.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ended returns Err, of a connection that has ended.
func (c *Conn) ended() error {
	if err := c.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// RemoteAddr returns the peer's RoCEv2 address.
func (c *Conn) RemoteAddr() netip.Addr { return c.peer }

// begin counts an operation, unless the connection has ended: so Abort knows every message that may
// be lost.
func (c *Conn) begin() bool {
	for {
		n := c.begun.Load()
		if n&refused != 0 {
			return false
		}
		if c.begun.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// unfinished returns the number of operations that the peer has not acknowledged.
func (c *Conn) unfinished() uint64 { return c.begun.Load()&^refused - c.done.Load() }

// finished counts n operations as ended, without loss, and wakes the callers of Flush. It runs on
// the polling core.
func (c *Conn) finished(n uint64) {
	if n == 0 {
		return
	}
	c.done.Add(n)
	if c.flushing.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress != nil {
		close(c.progress)
		c.progress = nil
	}
}

// Flush waits until the peer has acknowledged every message and operation that began before the
// call.
func (c *Conn) Flush(ctx context.Context) error {
	begun := c.begun.Load() &^ refused
	c.flushing.Add(1)
	defer c.flushing.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.done.Load() < begun {
		if c.err != nil {
			return c.err
		}
		if onPollingCore() {
			return ErrOnCore
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
	if errors.Is(err, ErrOnCore) {
		return fmt.Errorf("goroce: close: %w", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return c.Abort()
	}
	return errors.Join(
		fmt.Errorf("goroce: close: %d messages not acknowledged by %v within %v: %w",
			c.unfinished(), c.peer, c.linger, err), c.Abort())
}

// Abort ends the connection at once. Unacknowledged messages may be lost; if there are any, the
// peer's Recv does not return io.EOF, unless the connection is of the RDMA CM, which cannot express
// that. Operations that wait return, and so does a waiting Close.
func (c *Conn) Abort() error {
	if onPollingCore() {
		return fmt.Errorf("goroce: abort: %w", ErrOnCore)
	}
	c.setFailed(ErrClosed)
	if c.ending.CompareAndSwap(false, true) {
		c.endError = c.end()
		close(c.over)
	}
	<-c.over
	return c.endError
}

// end releases the connection's resources.
func (c *Conn) end() error {
	err := c.w.do(func(*transport.Endpoint) { c.destroy() })
	if errors.Is(err, ErrClosed) {
		err = nil // the host was closed before
	}
	if c.control == nil {
		return err
	}
	return errors.Join(err, c.control.close(c.use.isDrained(c.unfinished())))
}

// watch fails the connection when the peer has ended it.
func (c *Conn) watch() { c.fail(c.control.wait()) }

// outlive logs the beginning and the end of the connection, and aborts it when its host is closed.
func (c *Conn) outlive() {
	c.logBegin()
	unsteer := c.steer()
	select {
	case <-c.failed:
		c.logEnd()
	case <-c.w.ended:
	}
	select {
	case <-c.w.ended:
		_ = c.Abort()
	case <-c.over:
	}
	unsteer()
}
