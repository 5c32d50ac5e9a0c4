package goroce

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/transport"
)

var (
	simSeed  = flag.Uint64("sim.seed", 1, "first seed of TestSimulation")
	simSeeds = flag.Int("sim.seeds", 6, "how many seeds TestSimulation runs")
)

// TestSimulation runs random programs of Dial, Accept, Send, Recv, Flush, Close, Abort, cancel and
// Host.Close, by TCP and by the RDMA CM, from many goroutines beside silent and hostile clients. A
// seed determines the programs; the order of goroutines within an instant is the scheduler's. In
// every run:
//   - every call takes at most its limit: context, linger, or a host's disconnectTimeout;
//   - messages arrive once and in order, and a reader that reaches io.EOF has all that were sent;
//   - Host.Close ends every connection;
//   - no queue pair is left when all connections are closed, and no goroutine at the end
//     (checked by testing/synctest).
func TestSimulation(t *testing.T) {
	for seed := *simSeed; seed < *simSeed+uint64(*simSeeds); seed++ {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newSimulation(t, seed).run() })
		})
		if !ok {
			t.Fatalf("to replay: go test -run 'TestSimulation$' -sim.seed %d -sim.seeds 1 .", seed)
		}
	}
}

// slack is the reaction time of the simulated cores.
const slack = 25 * time.Millisecond

type simulation struct {
	*simWorld
	t         *testing.T
	seed      uint64
	listeners [2]*Listener
	cm        [2]*CMListener
	life      context.Context // ends the programs
	actors    sync.WaitGroup
	crashes   bool // hosts are closed while programs run

	connections, managed, messages atomic.Int64

	mu      sync.Mutex
	streams map[*simConn]*stream // by the sending end
	cmConns []*CMConn
}

// stream is the data that one end of a connection sends.
type stream struct {
	sent, came int
	eof        bool // its reader has reached io.EOF
}

