package goroce

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// CMParams are a program's parameters for a connection (rdma_conn_param of librdmacm). Values are
// encoded as in verbs and named as in package transport: see transport.QPAttr.
type CMParams struct {
	// QP is an RC or UC queue pair of the host in RESET or INIT, with receives posted if the peer
	// may send at once. It is moved to RTS with the negotiated attributes, and to ERROR when the
	// connection ends or fails. The program destroys it.
	QP              *transport.QueuePair
	Access          transport.Access // permissions of the peer through QP
	MaxRdAtomic     int              // outstanding READs and atomics as requester, 0..128
	MaxDestRdAtomic int              // outstanding READs and atomics as responder, 0..128
	MinRNRTimer     uint8            // 0..31
	RetryCount      uint8            // 0..7, usually 7; the dialling side's value applies to both
	// 0..7, 7 retries without limit; applied by the peer's queue pair
	RNRRetry uint8
	// Private is data for the peer's program: up to 56 bytes when dialling, 196 when accepting.
	Private []byte

	// PathMTU is chosen by the dialling side; 0 means the largest that the port carries.
	PathMTU units.Bytes
	// TrafficClass (DSCP and ECN) is chosen by the dialling side for both directions.
	TrafficClass uint8
	// AnswerClass is the traffic class of ACKs and CNPs sent by QP; 0 means TrafficClass.
	AnswerClass uint8
}

// check validates the parameters and returns the worker that owns the queue pair.
func (p *CMParams) check(h *Host) (*worker, error) {
	w := h.workerOf(p.QP)
	switch {
	case w == nil:
		return nil, fmt.Errorf("the queue pair belongs to another host: %w", transport.ErrInvalid)
	case p.QP.Type == transport.UD:
		return nil, fmt.Errorf("queue pair of type %v, want RC or UC: %w", p.QP.Type,
			transport.ErrInvalid)
	case p.MaxRdAtomic < 0 || p.MaxRdAtomic > endpoint.MaxRdAtomic ||
		p.MaxDestRdAtomic < 0 || p.MaxDestRdAtomic > endpoint.MaxRdAtomic:
		return nil, fmt.Errorf("MaxRdAtomic %d or MaxDestRdAtomic %d out of range [0, %d]: %w",
			p.MaxRdAtomic, p.MaxDestRdAtomic, endpoint.MaxRdAtomic, transport.ErrInvalid)
	}
	var state transport.State
	if err := w.do(func(*transport.Endpoint) { state = p.QP.State() }); err != nil {
		return nil, err
	}
	if state > transport.Init {
		return nil, fmt.Errorf("queue pair in state %v, want RESET or INIT: %w", state,
			transport.ErrState)
	}
	return w, nil
}

func (p *CMParams) offer(psn uint32) rdmacm.Offer {
	return rdmacm.Offer{QPN: p.QP.Num, PSN: wire.PSN(psn),
		ResponderResources: uint8(p.MaxDestRdAtomic), InitiatorDepth: uint8(p.MaxRdAtomic),
		RetryCount: p.RetryCount, RNRRetry: p.RNRRetry, Private: p.Private}
}

// CMConn is a connection made by the RDMA connection manager. Its methods are safe for concurrent
// use; its queue pair belongs to the core that polls it.
type CMConn struct {
	m       *cm
	conn    *rdmacm.Conn
	qp      *transport.QueuePair
	worker  *worker // owns qp
	peer    netip.AddrPort
	private []byte
	reads   int               // outstanding READs and atomics that the peer accepts
	answer  chan rdmacm.Event // ConnectResponse or Established
	closing bool              // this side ends it; belongs to the manager's core

	mu   sync.Mutex
	err  error
	done chan struct{}
}

func newCMConn(m *cm, conn *rdmacm.Conn) *CMConn {
	c := &CMConn{m: m, conn: conn, answer: make(chan rdmacm.Event, 1), done: make(chan struct{})}
	if conn != nil {
		private := conn.Request().Private
		// the machine drops requests without a valid header
		header, _ := rdmacm.ParseIPHeader(private[:])
		c.peer = netip.AddrPortFrom(conn.Peer(), header.SourcePort)
	}
	return c
}

// DialCM connects a queue pair to a port of a peer's RDMA connection manager (RDMA_PS_TCP): a
// listening program of librdmacm, or ListenCM. A rejection is a *CMReject. A peer that does not
// respond is ErrUnreachable, after minutes unless ctx ends earlier.
func (h *Host) DialCM(ctx context.Context, peer netip.AddrPort, p CMParams) (*CMConn, error) {
	c, err := h.dialCM(ctx, peer, p)
	if err != nil {
		return nil, fmt.Errorf("goroce: dial %v by RDMA CM: %w", peer, err)
	}
	return c, nil
}

