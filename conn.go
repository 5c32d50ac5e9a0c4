package goroce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/connect"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// MaxMessage is the longest message of a Conn. Whoever has more to move uses verbs.
const MaxMessage = 64 * units.KiB

const (
	slots       = 64 // messages a Conn holds in each direction
	connTimeout = 15 // 4.096 µs · 2^15 = 134 ms: eight of them, and a silent peer counts as gone after a second
	connRetries = 7
	rnrTimer    = 12 // 0.64 ms, as perftest has it
)

// Conn sends and receives messages over a reliable connection: each arrives once, whole and in
// order. All its methods may be called from any goroutine.
type Conn struct {
	w        *worker
	peer     netip.Addr
	qp       *transport.QueuePair
	pd       *transport.ProtectionDomain
	cq       *transport.CompletionQueue
	out, in  *transport.MemoryRegion
	sendFree chan int    // slots of out nobody uses
	inbox    chan signal // messages that have arrived

	mu     sync.Mutex
	err    error
	failed chan struct{} // closed when err is set
	torn   bool          // the queue pair is gone
	tcp    net.Conn      // tells of the peer's end
}

// signal is a received message: where it is.
type signal struct {
	slot int
	n    int
}

// Listener accepts connections.
type Listener struct {
	host *Host
	tcp  net.Listener
}

// Listen waits for connections; addr is a TCP address for the handshake, such as ":18515".
func (h *Host) Listen(addr string) (*Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("goroce: listen: %w", err)
	}
	return &Listener{host: h, tcp: l}, nil
}

// Addr is the address the handshake listens on.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Close ends the listener; its connections stay.
func (l *Listener) Close() error { return l.tcp.Close() }

// Accept waits for the next connection. An error of one handshake is returned; the listener goes on.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = l.tcp.Close() })
	tcp, err := l.tcp.Accept()
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("goroce: accept: %w", err)
	}
	return l.host.establish(ctx, tcp)
}

// Dial connects to a host that listens at addr. It tries until ctx ends.
func (h *Host) Dial(ctx context.Context, addr string) (*Conn, error) {
	tcp, err := connect.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("goroce: dial: %w", err)
	}
	return h.establish(ctx, tcp)
}

// establish trades what each side must know and brings the queue pair up.
func (h *Host) establish(ctx context.Context, tcp net.Conn) (*Conn, error) {
	c := &Conn{w: h.workers[0], tcp: tcp, sendFree: make(chan int, slots), inbox: make(chan signal, slots), failed: make(chan struct{})}
	err := c.open(ctx, h)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("goroce: connect to %v: %w", tcp.RemoteAddr(), err), c.Close())
	}
	go c.watch()
	go c.outlive()
	return c, nil
}

func (c *Conn) open(ctx context.Context, h *Host) error {
	var mine connect.Hello
	var failure error
	err := c.w.do(func(ep *transport.Endpoint) { failure = c.create(ep, h, &mine) })
	if err := errors.Join(err, failure); err != nil {
		return err
	}
	theirs, err := connect.Exchange(ctx, c.tcp, &mine)
	if err != nil {
		return err
	}
	if len(theirs.QPs) != 1 {
		return fmt.Errorf("the peer brings %d queue pairs, a connection has 1", len(theirs.QPs))
	}
	c.peer = theirs.Addr
	err = c.w.do(func(ep *transport.Endpoint) { failure = c.connect(ep, &mine, theirs) })
	if err := errors.Join(err, failure); err != nil {
		return err
	}
	// The first message must find the peer ready to receive.
	_, err = connect.Barrier(ctx, c.tcp, "ready", nil)
	return err
}

// create makes the queue pair and its memory, on the polling core.
func (c *Conn) create(ep *transport.Endpoint, h *Host, mine *connect.Hello) error {
	var err error
	c.pd = ep.AllocPD()
	if c.cq, err = ep.CreateCQ(2 * slots); err != nil {
		return err
	}
	if c.qp, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: c.pd, SendCQ: c.cq, RecvCQ: c.cq, MaxSendWR: slots, MaxRecvWR: slots, SignalAll: true}); err != nil {
		return err
	}
	if c.out, err = ep.RegisterMemory(c.pd, make([]byte, slots*MaxMessage), 0); err != nil {
		return err
	}
	if c.in, err = ep.RegisterMemory(c.pd, make([]byte, slots*MaxMessage), transport.LocalWrite); err != nil {
		return err
	}
	if err := c.qp.ToInit(transport.InitAttr{}); err != nil {
		return err
	}
	for i := range slots {
		c.sendFree <- i
		if err := c.repost(i); err != nil {
			return err
		}
	}
	*mine = connect.Hello{Addr: h.addrs[0].Addr(), PathMTU: int64(transport.PathMTUFor(ep.Port().Info().MTU)),
		QPs: []connect.QP{{Num: uint32(c.qp.Num), PSN: ep.RandomPSN()}}, Extension: ep.Offer()}
	return nil
}

