package goroce

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// A simulated host is a Host without DPDK in a bubble of testing/synctest: its port is an end of a
// packet.Pipe, its TCP connections are net.Pipes, its clock is the bubble's. Except for the polling
// loop it runs the real code.

// simWorld is two hosts, a wire between their ports, and a TCP network.
type simWorld struct {
	hosts [2]*Host
	wire  *simWire
	tcp   simTCP
}

// simWire carries the frames of both ports.
type simWire struct {
	mu   sync.Mutex
	loss float64 // probability of a frame
	rng  *rand.Rand
}

// simPort is a PipeEnd polled by a goroutine of its own.
type simPort struct {
	*packet.PipeEnd
	wire     *simWire
	arrived  chan struct{}
	neighbor *simPort
}

func (p *simPort) Alloc(bufs []packet.Buf) int {
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	return p.PipeEnd.Alloc(bufs)
}

func (p *simPort) Free(bufs []packet.Buf) {
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	p.PipeEnd.Free(bufs)
}

func (p *simPort) Send(class packet.Class, bufs []packet.Buf) int {
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	select {
	case p.neighbor.arrived <- struct{}{}:
	default:
	}
	return p.PipeEnd.Send(class, bufs)
}

func (p *simPort) Recv(bufs []packet.Buf) int {
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	n, kept := p.PipeEnd.Recv(bufs), 0
	for i := range n {
		if p.wire.rng.Float64() < p.wire.loss {
			p.PipeEnd.Free(bufs[i : i+1])
			continue
		}
		bufs[kept] = bufs[i]
		kept++
	}
	return kept
}

// The clock is calibrated outside of the bubbles.
func init() { processClock() }

// newSimWorld must be called in a bubble. It closes the hosts at the end of the test.
func newSimWorld(t testing.TB, seed uint64) *simWorld {
	w := &simWorld{wire: &simWire{rng: rand.New(rand.NewPCG(seed, 1))}}
	epoch := time.Now()
	now := func() units.Time { return units.Time(0).Add(units.FromStd(time.Since(epoch))) }
	a, b := packet.Pipe(packet.PipeOptions{})
	ports := [2]*simPort{{PipeEnd: a}, {PipeEnd: b}}
	for i, p := range ports {
		p.wire, p.arrived, p.neighbor = w.wire, make(chan struct{}, 1), ports[1-i]
	}
	for i, p := range ports {
		addr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i)}), 24)
		ep, err := transport.New(transport.Config{Port: p, Addrs: []netip.Prefix{addr},
			Seed: seed + uint64(i)}, now())
		require.NoError(t, err)
		core := newWorker(ep)
		go core.pollSimulated(p, now)
		h := &Host{addrs: []netip.Prefix{addr}, workers: []*worker{core},
			log: slog.New(slog.DiscardHandler), seed: seed + uint64(i)}
		h.begin(Options{})
		h.dialTCP = func(ctx context.Context, to string) (net.Conn, error) {
			return w.tcp.dial(ctx, addr.Addr(), to)
		}
		t.Cleanup(func() { _ = h.Close() })
		w.hosts[i] = h
	}
	return w
}

// pollSimulated is poll without a thread: it waits for the events that would end a nap.
func (w *worker) pollSimulated(p *simPort, now func() units.Time) {
	defer close(w.ended)
	longest := func() time.Duration {
		if len(w.conns) > 0 {
			return longNap // until it notices a request
		}
		return 10 * time.Millisecond // until it notices the end of the test
	}
	w.ep.Loop().OnRound(w.step)
	for !w.halt.Load() {
		began := now()
		sends, next := w.round(began, now)
		w.ep.Ended(now())
		if w.busy || !next.After(sends) {
			time.Sleep(time.Microsecond)
			continue
		}
		select {
		case <-time.After(min(max(next.Sub(began).Std(), time.Microsecond), longest())):
		case <-p.arrived:
		case f := <-w.mailbox:
			f(w.ep)
		}
	}
	w.end()
}

// listen is Host.Listen in the simulated network.
func (w *simWorld) listen(host int, addr string) *Listener {
	return w.hosts[host].listen(w.tcp.listen(addr), false)
}

// simTCP is a network of net.Pipes.
type simTCP struct {
	mu        sync.Mutex
	listeners map[string]*simListener
}

type simListener struct {
	addr   simAddr
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

type simAddr string

func (a simAddr) Network() string { return "tcp" }
func (a simAddr) String() string  { return string(a) }

func (n *simTCP) listen(addr string) *simListener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[string]*simListener{}
	}
	l := &simListener{addr: simAddr(addr), conns: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l
}

func (l *simListener) Addr() net.Addr { return l.addr }

func (l *simListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *simListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// dial connects from a source; like connect.Dial it retries until ctx ends.
func (n *simTCP) dial(ctx context.Context, from netip.Addr, to string) (net.Conn, error) {
	for {
		n.mu.Lock()
		l := n.listeners[to]
		n.mu.Unlock()
		if l != nil {
			near, far := net.Pipe()
			a := &simConn{Conn: near, peer: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 99), Port: 1}}
			b := &simConn{Conn: far, peer: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 2))}
			a.other, b.other = b, a
			select {
			case l.conns <- b:
				return a, nil
			case <-l.closed:
			case <-ctx.Done():
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(errors.New("no server"), ctx.Err())
		}
	}
}

// simConn is an end of a TCP connection that can be reset.
type simConn struct {
	net.Conn
	peer  net.Addr
	other *simConn
	reset atomic.Bool // by the other end
}

func (c *simConn) RemoteAddr() net.Addr { return c.peer }

func (c *simConn) SetLinger(int) error {
	c.other.reset.Store(true)
	return nil
}

func (c *simConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF && c.reset.Load() { //nolint:errorlint // net.Pipe returns it unwrapped
		err = syscall.ECONNRESET
	}
	return n, err
}

// within requires that f takes at most limit, by the bubble's clock.
func within(t testing.TB, what string, limit time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > limit {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}

// simConnected returns a connection from host 0 to host 1.
func (w *simWorld) connected(t testing.TB) (client, server *Conn) {
	l := w.listen(1, "server:1")
	defer l.Close()
	var err error
	client, err = w.hosts[0].Dial(t.Context(), "server:1")
	require.NoError(t, err)
	server, err = l.Accept(t.Context())
	require.NoError(t, err)
	return client, server
}

func TestSimulatedHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimWorld(t, 1)
		client, server := w.connected(t)
		for i := range byte(200) {
			require.NoError(t, client.Send(t.Context(), []byte{i}))
			b := make([]byte, 1)
			n, err := server.Recv(t.Context(), b)
			require.NoError(t, err)
			require.Equal(t, []byte{i}, b[:n])
		}
		within(t, "Close", 10*time.Millisecond, func() { require.NoError(t, client.Close()) })
		_, err := server.Recv(t.Context(), nil)
		require.Equal(t, io.EOF, err)
		require.NoError(t, server.Close())
		for _, h := range w.hosts {
			require.NoError(t, h.Do(0, func(ep *transport.Endpoint) {
				require.Zero(t, ep.Stats().Holdings.QueuePairs)
			}))
			require.NoError(t, h.Close())
		}
	})
}
