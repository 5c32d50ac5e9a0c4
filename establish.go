package goroce

import (
	"cmp"
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
	// 4.096 µs · 2^15 = 134 ms, eight times: a silent peer is considered gone after about a second.
	connTimeout = 15
	connRetries = 7
	rnrTimer    = 12 // 0.64 ms, the value of perftest
)

// redialInterval is the pause before Dial repeats a failed handshake.
const redialInterval = 20 * time.Millisecond

// Dial connects to a host that listens at addr (HOST:PORT). Until ctx ends it retries when the
// server does not listen yet, leaves during the handshake, or does not finish it within
// Options.HandshakeTimeout.
func (h *Host) Dial(ctx context.Context, addr string) (*Conn, error) {
	return h.dialUntil(ctx, isTransient, func(ctx context.Context) (*Conn, error) {
		tcp, err := h.dialTCP(ctx, addr)
		if err != nil {
			return nil, err
		}
		return h.dialHandshake(ctx, tcp, false)
	})
}

// dialUntil dials until that succeeds, or fails with an error that does not call for another
// attempt. It ends with the host.
func (h *Host) dialUntil(ctx context.Context, again func(error) bool,
	dial func(context.Context) (*Conn, error)) (*Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.life, func() { cancel(context.Cause(h.life)) })()
	if err := cmp.Or(context.Cause(h.life), h.alive()); err != nil {
		cancel(err) // AfterFunc cancels only later
	}
	for {
		c, err := dial(ctx)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)):
			return nil, fmt.Errorf("goroce: dial: %w: %w", context.Cause(ctx), err)
		case ctx.Err() != nil || !again(err):
			return nil, fmt.Errorf("goroce: dial: %w", err)
		}
		select {
		case <-time.After(redialInterval):
		case <-ctx.Done():
		}
	}
}

// isTransient reports whether a failed handshake may succeed when repeated: the server was silent
// or left.
func isTransient(err error) bool {
	for _, e := range []error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF,
		io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// dialHandshake performs the dialling side's handshake. The Conn takes over the TCP connection; on
// error it is closed.
func (h *Host) dialHandshake(ctx context.Context, tcp net.Conn, streams bool) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, h.handshakeTimeout)
	defer cancel()
	c := h.newConn(streams)
	c.control = tcpControl{tcp}
	return c.finishHandshake(tcp.RemoteAddr(), func() error {
		mine, err := c.create(h)
		if err != nil {
			return err
		}
		theirs, err := connect.Exchange(ctx, tcp, mine)
		if err == nil {
			err = c.connect(mine, theirs)
		}
		if err == nil {
			err = waitReady(ctx, tcp)
		}
		return err
	}())
}

// acceptHandshake performs the listening side's handshake after the client's Hello. The Conn takes
// over the TCP connection; on error it is closed.
func (h *Host) acceptHandshake(ctx context.Context, tcp net.Conn,
	theirs *connect.Hello, streams bool) (*Conn, error) {
	c := h.newConn(streams)
	c.control = tcpControl{tcp}
	return c.finishHandshake(tcp.RemoteAddr(), func() error {
		mine, err := c.create(h)
		if err == nil {
			err = c.connect(mine, theirs)
		}
		if err != nil {
			return errors.Join(err, connect.Send(ctx, tcp, &connect.Hello{Error: err.Error()}))
		}
		if err = connect.Send(ctx, tcp, mine); err == nil {
			err = waitReady(ctx, tcp)
		}
		return err
	}())
}

// newConn returns a connection without a queue pair, for messages or as a stream.
func (h *Host) newConn(streams bool) *Conn {
	c := &Conn{
		w: h.workers[h.conns.Add(1)%uint32(len(h.workers))], events: h.events,
		linger: h.linger, spin: h.spin, retries: h.retries, rules: h.rules,
		failed: make(chan struct{}), over: make(chan struct{}),
	}
	c.memories, c.keepAlive = make(map[*Memory]struct{}), h.keepAlive
	if streams {
		c.use = newStream(c, h.streamBuffer)
	} else {
		c.messages = newMessages(c)
		c.use = c.messages
	}
	return c
}

// run starts the goroutines of a connection that is established.
func (c *Conn) run() {
	go c.watch()
	go c.outlive()
}

// finishHandshake ends the handshake: it starts the connection's goroutines, or aborts the
// connection if err is not nil.
func (c *Conn) finishHandshake(peer net.Addr, err error) (*Conn, error) {
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %v: %w", peer, err), c.Abort())
	}
	c.run()
	return c, nil
}

