package goroce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/transport"
)

const cmPort = 7174

// cmEnd is a queue pair with a posted receive, for one end of a connection.
type cmEnd struct {
	host  *Host
	queue int
	qp    *transport.QueuePair
	mr    *transport.MemoryRegion
	comps chan transport.WorkCompletion
}

func newCMEnd(t testing.TB, h *Host, queue int, kind transport.QPType) *cmEnd {
	e := &cmEnd{host: h, queue: queue, comps: make(chan transport.WorkCompletion, 64)}
	e.do(t, func(ep *transport.Endpoint) error {
		pd := ep.AllocPD()
		cq, err := ep.CreateCQ(64)
		require.NoError(t, err)
		e.mr, err = ep.RegisterMemory(pd, make([]byte, 4096),
			transport.LocalWrite|transport.RemoteWrite)
		require.NoError(t, err)
		e.qp, err = ep.CreateQP(transport.QPInit{Type: kind, PD: pd, SendCQ: cq, RecvCQ: cq,
			MaxSendWR: 8, MaxRecvWR: 8, SignalAll: true})
		require.NoError(t, err)
		cq.OnEvent(func(cq *transport.CompletionQueue) {
			var wcs [8]transport.WorkCompletion
			for n := cq.Poll(wcs[:]); n > 0; n = cq.Poll(wcs[:]) {
				for _, wc := range wcs[:n] {
					e.comps <- wc
				}
			}
			cq.RequestNotify(false)
		})
		cq.RequestNotify(false)
		if kind == transport.UD {
			return nil
		}
		require.NoError(t, e.qp.Modify(transport.Init, transport.QPAttr{}))
		return e.qp.PostRecv(&transport.RecvRequest{ID: 1,
			SGList: []transport.SGE{e.mr.SGE(0, 100)}})
	})
	return e
}

func (e *cmEnd) do(t testing.TB, f func(*transport.Endpoint) error) {
	t.Helper()
	var failure error
	require.NoError(t, e.host.Do(e.queue, func(ep *transport.Endpoint) { failure = f(ep) }))
	require.NoError(t, failure)
}

func (e *cmEnd) params(private string) CMParams {
	return CMParams{QP: e.qp, Access: transport.RemoteWrite, MaxRdAtomic: 4, MaxDestRdAtomic: 2,
		MinRNRTimer: rnrTimer, RetryCount: 7, RNRRetry: 7, Private: []byte(private)}
}

func (e *cmEnd) send(t testing.TB, text string) {
	e.do(t, func(*transport.Endpoint) error {
		n := copy(e.mr.Bytes()[1000:], text)
		return e.qp.PostSend(&transport.WorkRequest{ID: 2, Op: transport.OpSend,
			SGList: []transport.SGE{e.mr.SGE(1000, n)}})
	})
}

// next returns the next completion.
func (e *cmEnd) next(t testing.TB) transport.WorkCompletion {
	t.Helper()
	select {
	case wc := <-e.comps:
		return wc
	case <-time.After(10 * time.Second):
		t.Fatal("no completion")
		panic("unreachable")
	}
}

// text removes the zero padding of private data.
func text(private []byte) string { return string(bytes.TrimRight(private, "\x00")) }

// cmWorld is a pair of hosts, of which b listens.
type cmWorld struct {
	t      *testing.T
	ctx    context.Context
	a, b   *Host
	at     netip.AddrPort
	listen *CMListener
}

func newCMWorld(t *testing.T, queues int) *cmWorld {
	w := &cmWorld{t: t}
	for _, h := range []**Host{&w.a, &w.b} {
		host, err := Open("loop:"+t.Name(), Options{Queues: queues})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, host.Close()) })
		*h = host
	}
	var cancel func()
	w.ctx, cancel = context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	var err error
	w.listen, err = w.b.ListenCM(cmPort)
	require.NoError(t, err)
	require.EqualValues(t, cmPort, w.listen.Port())
	w.at = netip.AddrPortFrom(w.b.Addrs()[0].Addr(), cmPort)
	return w
}

// serve handles requests with f, which receives the number of earlier requests.
func (w *cmWorld) serve(n int, f func(i int, r *CMRequest)) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			r, err := w.listen.Accept(w.ctx)
			if err != nil {
				w.t.Errorf("accept: %v", err)
				return
			}
			f(i, r)
		}
	}()
	return done
}