func (h *Host) dialCM(ctx context.Context, peer netip.AddrPort, p CMParams) (*CMConn, error) {
	w, err := p.check(h)
	if err != nil {
		return nil, err
	}
	m, err := h.manager()
	if err != nil {
		return nil, err
	}
	if p.PathMTU == 0 {
		p.PathMTU = endpoint.PathMTUFor(h.Info(0).MTU)
	}
	c := newCMConn(m, nil)
	c.peer, c.qp, c.worker = peer, p.QP, w
	var ours rdmacm.Offer
	if err := m.do(func(ep *transport.Endpoint) error {
		local, err := ep.Setup().Source(peer.Addr())
		if err != nil {
			return err
		}
		ours = p.offer(ep.Setup().RandomPSN())
		c.conn, err = m.machine.Connect(rdmacm.Dial{Offer: ours, Local: local, Peer: peer.Addr(),
			Service: rdmacm.TCPService(peer.Port()),
			Type:    serviceType(p.QP.Type), MTU: p.PathMTU, TrafficClass: p.TrafficClass},
			ep.Loop().Now())
		if err == nil {
			m.conns[c.conn] = c
		}
		return err
	}); err != nil {
		return nil, err
	}
	e, err := c.wait(ctx)
	if err == nil {
		c.private = e.Private
		err = c.bringUp(ours, &p)
	}
	if err == nil {
		err = m.do(func(*transport.Endpoint) error { return c.conn.Confirm() })
	}
	if err != nil {
		return nil, c.abandon(err)
	}
	return c, nil
}

func serviceType(t transport.QPType) rdmacm.ServiceType {
	if t == transport.UC {
		return rdmacm.UC
	}
	return rdmacm.RC
}

// wait returns the peer's response.
func (c *CMConn) wait(ctx context.Context) (rdmacm.Event, error) {
	var err error
	select {
	case e := <-c.answer:
		return e, nil
	case <-c.done:
		err = c.Err()
	case <-ctx.Done():
		err = fmt.Errorf("no response: %w", ctx.Err())
	case <-c.m.host.life.Done():
		err = context.Cause(c.m.host.life)
	}
	return rdmacm.Event{}, err
}

// abandon cleans up a connection whose setup failed with err and returns the reason to report.
func (c *CMConn) abandon(err error) error {
	if ended := c.Err(); ended != nil {
		return ended // err is a consequence of it
	}
	_ = c.m.do(func(ep *transport.Endpoint) error {
		if hop, failure := ep.Setup().Neighbors().Resolve(c.peer.Addr(),
			ep.Loop().Now()); failure == nil &&
			hop.Generation() == 0 {
			err = fmt.Errorf("%w; no ARP or neighbour discovery reply for %v", err,
				hop.IP())
		}
		if c.m.conns[c.conn] == c {
			c.conn.Disconnect(ep.Loop().Now())
			c.m.end(c, ErrClosed)
		}
		return nil
	})
	return err
}

// bringUp moves the queue pair through INIT and RTR to RTS.
func (c *CMConn) bringUp(ours rdmacm.Offer, p *CMParams) error {
	var a rdmacm.QPAttr
	if err := c.m.do(func(*transport.Endpoint) error {
		a = c.conn.QPAttr(ours)
		return nil
	}); err != nil {
		return err
	}
	c.reads = a.MaxRdAtomic
	var failure error
	err := c.worker.do(func(*transport.Endpoint) {
		failure = c.qp.Connect(transport.QPAttr{
			Access: p.Access, PKey: a.PKey,
			Path: transport.AddressVector{IP: a.IP, Source: a.Source,
				TrafficClass: a.TrafficClass, HopLimit: a.HopLimit, FlowLabel: a.FlowLabel},
			PathMTU: a.PathMTU, DestQPN: a.DestQPN, RecvPSN: a.RecvPSN,
			MaxDestRdAtomic: a.MaxDestRdAtomic, MinRNRTimer: p.MinRNRTimer,
			AnswerClass: p.AnswerClass,
			SendPSN:     a.SendPSN, Timeout: a.Timeout, RetryCount: a.RetryCount,
			RNRRetry: a.RNRRetry, MaxRdAtomic: a.MaxRdAtomic,
		})
	})
	return errors.Join(err, failure)
}

// finish records why the connection ended. It reports whether this call was the first.
func (c *CMConn) finish(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	if c.closing {
		err = ErrClosed
	}
	c.err = err
	close(c.done)
	return true
}

// Peer returns the peer's address and the port that it dials from or listens on.
func (c *CMConn) Peer() netip.AddrPort { return c.peer }

// Private returns the private data of the peer's request (56 bytes) or response (196), zero padded.
func (c *CMConn) Private() []byte { return c.private }

// QueuePair returns the connection's queue pair.
func (c *CMConn) QueuePair() *transport.QueuePair { return c.qp }

// Done returns a channel that is closed when the connection has ended, by either side or by closing
// the host.
func (c *CMConn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended, or nil if it has not: io.EOF if the peer ended it,
// ErrClosed if this side did.
func (c *CMConn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Disconnect ends the connection, flushes its queue pair and waits until the peer confirms or ctx
// ends. It returns nil for a connection that has already ended.
func (c *CMConn) Disconnect(ctx context.Context) error {
	if err := c.m.do(func(ep *transport.Endpoint) error {
		if c.m.conns[c.conn] == c && !c.closing {
			c.closing = true
			c.conn.Disconnect(ep.Loop().Now())
		}
		return nil
	}); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	// ErrClosed: a closed host has destroyed the queue pair
	_ = c.worker.do(func(*transport.Endpoint) {
		_ = c.qp.Modify(transport.Errored, transport.QPAttr{})
	})
	select {
	case <-c.done:
		return nil
	case <-c.m.worker.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("goroce: disconnect from %v: no response: %w", c.peer,
			ctx.Err())
	}
}
