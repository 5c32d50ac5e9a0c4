package rping

import (
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
)

// errLeft is returned when the peer ended the connection.
var errLeft = errors.New("the peer ended the connection")

// depth is the queue pair's number of requests: more than are ever outstanding.
const depth = 8

// end is one end of a connection: its queue pair, buffers and completions.
type end struct {
	host *goroce.Host
	qp   *transport.QueuePair
	conn *goroce.CMConn

	out, in     *transport.MemoryRegion // of one advert each
	text, sink  *transport.MemoryRegion // of maxSize bytes
	completions chan transport.WorkCompletion
}

// newEnd returns an end with a posted receive.
func newEnd(h *goroce.Host) (*end, error) {
	e := &end{host: h, completions: make(chan transport.WorkCompletion, 2*depth)}
	return e, e.do(e.create)
}

// do runs f on the polling core and returns its error.
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
	if err := e.qp.Modify(transport.Init, transport.QPAttr{}); err != nil {
		return err
	}
	return e.expect()
}

// expect posts the receive, on the polling core.
func (e *end) expect() error {
	return e.qp.PostRecv(&transport.RecvRequest{SGList: []transport.SGE{e.in.SGE(0, advertLen)}})
}

// reap queues completions, on the polling core. The channel has room for all outstanding requests.
func (e *end) reap(cq *transport.CompletionQueue) {
	var wcs [depth]transport.WorkCompletion
	for n := cq.Poll(wcs[:]); n > 0; n = cq.Poll(wcs[:]) {
		for _, wc := range wcs[:n] {
			e.completions <- wc
		}
	}
	cq.RequestNotify(false)
}

// params returns rping's connection parameters and the permissions of its buffers.
func (e *end) params() goroce.CMParams {
	return goroce.CMParams{QP: e.qp, Access: transport.RemoteRead | transport.RemoteWrite,
		MaxRdAtomic: 1, MaxDestRdAtomic: 1,
		MinRNRTimer: 12, RetryCount: 7, RNRRetry: 7}
}

// send sends an advert.
func (e *end) send(a advert) error {
	return e.do(func(*transport.Endpoint) error {
		a.put(e.out.Bytes())
		return e.qp.PostSend(&transport.WorkRequest{Op: transport.OpSend,
			SGList: []transport.SGE{e.out.SGE(0, advertLen)}})
	})
}

// move READs the peer's buffer into text, or WRITEs text to it, and waits for completion.
func (e *end) move(ctx context.Context, op transport.Op, a advert) error {
	err := e.do(func(*transport.Endpoint) error {
		return e.qp.PostSend(&transport.WorkRequest{Op: op,
			SGList: []transport.SGE{e.text.SGE(0, int(a.size))}, RemoteAddr: a.addr, RKey: a.rkey})
	})
	if err != nil {
		return err
	}
	_, err = e.await(ctx, op)
	return err
}

// receive waits for the peer's next advert.
func (e *end) receive(ctx context.Context) (advert, error) {
	wc, err := e.await(ctx, transport.OpRecv)
	if err != nil {
		return advert{}, err
	}
	a, err := parseAdvert(e.in.Bytes()[:wc.ByteLen])
	if err != nil {
		return a, err
	}
	return a, e.do(func(*transport.Endpoint) error { return e.expect() })
}

// await waits for a completion of a kind and skips completions of SENDs.
func (e *end) await(ctx context.Context, what transport.Op) (wc transport.WorkCompletion,
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

// reason returns why the connection has ended.
func (e *end) reason() error {
	return fmt.Errorf("connection to %v: %w: %w", e.conn.Peer(), errLeft, e.conn.Err())
}

// destroy releases the end's resources.
func (e *end) destroy() {
	// fails if the host is closed, which releases them too
	_ = e.do(func(*transport.Endpoint) error {
		e.qp.Destroy()
		for _, mr := range []*transport.MemoryRegion{e.out, e.in, e.text, e.sink} {
			mr.Deregister()
		}
		return nil
	})
}