func (w *cmWorld) state(e *cmEnd) (s transport.State) {
	e.do(w.t, func(*transport.Endpoint) error { s = e.qp.State(); return nil })
	return s
}

// connected returns a connection between the hosts' queue pairs.
func (w *cmWorld) connected(queue int, kind transport.QPType) (dialed, accepted *CMConn, a,
	b *cmEnd) {
	a, b = newCMEnd(w.t, w.a, queue, kind), newCMEnd(w.t, w.b, queue, kind)
	done := w.serve(1, func(_ int, r *CMRequest) {
		if r.Type() != kind || text(r.Private()) != "let me in" ||
			r.Peer().Addr() != w.a.Addrs()[0].Addr() || r.Peer().Port() < 0xC000 {
			w.t.Errorf("request of type %v from %v: %q", r.Type(), r.Peer(), r.Private())
		}
		var err error
		if accepted, err = r.Accept(w.ctx, b.params("come in")); err != nil {
			w.t.Error(err)
		}
	})
	dialed, err := w.a.DialCM(w.ctx, w.at, a.params("let me in"))
	require.NoError(w.t, err)
	<-done
	require.NotNil(w.t, accepted)
	return dialed, accepted, a, b
}

func TestCMConnects(t *testing.T) {
	for _, c := range []struct {
		queues, queue int
		kind          transport.QPType
	}{{1, 0, transport.RC}, {1, 0, transport.UC}, {2, 0, transport.RC}, {2, 1, transport.RC}} {
		t.Run(fmt.Sprintf("%v on endpoint %d of %d", c.kind, c.queue, c.queues),
			func(t *testing.T) {
				w := newCMWorld(t, c.queues)
				dialed, accepted, a, b := w.connected(c.queue, c.kind)
				require.Equal(t, "come in", text(dialed.Private()))
				require.Equal(t, w.at, dialed.Peer())
				require.Equal(t, b.qp, accepted.QueuePair())
				a.send(t, "ping")
				require.Equal(t, transport.OpSend, a.next(t).Op)
				wc := b.next(t)
				require.Equal(t, transport.OpRecv, wc.Op)
				require.EqualValues(t, 4, wc.ByteLen)
				b.send(t, "pong!")
				require.EqualValues(t, 5, a.next(t).ByteLen)
				require.NoError(t, dialed.Err())
				require.NoError(t, dialed.Disconnect(w.ctx))
				require.Equal(t, ErrClosed, dialed.Err())
				<-accepted.Done()
				require.Equal(t, io.EOF, accepted.Err())
				require.NoError(t, accepted.Disconnect(w.ctx), "it has ended already")
				require.Equal(t, transport.Errored, w.state(a))
				require.Eventually(t, func() bool {
					return w.state(b) == transport.Errored
				}, 10*time.Second, time.Millisecond)
			})
	}
}

func TestCMServerDisconnects(t *testing.T) {
	w := newCMWorld(t, 1)
	dialed, accepted, a, _ := w.connected(0, transport.RC)
	require.NoError(t, accepted.Disconnect(w.ctx))
	<-dialed.Done()
	require.Equal(t, io.EOF, dialed.Err())
	require.Equal(t, transport.StatusWRFlushErr, a.next(t).Status, "its receive")
	_, err := w.a.DialCM(w.ctx, w.at, a.params(""))
	require.ErrorIs(t, err, transport.ErrState, "a queue pair in ERROR is good for no connection")
}

func TestCMManyAtOnce(t *testing.T) {
	w := newCMWorld(t, 1)
	const n = 16
	served := make(chan string, n)
	done := w.serve(n, func(_ int, r *CMRequest) {
		go func() {
			b := newCMEnd(t, w.b, 0, transport.RC)
			conn, err := r.Accept(w.ctx, b.params("to "+text(r.Private())))
			if err != nil {
				served <- err.Error()
				return
			}
			b.next(t)
			<-conn.Done()
			served <- conn.Err().Error()
		}()
	})
	errs := make(chan error, n)
	for i := range n {
		a := newCMEnd(t, w.a, 0, transport.RC)
		go func() {
			conn, err := w.a.DialCM(w.ctx, w.at, a.params(fmt.Sprint(i)))
			if err != nil {
				errs <- err
				return
			}
			if want := fmt.Sprint("to ", i); text(conn.Private()) != want {
				errs <- fmt.Errorf("connection %d: got response %q", i, text(conn.Private()))
				return
			}
			a.send(t, "hello")
			a.next(t)
			errs <- conn.Disconnect(w.ctx)
		}()
	}
	for range n {
		require.NoError(t, <-errs)
		require.Equal(t, io.EOF.Error(), <-served)
	}
	<-done
}

