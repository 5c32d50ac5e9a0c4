package goroce

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// CMParams is what a program brings to a connection (rdma_conn_param). Its numbers are verbs' own,
// under transport's names: see transport.RTRAttr and RTSAttr.
type CMParams struct {
	// QP is an RC or UC queue pair of the host in RESET or INIT, with receives posted if the peer
	// may send at once. It is moved to RTS with what both sides agreed on, and to ERROR when the
	// connection ends or does not come about. To destroy it is the program's business.
	QP              *transport.QueuePair
	Access          transport.Access // what the peer may do through QP
	MaxRdAtomic     int              // READs and atomics of ours outstanding at a time, 0..128
	MaxDestRdAtomic int              // those of the peer that we answer at a time, 0..128
	MinRNRTimer     uint8            // 0..31
	RetryCount      uint8            // 0..7, 7 is usual; who dials decides for both
	RNRRetry        uint8            // 0..7, 7 is for ever; for the peer's queue pair
	// for the peer's program: up to 56 bytes of who dials, 196 of who accepts
	Private []byte

	// PathMTU is who dials' to choose; 0 means the largest that the port carries.
	PathMTU units.Bytes
	// TrafficClass is who dials' to choose, for both directions: DSCP and ECN.
	TrafficClass uint8
	// AnswerClass is that of ACKs and CNPs of ours; 0 means TrafficClass.
	AnswerClass uint8
}

// check says whether the parameters can be meant, and answers the core that the queue pair belongs
// to.
func (p *CMParams) check(h *Host) (*worker, error) {
	w := h.workerOf(p.QP)
	switch {
	case w == nil:
		return nil, fmt.Errorf("the queue pair is none of this host's: %w", transport.ErrInvalid)
	case p.QP.Type == transport.UD:
		return nil, fmt.Errorf("a queue pair of type %v has no connections: %w", p.QP.Type,
			transport.ErrInvalid)
	case p.MaxRdAtomic < 0 || p.MaxRdAtomic > transport.MaxRdAtomic ||
		p.MaxDestRdAtomic < 0 || p.MaxDestRdAtomic > transport.MaxRdAtomic:
		return nil, fmt.Errorf("%d and %d READs at a time are not in 0..%d: %w", p.MaxRdAtomic,
			p.MaxDestRdAtomic, transport.MaxRdAtomic, transport.ErrInvalid)
	}
	var state transport.State
	if err := w.do(func(*transport.Endpoint) { state = p.QP.State() }); err != nil {
		return nil, err
	}
	if state > transport.Init {
		return nil, fmt.Errorf("the queue pair is in %v already: %w", state, transport.ErrState)
	}
	return w, nil
}

func (p *CMParams) offer(psn uint32) rdmacm.Offer {
	return rdmacm.Offer{QPN: p.QP.Num, PSN: wire.PSN(psn),
		ResponderResources: uint8(p.MaxDestRdAtomic), InitiatorDepth: uint8(p.MaxRdAtomic),
		RetryCount: p.RetryCount, RNRRetry: p.RNRRetry, Private: p.Private}
}

// CMConn is a connection that the RDMA connection manager made. All its methods may be called from
// any goroutine; its queue pair belongs to the core that polls it.
type CMConn struct {
	m       *cm
	conn    *rdmacm.Conn
	qp      *transport.QueuePair
	worker  *worker // of the queue pair
	peer    netip.AddrPort
	private []byte
	answer  chan rdmacm.Event // ConnectResponse or Established
	closing bool              // it is us who end it; the manager's core's

	mu   sync.Mutex
	err  error
	done chan struct{}
}

func newCMConn(m *cm, conn *rdmacm.Conn) *CMConn {
	c := &CMConn{m: m, conn: conn, answer: make(chan rdmacm.Event, 1), done: make(chan struct{})}
	if conn != nil {
		private := conn.Request().Private
		header, _ := rdmacm.ParseIPHeader(private[:]) // the machine refuses a request without
		c.peer = netip.AddrPortFrom(conn.Peer(), header.SourcePort)
	}
	return c
}