// create makes the queue pair and its memory, and returns the Hello for the peer.
func (c *Conn) create(h *Host) (*connect.Hello, error) {
	c.use.allocate()
	mine := &connect.Hello{Addr: h.addrs[0].Addr(), RdAtomic: maxReads}
	var failure error
	err := c.w.do(func(ep *transport.Endpoint) {
		if failure = c.createAt(ep); failure == nil {
			mine.PathMTU = int64(ep.Query().PathMTU)
			mine.QPs = []connect.QP{{Num: uint32(c.qp.Num), PSN: ep.Setup().RandomPSN()}}
			mine.Extension = ep.Setup().Offer()
			c.use.describe(mine)
		}
	})
	return mine, errors.Join(err, failure)
}

// createAt makes the queue pair and its memory on the polling core. The queue pair is in INIT.
func (c *Conn) createAt(ep *transport.Endpoint) error {
	var err error
	c.w.conns[c] = struct{}{}
	c.heard, c.w.probes = c.w.now, c.w.now // probeQuiet computes the time
	c.pd = ep.AllocPD()
	if c.sendCQ, err = ep.CreateCQ(sendDepth); err != nil {
		return err
	}
	if c.recvCQ, err = ep.CreateCQ(c.use.receives()); err != nil {
		return err
	}
	if c.qp, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: c.pd, SendCQ: c.sendCQ,
		RecvCQ: c.recvCQ, MaxSendWR: sendDepth, MaxRecvWR: c.use.receives(),
		SignalAll: true}); err != nil {
		return err
	}
	if c.results, err = ep.RegisterMemory(c.pd, make([]byte, 8*sendDepth),
		transport.LocalWrite); err != nil {
		return err
	}
	if err := c.qp.Modify(transport.Init, transport.QPAttr{Access: remoteAccess}); err != nil {
		return err
	}
	c.sendCQ.OnEvent(c.onCompletion)
	c.sendCQ.RequestNotify(false)
	c.recvCQ.OnEvent(c.onCompletion)
	c.recvCQ.RequestNotify(false)
	return c.use.create(ep)
}

// remoteAccess is what a peer may do through the queue pair of a Conn, with the keys that it was
// given.
const remoteAccess = transport.RemoteRead | transport.RemoteWrite | transport.RemoteAtomic

// connect moves the queue pair to RTS.
func (c *Conn) connect(mine, theirs *connect.Hello) error {
	if len(theirs.QPs) != 1 {
		return fmt.Errorf("the peer's Hello has %d queue pairs, want 1: %w", len(theirs.QPs),
			connect.ErrMalformed)
	}
	if err := c.use.meet(theirs); err != nil {
		return err
	}
	c.peer, c.peerQPN = theirs.Addr, wire.QPN(theirs.QPs[0].Num)
	c.peerReads = theirs.RdAtomic > 0
	var failure error
	err := c.w.do(func(*transport.Endpoint) { failure = c.connectAt(mine, theirs) })
	return errors.Join(err, failure)
}

func (c *Conn) connectAt(mine, theirs *connect.Hello) error {
	if err := c.qp.Modify(transport.ReadyToReceive, transport.QPAttr{
		Path:    transport.AddressVector{IP: theirs.Addr},
		PathMTU: units.Bytes(min(mine.PathMTU, theirs.PathMTU)),
		DestQPN: c.peerQPN, RecvPSN: wire.PSN(theirs.QPs[0].PSN),
		MinRNRTimer: rnrTimer, MaxDestRdAtomic: maxReads, Access: remoteAccess,
		Extension: wire.Agree(mine.Extension, theirs.Extension),
	}); err != nil {
		return err
	}
	return c.qp.Modify(transport.ReadyToSend,
		transport.QPAttr{SendPSN: wire.PSN(mine.QPs[0].PSN), Timeout: connTimeout,
			RetryCount: c.retries, RNRRetry: connRetries,
			MaxRdAtomic: min(maxReads, theirs.RdAtomic)})
}

// waitReady waits until the peer is ready to receive the first message.
func waitReady(ctx context.Context, tcp net.Conn) error {
	_, err := connect.Barrier(ctx, tcp, "ready", nil)
	return err
}

// tcpControl is the TCP connection of the handshake: its end is the end of the connection.
type tcpControl struct{ net.Conn }

func (t tcpControl) wait() error {
	_, err := t.Read(make([]byte, 1))
	switch {
	case err == nil:
		err = errors.New("unexpected data after the handshake")
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return fmt.Errorf("goroce: connection to %v: %w", t.RemoteAddr(), err)
}

func (tcpControl) ended() error { return nil } // an end of TCP moves no queue pair

func (t tcpControl) close(orderly bool) error {
	var err error
	if tcp, ok := t.Conn.(interface{ SetLinger(sec int) error }); ok && !orderly {
		err = tcp.SetLinger(0)
	}
	return errors.Join(err, t.Close())
}
