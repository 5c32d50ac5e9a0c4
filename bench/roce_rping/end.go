package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
)

// errLeft says that the peer ended the connection.
var errLeft = errors.New("the peer ended the connection")

// depth is how many requests the queue pair holds: more than are ever outstanding.
const depth = 8

// end is one end of a connection: its queue pair, its buffers, and what has completed.
type end struct {
	host *goroce.Host
	qp   *transport.QueuePair
	conn *goroce.CMConn

	out, in     *transport.MemoryRegion // an advert each
	text, sink  *transport.MemoryRegion // of maxSize
	completions chan transport.WorkCompletion
}

// newEnd makes an end with a receive posted.
func newEnd(h *goroce.Host) (*end, error) {
	e := &end{host: h, completions: make(chan transport.WorkCompletion, 2*depth)}
	return e, e.do(e.create)
}

// do runs f on the polling core and answers its error.
func (e *end) do(f func(*transport.Endpoint) error) error {
	var failure error
	err := e.host.Do(0, func(ep *transport.Endpoint) { failure = f(ep) })
	return errors.Join(err, failure)
}

func (e *end) create(ep *transport.Endpoint) error {
	pd := ep.AllocPD()
	cq, err := ep.CreateCQ(2 * depth)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		region **transport.MemoryRegion
		size   int
		access transport.Access
	}{{&e.out, advertLen, 0}, {&e.in, advertLen, transport.LocalWrite},
		{&e.text, maxSize, transport.LocalWrite | transport.RemoteRead},
		{&e.sink, maxSize, transport.LocalWrite | transport.RemoteWrite}} {
		if *r.region, err = ep.RegisterMemory(pd, make([]byte, r.size), r.access); err != nil {
			return err
		}
	}
	if e.qp, err = ep.CreateQP(transport.QPInit{PD: pd, SendCQ: cq, RecvCQ: cq, MaxSendWR: depth,
		MaxRecvWR: 1, SignalAll: true}); err != nil {
		return err
	}
	cq.OnEvent(e.reap)
	cq.RequestNotify(false)
	if err := e.qp.ToInit(transport.InitAttr{}); err != nil {
		return err
	}
	return e.expect()
}

// expect posts the receive, on the polling core.
func (e *end) expect() error {
	return e.qp.PostRecv(&transport.RecvRequest{SGList: []transport.SGE{e.in.SGE(0, advertLen)}})
}

// reap takes completions, on the polling core. There is room for all that can be outstanding.
func (e *end) reap(cq *transport.CompletionQueue) {
	var wcs [depth]transport.WorkCompletion
	for n := cq.Poll(wcs[:]); n > 0; n = cq.Poll(wcs[:]) {
		for _, wc := range wcs[:n] {
			e.completions <- wc
		}
	}
	cq.RequestNotify(false)
}

// params is what rping brings to a connection, and the rights its buffers need.
func (e *end) params() goroce.CMParams {
	return goroce.CMParams{QP: e.qp, Access: transport.RemoteRead | transport.RemoteWrite,
		MaxRdAtomic: 1, MaxDestRdAtomic: 1,
		MinRNRTimer: 12, RetryCount: 7, RNRRetry: 7}
}

// send sends a message.
func (e *end) send(a advert) error {
	return e.do(func(*transport.Endpoint) error {
		a.put(e.out.Bytes())
		return e.qp.PostSend(&transport.WorkRequest{Op: transport.OpSend,
			SGList: []transport.SGE{e.out.SGE(0, advertLen)}})
	})
}

// move READs the peer's buffer into ours, or WRITEs ours to it, and waits until it is done.
func (e *end) move(ctx context.Context, op transport.SendOp, a advert) error {
	err := e.do(func(*transport.Endpoint) error {
		return e.qp.PostSend(&transport.WorkRequest{Op: op,
			SGList: []transport.SGE{e.text.SGE(0, int(a.size))}, RemoteAddr: a.addr, RKey: a.rkey})
	})
	if err != nil {
		return err
	}
	what := transport.CompWrite
	if op == transport.OpRead {
		what = transport.CompRead
	}
	_, err = e.await(ctx, what)
	return err
}

// hear waits for the peer's next message.
func (e *end) hear(ctx context.Context) (advert, error) {
	wc, err := e.await(ctx, transport.CompRecv)
	if err != nil {
		return advert{}, err
	}
	a, err := parseAdvert(e.in.Bytes()[:wc.ByteLen])
	if err != nil {
		return a, err
	}
	return a, e.do(func(*transport.Endpoint) error { return e.expect() })
}

// await waits for a completion of a kind; others before it are our own SENDs'.
func (e *end) await(ctx context.Context, what transport.CompletionOp) (wc transport.WorkCompletion,
	err error) {
	for {
		select {
		case wc = <-e.completions:
		default:
			select {
			case wc = <-e.completions:
			case <-e.conn.Done():
				return wc, e.reason()
			case <-ctx.Done():
				return wc, ctx.Err()
			}
		}
		switch {
		case wc.Status == transport.StatusWRFlushErr && e.conn.Err() != nil:
			return wc, e.reason()
		case wc.Status != transport.StatusSuccess:
			return wc, fmt.Errorf("connection to %v: %v", e.conn.Peer(), wc.Status)
		case wc.Op == what:
			return wc, nil
		}
	}
}

// reason is why the connection has ended.
func (e *end) reason() error {
	return fmt.Errorf("connection to %v: %w: %w", e.conn.Peer(), errLeft, e.conn.Err())
}

// destroy gives everything back.
func (e *end) destroy() {
	_ = e.do(func(*transport.Endpoint) error { // fails when the host is closed, which does the same
		e.qp.Destroy()
		for _, mr := range []*transport.MemoryRegion{e.out, e.in, e.text, e.sink} {
			mr.Deregister()
		}
		return nil
	})
}