// DialCM connects a queue pair to a port of a host's RDMA connection manager: a program of
// librdmacm that listens (RDMA_PS_TCP), or ListenCM. Who refuses answers a *CMReject, who does not
// answer ErrUnreachable, after minutes: ctx says how long to try.
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
		p.PathMTU = transport.PathMTUFor(h.Info(0).MTU)
	}
	c := newCMConn(m, nil)
	c.peer, c.qp, c.worker = peer, p.QP, w
	var ours rdmacm.Offer
	if err := m.do(func(ep *transport.Endpoint) error {
		local, err := ep.Source(peer.Addr())
		if err != nil {
			return err
		}
		ours = p.offer(ep.RandomPSN())
		c.conn, err = m.machine.Connect(rdmacm.Dial{Offer: ours, Local: local, Peer: peer.Addr(),
			Service: rdmacm.TCPService(peer.Port()),
			Type:    serviceType(p.QP.Type), MTU: p.PathMTU, TrafficClass: p.TrafficClass},
			ep.Now())
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

// wait waits for the peer's answer.
func (c *CMConn) wait(ctx context.Context) (rdmacm.Event, error) {
	var err error
	select {
	case e := <-c.answer:
		return e, nil
	case <-c.done:
		err = c.Err()
	case <-ctx.Done():
		err = fmt.Errorf("no answer: %w", ctx.Err())
	case <-c.m.worker.ended:
		err = ErrClosed
	}
	return rdmacm.Event{}, err
}

// abandon gives up a connection that did not come about because of err, and answers why it did not.
func (c *CMConn) abandon(err error) error {
	if ended := c.Err(); ended != nil {
		return ended // what else went wrong came of it
	}
	_ = c.m.do(func(ep *transport.Endpoint) error {
		if hop, failure := ep.Neighbors().Resolve(c.peer.Addr(), ep.Now()); failure == nil &&
			hop.Generation() == 0 {
			err = fmt.Errorf("%w; nobody says where %v is (ARP, neighbour discovery)", err,
				hop.IP())
		}
		if c.m.conns[c.conn] == c {
			c.conn.Disconnect(ep.Now())
			c.m.end(c, ErrClosed)
		}
		return nil
	})
	return err
}

// bringUp moves the queue pair to RTS.
func (c *CMConn) bringUp(ours rdmacm.Offer, p *CMParams) error {
	var a rdmacm.QPAttr
	if err := c.m.do(func(*transport.Endpoint) error {
		a = c.conn.QPAttr(ours)
		return nil
	}); err != nil {
		return err
	}
	var failure error
	err := c.worker.do(func(*transport.Endpoint) {
		failure = c.qp.Connect(transport.InitAttr{Access: p.Access, PKey: a.PKey},
			transport.RTRAttr{
				Path: transport.AddressVector{IP: a.IP, Source: a.Source,
					TrafficClass: a.TrafficClass, HopLimit: a.HopLimit, FlowLabel: a.FlowLabel},
				PathMTU: a.PathMTU, DestQPN: a.DestQPN, RecvPSN: a.RecvPSN,
				MaxDestRdAtomic: a.MaxDestRdAtomic, MinRNRTimer: p.MinRNRTimer,
				AnswerClass: p.AnswerClass,
			},
			transport.RTSAttr{SendPSN: a.SendPSN, Timeout: a.Timeout, RetryCount: a.RetryCount,
				RNRRetry: a.RNRRetry, MaxRdAtomic: a.MaxRdAtomic})
	})
	return errors.Join(err, failure)
}

// finish notes why the connection ended. It answers whether it had not yet.
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

// Peer is the other end: its address, and the port that it dials from or listens on.
func (c *CMConn) Peer() netip.AddrPort { return c.peer }

// Private is what the peer's program sent with its request (56 bytes) or its answer (196), zeros
// behind it.
func (c *CMConn) Private() []byte { return c.private }

// QueuePair is the connection's.
func (c *CMConn) QueuePair() *transport.QueuePair { return c.qp }

// Done is closed when the connection has ended, by either side or because the host was closed.
func (c *CMConn) Done() <-chan struct{} { return c.done }

// Err answers why the connection ended, nil while it has not: io.EOF when the peer ended it,
// ErrClosed when we did.
func (c *CMConn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Disconnect ends the connection, flushes its queue pair and waits until the peer agrees, or ctx
// ends: then nobody waits any more. To disconnect what has ended is no error.
func (c *CMConn) Disconnect(ctx context.Context) error {
	if err := c.m.do(func(ep *transport.Endpoint) error {
		if c.m.conns[c.conn] == c && !c.closing {
			c.closing = true
			c.conn.Disconnect(ep.Now())
		}
		return nil
	}); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	// a closed host's has no more to do
	_ = c.worker.do(func(*transport.Endpoint) { c.qp.ToError() })
	select {
	case <-c.done:
		return nil
	case <-c.m.worker.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("goroce: disconnect from %v: the peer does not answer: %w", c.peer,
			ctx.Err())
	}
}