// A rejected client receives the reason.
func TestCMRefusals(t *testing.T) {
	w := newCMWorld(t, 1)
	dial := func(at netip.AddrPort) error {
		a := newCMEnd(t, w.a, 0, transport.RC)
		_, err := w.a.DialCM(w.ctx, at, a.params("please"))
		require.ErrorContains(t, err, "goroce: dial "+at.String()+" by RDMA CM: ")
		require.Equal(t, transport.Errored, w.state(a))
		return err
	}
	rejection := func(err error) *CMReject {
		var r *CMReject
		require.ErrorAs(t, err, &r)
		return r
	}
	done := w.serve(1, func(_ int, r *CMRequest) {
		if err := r.Reject(make([]byte, 149)); !errors.Is(err, rdmacm.ErrInvalid) {
			t.Errorf("reject with 149 bytes: %v", err)
		}
		if err := r.Reject([]byte("not today")); err != nil {
			t.Error(err)
		}
		if _, err := r.Accept(w.ctx, CMParams{}); !errors.Is(err, ErrClosed) {
			t.Errorf("accept a rejected request: %v", err)
		}
	})
	err := dial(w.at)
	require.ErrorContains(t, err, "rejected: rejected by the program")
	require.Equal(t, rdmacm.ConsumerReject, rejection(err).Reason)
	require.Equal(t, "not today", text(rejection(err).Private))
	<-done
	require.Equal(t, rdmacm.InvalidServiceID,
		rejection(dial(netip.AddrPortFrom(w.at.Addr(), 7))).Reason)

	done = w.serve(1, func(_ int, r *CMRequest) {
		b := newCMEnd(t, w.b, 0, transport.UC)
		if _, err := r.Accept(w.ctx, b.params("")); !errors.Is(err, transport.ErrInvalid) {
			t.Errorf("accept with a queue pair of another type: %v", err)
		}
	})
	require.Equal(t, rdmacm.ConsumerReject, rejection(dial(w.at)).Reason)
	<-done

	_, err = w.b.ListenCM(cmPort)
	require.ErrorContains(t, err, "listen on port 7174")
	require.NoError(t, w.listen.Close())
	require.NoError(t, w.listen.Close())
	_, err = w.listen.Accept(w.ctx)
	require.ErrorIs(t, err, ErrClosed)
	require.Equal(t, rdmacm.InvalidServiceID, rejection(dial(w.at)).Reason)
	again, err := w.b.ListenCM(cmPort)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestCMContextsEnd(t *testing.T) {
	w := newCMWorld(t, 1)
	short, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	a := newCMEnd(t, w.a, 0, transport.RC)
	_, err := w.a.DialCM(short, netip.MustParseAddrPort("[fe80::7]:7174"), a.params(""))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "neighbour discovery reply for fe80::7")

	_, err = w.listen.Accept(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	// A client that gives up withdraws its request.
	impatient, giveUp := context.WithCancel(w.ctx)
	done := w.serve(1, func(_ int, r *CMRequest) {
		giveUp()
		<-r.c.done
		if _, err := r.Accept(w.ctx, CMParams{}); err == nil {
			t.Error("accepted a withdrawn request")
		}
	})
	a = newCMEnd(t, w.a, 0, transport.RC)
	_, err = w.a.DialCM(impatient, w.at, a.params(""))
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, err.Error(), "neighbour discovery")
	<-done
}