func (c *Conn) connect(ep *transport.Endpoint, mine, theirs *connect.Hello) error {
	if err := c.qp.ToRTR(transport.RTRAttr{Path: transport.AddressVector{IP: theirs.Addr}, PathMTU: units.Bytes(min(mine.PathMTU, theirs.PathMTU)),
		DestQPN: wire.QPN(theirs.QPs[0].Num), RecvPSN: wire.PSN(theirs.QPs[0].PSN), MinRNRTimer: rnrTimer,
		Extension: wire.Agree(mine.Extension, theirs.Extension)}); err != nil {
		return err
	}
	if err := c.qp.ToRTS(transport.RTSAttr{SendPSN: wire.PSN(mine.QPs[0].PSN), Timeout: connTimeout, RetryCount: connRetries, RNRRetry: connRetries}); err != nil {
		return err
	}
	c.cq.OnEvent(c.reap)
	c.cq.RequestNotify(false)
	return nil
}

func (c *Conn) repost(slot int) error {
	return c.qp.PostRecv(&transport.RecvRequest{ID: uint64(slot), SGList: []transport.SGE{c.in.SGE(slot*int(MaxMessage), int(MaxMessage))}})
}

// reap takes completions, on the polling core. Neither channel can be full: there are as many
// places as slots.
func (c *Conn) reap(cq *transport.CompletionQueue) {
	var wcs [16]transport.WorkCompletion
	for {
		n := cq.Poll(wcs[:])
		for i := range n {
			wc := &wcs[i]
			switch {
			case wc.Status != transport.StatusSuccess:
				if wc.Status != transport.StatusWRFlushErr {
					c.fail(fmt.Errorf("goroce: connection to %v: %v", c.peer, wc.Status))
				}
			case wc.Op == transport.CompRecv:
				c.inbox <- signal{int(wc.ID), int(wc.ByteLen)}
			default:
				c.sendFree <- int(wc.ID)
			}
		}
		if n < len(wcs) {
			break
		}
	}
	cq.RequestNotify(false)
}

// watch learns from the handshake's TCP connection that the peer has gone.
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

// outlive ends the connection when its host is closed.
func (c *Conn) outlive() {
	select {
	case <-c.w.ended:
		c.fail(ErrClosed)
	case <-c.failed:
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

// Err answers why the connection ended, nil while it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// RemoteAddr is the peer's RoCEv2 address.
func (c *Conn) RemoteAddr() netip.Addr { return c.peer }

// Send queues a message of up to MaxMessage bytes; p is free when it returns. It waits while as
// many messages as the connection holds are on their way.
func (c *Conn) Send(ctx context.Context, p []byte) error {
	if len(p) > int(MaxMessage) {
		return fmt.Errorf("goroce: send: a message of %d bytes is longer than %d: %w", len(p), int64(MaxMessage), transport.ErrInvalid)
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
	return c.w.post(func(*transport.Endpoint) {
		if c.torn {
			return
		}
		if err := c.qp.PostSend(&transport.WorkRequest{ID: uint64(slot), Op: transport.OpSend, SGList: []transport.SGE{c.out.SGE(at, n)}}); err != nil {
			c.fail(err)
		}
	})
}

// Recv waits for the next message and copies it to p; it answers its length. A message longer than
// p is cut and reported by io.ErrShortBuffer. After the peer has closed and everything was read it
// answers io.EOF.
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
	err := c.w.post(func(*transport.Endpoint) {
		if !c.torn {
			_ = c.repost(m.slot) // the queue has a place for each slot
		}
	})
	if n < m.n {
		err = io.ErrShortBuffer
	}
	return n, err
}

// Flush waits until the peer has acknowledged everything sent.
func (c *Conn) Flush(ctx context.Context) error {
	var taken []int
	defer func() {
		for _, slot := range taken {
			c.sendFree <- slot
		}
	}()
	for range slots {
		select {
		case slot := <-c.sendFree:
			taken = append(taken, slot)
		case <-c.failed:
			return c.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close waits for the acknowledgements of what was sent, as long as the peer answers, and ends the
// connection.
func (c *Conn) Close() error {
	if c.qp != nil && c.Err() == nil {
		_ = c.Flush(context.Background()) // a silent peer fails the connection, which ends this
	}
	c.fail(ErrClosed)
	err := c.w.do(func(*transport.Endpoint) { c.tear() })
	if errors.Is(err, ErrClosed) {
		err = nil // the host went first
	}
	return errors.Join(err, c.tcp.Close())
}

// tear gives everything back, on the polling core.
func (c *Conn) tear() {
	if c.torn {
		return
	}
	c.torn = true
	if c.qp != nil {
		c.qp.Destroy()
	}
	for _, mr := range []*transport.MemoryRegion{c.in, c.out} {
		if mr != nil {
			mr.Deregister()
		}
	}
}