// stream updates the record of what an end sends.
func (s *simulation) stream(end *simConn, change func(*stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[end] == nil {
		s.streams[end] = &stream{}
	}
	change(s.streams[end])
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{simWorld: newSimWorld(t, seed), t: t, seed: seed,
		streams: map[*simConn]*stream{}}
	for i := range s.hosts {
		s.listeners[i] = s.listen(i, simServer(i))
		l, err := s.hosts[i].ListenCM(cmPort)
		require.NoError(t, err)
		s.cm[i] = l
	}
	return s
}

func simServer(host int) string { return fmt.Sprintf("server:%d", host) }

// actor runs a program with a random number generator of its own.
func (s *simulation) actor(i uint64, f func(rng *rand.Rand)) {
	s.actors.Go(func() { f(rand.New(rand.NewPCG(s.seed, 1000+i))) })
}

func (s *simulation) run() {
	rng := rand.New(rand.NewPCG(s.seed, 0))
	s.crashes = rng.IntN(2) == 0
	s.wire.setLoss([]float64{0, 0, 0.01, 0.1}[rng.IntN(4)])
	var end context.CancelFunc
	s.life, end = context.WithTimeout(context.Background(), 12*time.Second)
	defer end()
	const programs = 4
	for i := range uint64(programs) {
		host := int(i % 2)
		s.actor(4*i, func(rng *rand.Rand) { s.dials(rng, host) })
		s.actor(4*i+1, func(rng *rand.Rand) { s.accepts(rng, host) })
		s.actor(4*i+2, func(rng *rand.Rand) { s.attacks(rng, host) })
		s.actor(4*i+3, func(rng *rand.Rand) { s.manages(rng, host) })
	}
	s.actor(100, s.crash)
	s.actor(101, s.blackouts)
	s.finish(rng)
}

// finish waits for the programs and checks the final state.
func (s *simulation) finish(rng *rand.Rand) {
	all := make(chan struct{})
	go func() { s.actors.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(5 * time.Minute):
		stacks := make([]byte, 1<<20)
		s.t.Fatalf("deadlock:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	for i, h := range s.hosts {
		within(s.t, "Listener.Close", slack, func() {
			require.NoError(s.t, s.listeners[i].Close())
		})
		synctest.Wait()
		left := -1
		err := h.Do(0, func(ep *transport.Endpoint) { left = ep.Stats().Holdings.QueuePairs })
		if !errors.Is(err, ErrClosed) && left != 0 {
			s.t.Errorf("host %d has %d queue pairs left, want 0", i, left)
		}
	}
	for _, x := range s.streams {
		if x.eof && x.came != x.sent {
			s.t.Errorf("io.EOF after %d messages, want %d", x.came, x.sent)
		}
	}
	for _, i := range rng.Perm(2) {
		s.closeHost(i)
	}
	for _, c := range s.cmConns {
		if c.Err() == nil {
			s.t.Errorf("RDMA CM connection with %v is open after the hosts were closed", c.Peer())
		}
	}
	s.t.Logf("%d connections, %d by the RDMA CM, %d messages; %+v, %+v", s.connections.Load(),
		s.managed.Load(), s.messages.Load(),
		s.listeners[0].Counters(), s.listeners[1].Counters())
}

func (s *simulation) closeHost(i int) {
	within(s.t, "Host.Close", disconnectTimeout+slack, func() {
		if err := s.hosts[i].Close(); err != nil {
			s.t.Errorf("Host.Close: %v", err)
		}
	})
}

// pause waits for up to longest, or until the programs have to end. It reports whether they
// continue.
func (s *simulation) pause(rng *rand.Rand, longest time.Duration) bool {
	select {
	case <-time.After(time.Duration(rng.Int64N(int64(longest)))):
	case <-s.life.Done():
	}
	return s.life.Err() == nil
}

// patience returns a context that ends after up to longest, by deadline or by an earlier cancel.
func (s *simulation) patience(rng *rand.Rand, longest time.Duration) (ctx context.Context,
	cancel context.CancelFunc, limit time.Duration) {
	limit = time.Duration(rng.Int64N(int64(longest)))
	if rng.IntN(2) == 0 {
		ctx, cancel = context.WithTimeout(context.Background(), limit)
	} else {
		ctx, cancel = context.WithCancel(context.Background())
		time.AfterFunc(limit, cancel)
	}
	return ctx, cancel, limit + slack
}

// dials connects to the other host repeatedly.
func (s *simulation) dials(rng *rand.Rand, host int) {
	for s.pause(rng, time.Second) {
		ctx, cancel, limit := s.patience(rng, 8*time.Second)
		within(s.t, "Dial", limit, func() {
			c, err := s.hosts[host].Dial(ctx, simServer(1-host))
			if err == nil {
				s.connections.Add(1)
				s.session(rng, c)
			}
		})
		cancel()
	}
}

// accepts accepts connections, at the end the remaining ones.
func (s *simulation) accepts(rng *rand.Rand, host int) {
	for s.pause(rng, 300*time.Millisecond) {
		ctx, cancel, limit := s.patience(rng, 2*time.Second)
		within(s.t, "Accept", limit, func() {
			if c, err := s.listeners[host].Accept(ctx); err == nil {
				s.session(rng, c)
			}
		})
		cancel()
	}
}

// session uses a connection in the background: some read, some write, some do nothing, and some do
// not close it properly.
func (s *simulation) session(rng *rand.Rand, c *Conn) {
	read, write, ends := rng.IntN(5) > 0, rng.IntN(4) > 0, rng.IntN(5)
	seeds := [3]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64()}
	s.actors.Go(func() {
		var both sync.WaitGroup
		if write {
			both.Go(func() { s.writes(rand.New(rand.NewPCG(seeds[0], 0)), c) })
		}
		if read {
			both.Go(func() { s.reads(rand.New(rand.NewPCG(seeds[1], 0)), c) })
		}
		rng := rand.New(rand.NewPCG(seeds[2], 0))
		if ends > 0 {
			both.Wait()
		} else {
			s.pause(rng, 3*time.Second) // closed while in use
		}
		s.ends(c, ends)
		both.Wait()
	})
}

// ends closes a connection in one of several ways.
func (s *simulation) ends(c *Conn, how int) {
	if how == 1 {
		within(s.t, "Abort", slack, func() { _ = c.Abort() })
	}
	closers := 1
	if how == 2 {
		closers = 3
	}
	var all sync.WaitGroup
	for range closers {
		all.Go(func() { within(s.t, "Close", c.linger+slack, func() { _ = c.Close() }) })
	}
	if how == 3 {
		all.Go(func() {
			time.Sleep(10 * time.Millisecond)
			within(s.t, "Abort", slack, func() { _ = c.Abort() })
		})
	}
	all.Wait()
	if c.Err() == nil {
		s.t.Error("a closed connection has no error")
	}
}

// writes sends numbered messages.
func (s *simulation) writes(rng *rand.Rand, c *Conn) {
	b := make([]byte, 5000)
	count := rng.IntN(300)
	for i := range count {
		binary.LittleEndian.PutUint64(b, uint64(i))
		n := 8 + rng.IntN(len(b)-8)
		if rng.IntN(10) > 0 {
			n = 8
		}
		ctx, cancel, limit := s.patience(rng, 4*time.Second)
		var err error
		within(s.t, "Send", limit, func() { err = c.Send(ctx, b[:n]) })
		cancel()
		if err != nil {
			return
		}
		s.stream(c.control.(tcpControl).Conn.(*simConn), func(x *stream) { x.sent++ })
		if rng.IntN(30) == 0 {
			ctx, cancel, limit := s.patience(rng, time.Second)
			within(s.t, "Flush", limit, func() { _ = c.Flush(ctx) })
			cancel()
		}
	}
}

// reads checks that the messages are 0, 1, 2, …
func (s *simulation) reads(rng *rand.Rand, c *Conn) {
	b := make([]byte, 5000)
	for want, most := 0, rng.IntN(600); want < most; {
		ctx, cancel, limit := s.patience(rng, 2*time.Second)
		var n int
		var err error
		within(s.t, "Recv", limit, func() { n, err = c.Recv(ctx, b) })
		cancel()
		if err != nil {
			if err == io.EOF { //nolint:errorlint // as documented
				s.stream(c.control.(tcpControl).Conn.(*simConn).other,
					func(x *stream) { x.eof = true })
			}
			if n > 0 || ctx.Err() == nil || rng.IntN(3) == 0 {
				return
			}
			continue // the context's end is not an error of the connection
		}
		if got := binary.LittleEndian.Uint64(b); n < 8 || got != uint64(want) {
			s.t.Errorf("got message %d of %d bytes, want %d", got, n, want)
			return
		}
		want++
		s.stream(c.control.(tcpControl).Conn.(*simConn).other, func(x *stream) { x.came++ })
		s.messages.Add(1)
	}
}

// attacks connects by TCP and violates the protocol.
func (s *simulation) attacks(rng *rand.Rand, host int) {
	for s.pause(rng, time.Second) {
		ctx, cancel := context.WithTimeout(s.life, time.Second)
		tcp, err := s.tcp.dial(ctx, netip.AddrFrom4([4]byte{172, 16, 0, byte(rng.IntN(3))}),
			simServer(host))
		cancel()
		if err != nil {
			continue
		}
		kind, stay, seed := rng.IntN(8), time.Duration(rng.Int64N(int64(8*time.Second))),
			rng.Uint64()
		s.actors.Go(func() {
			time.AfterFunc(stay, func() { _ = tcp.Close() })
			attack(rand.New(rand.NewPCG(seed, 0)), tcp, kind, validHello(s.t))
		})
	}
}

// attack returns when the connection is closed, by either end.
func attack(rng *rand.Rand, tcp net.Conn, kind int, hello []byte) {
	ctx := context.Background()
	defer tcp.Close()
	switch kind {
	case 0: // silent
	case 1: // one byte at a time
		for _, b := range hello {
			time.Sleep(100 * time.Millisecond)
			if _, err := tcp.Write([]byte{b}); err != nil {
				return
			}
		}
	case 2: // noise
		noise := make([]byte, 100+rng.IntN(20000))
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		copy(noise, hello[:rng.IntN(len(hello))])
		_, _ = tcp.Write(noise)
	case 3: // an endless body
		_, _ = tcp.Write(append([]byte("GRCE"), 0, 0x3f, 0xff, 0xff))
		for _, err := tcp.Write(make([]byte, 1000)); err == nil; _,
			err = tcp.Write(make([]byte, 1000)) {
			time.Sleep(time.Millisecond)
		}
	case 4: // valid, but never reads
		_, _ = tcp.Write(hello)
		time.Sleep(10 * time.Second)
	case 5: // two Hellos
		_, _ = tcp.Write(append(hello[:len(hello):len(hello)], hello...))
	default: // valid, with a queue pair that does not exist, then an extra message or none
		if _, err := tcp.Write(hello); err != nil {
			return
		}
		if _, err := connect.Receive(ctx, tcp, maxHelloSize); err != nil {
			return
		}
		name := []string{"ready", "steady"}[kind-6]
		if _, err := connect.Barrier(ctx, tcp, name, nil); err == nil && rng.IntN(2) == 0 {
			_, _ = tcp.Write([]byte("x"))
		}
	}
	_, _ = io.Copy(io.Discard, tcp)
}

// crash closes a host at a random time, or replaces a listener.
func (s *simulation) crash(rng *rand.Rand) {
	if !s.crashes || !s.pause(rng, 12*time.Second) {
		return
	}
	switch i := rng.IntN(2); rng.IntN(3) {
	case 0:
		s.closeHost(i)
	case 1: // twice concurrently
		s.actors.Go(func() { s.closeHost(i) })
		s.closeHost(i)
	default:
		within(s.t, "Listener.Close", slack, func() { _ = s.listeners[i].Close() })
		within(s.t, "CMListener.Close", slack, func() { _ = s.cm[i].Close() })
	}
}

// blackouts drops all frames occasionally.
func (s *simulation) blackouts(rng *rand.Rand) {
	loss := s.wire.loss
	for s.pause(rng, 10*time.Second) {
		s.wire.setLoss(1)
		s.pause(rng, 2*time.Second)
		s.wire.setLoss(loss)
	}
	s.wire.setLoss(loss)
}

func (w *simWire) setLoss(loss float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loss = loss
}

// manages connects queue pairs by the RDMA CM, and accepts, rejects or ignores the other end's
// requests.
func (s *simulation) manages(rng *rand.Rand, host int) {
	for s.pause(rng, time.Second) {
		ctx, cancel, limit := s.patience(rng, 10*time.Second)
		if rng.IntN(2) == 0 {
			s.dialsCM(ctx, rng, host, limit)
		} else {
			s.acceptsCM(ctx, rng, host, limit)
		}
		cancel()
	}
}

func (s *simulation) dialsCM(ctx context.Context, rng *rand.Rand, host int, limit time.Duration) {
	h := s.hosts[host]
	qp, err := simQueuePair(h)
	if err != nil {
		return // the host is closed
	}
	defer destroy(h, qp)
	var c *CMConn
	within(s.t, "DialCM", limit, func() {
		c, err = h.DialCM(ctx, netip.AddrPortFrom(s.hosts[1-host].addrs[0].Addr(), cmPort),
			simParams(qp))
	})
	if err == nil {
		s.managed.Add(1)
		s.endsCM(rng, c)
	}
}

func (s *simulation) acceptsCM(ctx context.Context, rng *rand.Rand, host int, limit time.Duration) {
	var r *CMRequest
	var err error
	within(s.t, "Accept by CM", limit, func() { r, err = s.cm[host].Accept(ctx) })
	if err != nil {
		return
	}
	switch rng.IntN(4) {
	case 0:
		within(s.t, "Reject", slack, func() { _ = r.Reject(nil) })
		return
	case 1: // ignored: the manager ends it
		return
	}
	h := s.hosts[host]
	qp, err := simQueuePair(h)
	if err != nil {
		return
	}
	defer destroy(h, qp)
	ctx, cancel, limit := s.patience(rng, 10*time.Second)
	defer cancel()
	var c *CMConn
	within(s.t, "Accept of a request", limit, func() { c, err = r.Accept(ctx, simParams(qp)) })
	if err == nil {
		s.endsCM(rng, c)
	}
}

// endsCM waits for a random time, or for the other end, and disconnects.
func (s *simulation) endsCM(rng *rand.Rand, c *CMConn) {
	s.mu.Lock()
	s.cmConns = append(s.cmConns, c)
	s.mu.Unlock()
	select {
	case <-c.Done():
	case <-time.After(time.Duration(rng.Int64N(int64(5 * time.Second)))):
	}
	ctx, cancel, limit := s.patience(rng, time.Second)
	defer cancel()
	within(s.t, "Disconnect", limit, func() { _ = c.Disconnect(ctx) })
}

func simQueuePair(h *Host) (qp *transport.QueuePair, err error) {
	var failure error
	err = h.Do(0, func(ep *transport.Endpoint) {
		cq, err := ep.CreateCQ(16)
		if err == nil {
			qp, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: ep.AllocPD(), SendCQ: cq,
				RecvCQ: cq, MaxSendWR: 8, MaxRecvWR: 8})
		}
		failure = err
	})
	return qp, errors.Join(err, failure)
}

func destroy(h *Host, qp *transport.QueuePair) {
	_ = h.Do(0, func(*transport.Endpoint) { qp.Destroy() })
}

func simParams(qp *transport.QueuePair) CMParams {
	return CMParams{QP: qp, MinRNRTimer: rnrTimer, RetryCount: 7, RNRRetry: 7, PathMTU: 1024}
}
