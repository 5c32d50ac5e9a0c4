package goroce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

const (
	// 4.096 µs · 2^15 = 134 ms: eight of them, and a silent peer counts as gone after a second
	connTimeout = 15
	connRetries = 7
	rnrTimer    = 12 // 0.64 ms, as perftest has it
)

// redial is how long Dial waits before it repeats a handshake.
const redial = 20 * time.Millisecond

// Dial connects to a host that listens at addr, HOST:PORT. It tries until ctx ends: a server that
// does not listen yet, leaves during the handshake, or does not finish it within
// Options.HandshakeTimeout is tried again.
func (h *Host) Dial(ctx context.Context, addr string) (*Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.life, func() { cancel(ErrClosed) })()
	for {
		c, err := h.dial(ctx, addr)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)):
			return nil, fmt.Errorf("goroce: dial: %w: %w", context.Cause(ctx), err)
		case ctx.Err() != nil || !passing(err):
			return nil, fmt.Errorf("goroce: dial: %w", err)
		}
		select {
		case <-time.After(redial):
		case <-ctx.Done():
		}
	}
}

func (h *Host) dial(ctx context.Context, addr string) (*Conn, error) {
	tcp, err := h.dialTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	return h.join(ctx, tcp)
}

// passing reports whether a handshake that failed may succeed when it is repeated: the server was
// silent or left.
func passing(err error) bool {
	for _, e := range []error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF,
		io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// join makes the connection of who has dialled. The TCP connection is the Conn's, or closed.
func (h *Host) join(ctx context.Context, tcp net.Conn) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, h.handshakeTimeout)
	defer cancel()
	c := h.newConn(tcp)
	return c.began(func() error {
		mine, err := c.create(h)
		if err != nil {
			return err
		}
		theirs, err := connect.Exchange(ctx, tcp, mine)
		if err == nil {
			err = c.connect(mine, theirs)
		}
		if err == nil {
			err = c.meet(ctx)
		}
		return err
	}())
}

// answer makes the connection of who was dialled, whose Hello has come. The TCP connection is the
// Conn's, or closed.
func (h *Host) answer(ctx context.Context, tcp net.Conn, theirs *connect.Hello) (*Conn, error) {
	c := h.newConn(tcp)
	return c.began(func() error {
		mine, err := c.create(h)
		if err == nil {
			err = c.connect(mine, theirs)
		}
		if err != nil {
			return errors.Join(err, connect.Send(ctx, tcp, &connect.Hello{Error: err.Error()}))
		}
		if err = connect.Send(ctx, tcp, mine); err == nil {
			err = c.meet(ctx)
		}
		return err
	}())
}

func (h *Host) newConn(tcp net.Conn) *Conn {
	return &Conn{
		w: h.workers[0], linger: h.linger, tcp: tcp,
		sendFree: make(chan int, slots), inbox: make(chan signal, slots),
		failed: make(chan struct{}), ended: make(chan struct{}),
	}
}

// began ends the handshake with an error, or with the connection.
func (c *Conn) began(err error) (*Conn, error) {
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %v: %w", c.tcp.RemoteAddr(), err), c.Abort())
	}
	go c.watch()
	go c.outlive()
	return c, nil
}

// create makes the queue pair and its memory, and returns what the peer has to know.
func (c *Conn) create(h *Host) (*connect.Hello, error) {
	// which takes a polling core too long
	out, in := make([]byte, slots*MaxMessage), make([]byte, slots*MaxMessage)
	mine := &connect.Hello{Addr: h.addrs[0].Addr()}
	var failure error
	err := c.w.do(func(ep *transport.Endpoint) { failure = c.createAt(ep, out, in, mine) })
	return mine, errors.Join(err, failure)
}

func (c *Conn) createAt(ep *transport.Endpoint, out, in []byte, mine *connect.Hello) error {
	var err error
	pd := ep.AllocPD()
	if c.cq, err = ep.CreateCQ(2 * slots); err != nil {
		return err
	}
	if c.qp, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: pd, SendCQ: c.cq,
		RecvCQ: c.cq, MaxSendWR: slots, MaxRecvWR: slots, SignalAll: true}); err != nil {
		return err
	}
	if c.out, err = ep.RegisterMemory(pd, out, 0); err != nil {
		return err
	}
	if c.in, err = ep.RegisterMemory(pd, in, transport.LocalWrite); err != nil {
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
	mine.PathMTU = int64(transport.PathMTUFor(ep.Port().Info().MTU))
	mine.QPs = []connect.QP{{Num: uint32(c.qp.Num), PSN: ep.RandomPSN()}}
	mine.Extension = ep.Offer()
	return nil
}

// connect brings the queue pair to RTS.
func (c *Conn) connect(mine, theirs *connect.Hello) error {
	if len(theirs.QPs) != 1 {
		return fmt.Errorf("the peer brings %d queue pairs, a connection has 1: %w", len(theirs.QPs),
			connect.ErrMalformed)
	}
	c.peer = theirs.Addr
	var failure error
	err := c.w.do(func(*transport.Endpoint) { failure = c.connectAt(mine, theirs) })
	return errors.Join(err, failure)
}

func (c *Conn) connectAt(mine, theirs *connect.Hello) error {
	if err := c.qp.ToRTR(transport.RTRAttr{
		Path:    transport.AddressVector{IP: theirs.Addr},
		PathMTU: units.Bytes(min(mine.PathMTU, theirs.PathMTU)),
		DestQPN: wire.QPN(theirs.QPs[0].Num), RecvPSN: wire.PSN(theirs.QPs[0].PSN),
		MinRNRTimer: rnrTimer,
		Extension:   wire.Agree(mine.Extension, theirs.Extension),
	}); err != nil {
		return err
	}
	if err := c.qp.ToRTS(transport.RTSAttr{SendPSN: wire.PSN(mine.QPs[0].PSN), Timeout: connTimeout,
		RetryCount: connRetries, RNRRetry: connRetries}); err != nil {
		return err
	}
	c.cq.OnEvent(c.reap)
	c.cq.RequestNotify(false)
	return nil
}

// meet waits until the peer is ready: the first message must find it so.
func (c *Conn) meet(ctx context.Context) error {
	_, err := connect.Barrier(ctx, c.tcp, "ready", nil)
	return err
}