func TestCMHostCloses(t *testing.T) {
	w := newCMWorld(t, 1)
	dialed, accepted, _, b := w.connected(0, transport.RC)
	waiting := make(chan error)
	go func() {
		_, err := w.listen.Accept(w.ctx)
		waiting <- err
	}()
	require.NoError(t, w.b.Close())
	require.ErrorIs(t, <-waiting, ErrClosed)
	<-accepted.Done()
	require.Equal(t, ErrClosed, accepted.Err())
	<-dialed.Done()
	require.Equal(t, io.EOF, dialed.Err(), "the peer was told")
	require.NoError(t, accepted.Disconnect(w.ctx))
	require.NoError(t, w.listen.Close())
	_, err := w.b.ListenCM(cmPort)
	require.ErrorIs(t, err, ErrClosed)
	_, err = w.b.DialCM(w.ctx, w.at, b.params(""))
	require.ErrorIs(t, err, ErrClosed)
}

// The ends of a connection are distinguished.
func TestCMEnds(t *testing.T) {
	for _, c := range []struct {
		event   rdmacm.Event
		closing bool
		want    error
	}{
		{rdmacm.Event{Kind: rdmacm.Disconnected}, false, io.EOF},
		{rdmacm.Event{Kind: rdmacm.Disconnected}, true, ErrClosed},
		{rdmacm.Event{Kind: rdmacm.Disconnected, Reason: rdmacm.Timeout}, true, ErrClosed},
		{rdmacm.Event{Kind: rdmacm.Disconnected, Reason: rdmacm.ConsumerReject}, false,
			&CMReject{Reason: rdmacm.ConsumerReject}},
		{rdmacm.Event{Kind: rdmacm.Rejected, Reason: rdmacm.StaleConnection}, false,
			&CMReject{Reason: rdmacm.StaleConnection}},
		{rdmacm.Event{Kind: rdmacm.Unreachable, Reason: rdmacm.Timeout}, false, ErrUnreachable},
		{rdmacm.Event{Kind: rdmacm.Unreachable, Reason: rdmacm.ConsumerReject}, false, errTooLate},
	} {
		m := &cm{conns: map[*rdmacm.Conn]*CMConn{}}
		conn := newCMConn(m, nil)
		conn.closing = c.closing
		m.handleEvent(conn, c.event)
		require.Equal(t, c.want, conn.Err())
		<-conn.Done()
		m.handleEvent(conn, rdmacm.Event{Kind: rdmacm.Disconnected})
		require.Equal(t, c.want, conn.Err(), "an end is final")
	}
}

func TestCMMisuse(t *testing.T) {
	w := newCMWorld(t, 1)
	a := newCMEnd(t, w.a, 0, transport.RC)
	for name, c := range map[string]struct {
		spoil func(*CMParams)
		says  string
	}{
		"no queue pair": {func(p *CMParams) { p.QP = nil }, "belongs to another host"},
		"another host's": {func(p *CMParams) {
			p.QP = newCMEnd(t, w.b, 0, transport.RC).qp
		}, "belongs to another host"},
		"datagrams": {func(p *CMParams) {
			p.QP = newCMEnd(t, w.a, 0, transport.UD).qp
		}, "type UD, want RC or UC"},
		"too many READs": {func(p *CMParams) {
			p.MaxRdAtomic = 129
		}, "MaxRdAtomic 129 or MaxDestRdAtomic 2 out of range"},
		"too much private data": {func(p *CMParams) {
			p.Private = make([]byte, 57)
		}, "57 bytes of private data: want at most 56"},
		"too many retries": {func(p *CMParams) { p.RetryCount = 8 }, "retry counts 8 and 7"},
		"no path MTU": {func(p *CMParams) {
			p.PathMTU = 1000
		}, "path MTU 1000: want 256, 512"},
	} {
		t.Run(name, func(t *testing.T) {
			p := a.params("")
			c.spoil(&p)
			_, err := w.a.DialCM(w.ctx, w.at, p)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "goroce: dial "+w.at.String())
			require.True(t, errors.Is(err, transport.ErrInvalid) || errors.Is(err,
				rdmacm.ErrInvalid))
		})
	}
	_, err := w.a.DialCM(w.ctx, netip.MustParseAddrPort("10.1.2.3:1"), a.params(""))
	require.ErrorContains(t, err, "no gateway")
	require.Equal(t, transport.Init, w.state(a), "what was refused has no effect")
}
