package pingpong

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/internal/connect/pingpong"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// The attributes of ibv_rc_pingpong's queue pairs.
const (
	ackTimeout = 14 // 67 ms
	retries    = 7
	rnrRetries = 7  // without limit
	rnrTimer   = 12 // 0.64 ms
)

const (
	// linger is how long an end must receive nothing before it exits. If the ACK of the peer's last
	// message was lost, the peer retransmits after a timeout, and soft-RoCE without limit. Three
	// timeouts allow for further losses. The total is limited by lingerMost.
	linger     = 3 * (4096 << ackTimeout) * time.Nanosecond
	lingerMost = 5 * time.Second
	// farewell is how long a server waits for a goroce client to close first, and settle how long
	// it then waits for DPDK's memif driver to notice: a shared port must not be closed at both
	// ends at once.
	farewell = time.Second
	settle   = 20 * time.Millisecond
)

// errNobody is returned for a connection that ended or timed out before the client's first message,
// such as a port scan.
var errNobody = errors.New("the client sent no handshake")

// session is one end.
type session struct {
	settings *settings
	client   bool
	out      io.Writer
	host     *goroce.Host
	qp       *transport.QueuePair
	bounce   *bounce
	mine     pingpong.Destination
}

// run performs the role given by the settings.
func (s *settings) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if s.observer, err = s.Observe.Start(name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.observer.Close(stderr)) }()
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	switch {
	case s.inProcess():
		return s.both(ctx, log, stdout)
	case s.Host == "":
		return s.serve(ctx, log, stdout)
	}
	return s.dial(ctx, log, stdout)
}

// dial runs the client.
func (s *settings) dial(ctx context.Context, log *slog.Logger, out io.Writer) (err error) {
	x, err := s.open(true, log, out)
	if err != nil {
		return err
	}
	x.print("local", x.mine)
	patience, cancel := s.patience(ctx)
	defer cancel()
	conn, err := connect.Dial(patience, net.JoinHostPort(s.Host, fmt.Sprint(s.Port)))
	if err != nil {
		return errors.Join(err, x.host.Close())
	}
	defer conn.Close() // last: it signals a goroce server that the port is closed
	return errors.Join(x.play(ctx, conn), x.host.Close())
}

// serve runs the server.
func (s *settings) serve(ctx context.Context, log *slog.Logger, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", s.Port))
	if err != nil {
		return fmt.Errorf("-p %d: %w", s.Port, err)
	}
	defer listener.Close()
	x, err := s.open(false, log, out)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	x.print("local", x.mine)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return errors.Join(err, x.host.Close())
		}
		err = x.play(ctx, conn)
		if errors.Is(err, errNobody) && ctx.Err() == nil {
			_ = conn.Close()
			continue
		}
		_ = listener.Close()
		x.await(ctx, conn, err)
		return errors.Join(err, x.host.Close(), conn.Close())
	}
}

// await waits for the client to close first.
func (x *session) await(ctx context.Context, conn net.Conn, err error) {
	if err == nil {
		_ = conn.SetDeadline(time.Now().Add(farewell))
		defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
		_, _ = conn.Read(make([]byte, 1))
		time.Sleep(settle)
	}
}

// both runs client and server over a loop in this process. The client's results are printed.
func (s *settings) both(ctx context.Context, log *slog.Logger, out io.Writer) error {
	server, err := s.open(false, log, io.Discard)
	if err != nil {
		return err
	}
	client, err := s.open(true, log, out)
	if err != nil {
		return errors.Join(err, server.host.Close())
	}
	client.print("local", client.mine)
	a, b := net.Pipe()
	ctx, cancel := context.WithCancelCause(ctx) // cancelled by the first failure
	defer cancel(nil)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.play(ctx, b); err != nil {
			cancel(err)
		}
	}()
	if err := client.play(ctx, a); err != nil {
		cancel(err)
	}
	<-served
	return errors.Join(context.Cause(ctx), client.host.Close(), server.host.Close())
}

// open opens the port and makes the queue pair.
func (s *settings) open(client bool, log *slog.Logger, out io.Writer) (*session, error) {
	o := goroce.Options{Addrs: s.Addrs, Gateways: s.Gateways, Idle: s.Idle, EAL: s.EAL,
		Pcap: s.Pcap, Log: log, NewAlgorithm: s.Control}
	if s.inProcess() && !client {
		o.Pcap, o.Addrs = "", nil
		for _, p := range s.Addrs {
			o.Addrs = append(o.Addrs, netip.PrefixFrom(p.Addr().Next(), p.Bits()))
		}
	}
	host, err := s.observer.Open(s.Device, o)
	if err != nil {
		return nil, err
	}
	x := &session{settings: s, client: client, out: out, host: host}
	if largest := endpoint.PathMTUFor(host.Info(0).MTU); s.MTU > largest {
		err = fmt.Errorf("-m %d: want at most %d on port %s", int64(s.MTU), int64(largest),
			s.Device)
	}
	if err == nil {
		err = x.do(x.create)
	}
	if err != nil {
		return nil, errors.Join(err, host.Close())
	}
	return x, nil
}

// do runs f on the polling core.
func (x *session) do(f func(*transport.Endpoint) error) error {
	var failure error
	err := x.host.Do(0, func(ep *transport.Endpoint) { failure = f(ep) })
	return errors.Join(err, failure)
}

// create makes the queue pair and posts its receives.
func (x *session) create(ep *transport.Endpoint) error {
	s, pd := x.settings, ep.AllocPD()
	cq, err := ep.CreateCQ(s.RxDepth + 1)
	if err != nil {
		return err
	}
	var regions [2]*transport.MemoryRegion
	for i := range regions {
		if regions[i], err = ep.RegisterMemory(pd, make([]byte, s.Size),
			transport.LocalWrite); err != nil {
			return err
		}
	}
	x.qp, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: pd, SendCQ: cq, RecvCQ: cq,
		MaxSendWR: 1, MaxRecvWR: s.RxDepth})
	if err != nil {
		return err
	}
	if err := x.qp.Modify(transport.Init, transport.QPAttr{}); err != nil {
		return err
	}
	x.bounce = newBounce(s, x.client, x.qp, cq, regions[0], regions[1])
	for range s.RxDepth {
		if err := x.bounce.receive(); err != nil {
			return err
		}
	}
	x.mine = pingpong.Destination{QPN: uint32(x.qp.Num), PSN: ep.Setup().RandomPSN(),
		GID: x.host.Addrs()[s.GIDIndex].Addr()}
	return nil
}

// ready connects the queue pair to the peer's.
func (x *session) ready(peer pingpong.Destination) error {
	return x.do(func(*transport.Endpoint) error {
		err := x.qp.Modify(transport.ReadyToReceive, transport.QPAttr{
			Path:    transport.AddressVector{IP: peer.GID, Source: x.mine.GID},
			PathMTU: x.settings.MTU,
			DestQPN: wire.QPN(peer.QPN), RecvPSN: wire.PSN(peer.PSN), MinRNRTimer: rnrTimer,
		})
		if err != nil {
			return err
		}
		return x.qp.Modify(transport.ReadyToSend, transport.QPAttr{
			SendPSN: wire.PSN(x.mine.PSN), Timeout: ackTimeout, RetryCount: retries,
			RNRRetry: rnrRetries,
		})
	})
}

// play performs the whole exchange over a connection to the peer.
func (x *session) play(ctx context.Context, conn net.Conn) error {
	peer, err := x.meet(ctx, conn)
	if err != nil {
		return err
	}
	x.print("remote", peer)
	ended, err := x.host.Run(0, x.bounce)
	if err != nil {
		return err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), x.do(func(*transport.Endpoint) error {
			x.bounce.halt = true
			return nil
		}))
	}
	if x.bounce.err != nil {
		return x.bounce.err
	}
	x.report()
	return x.linger(ctx)
}

// linger keeps acknowledging the peer's retransmissions.
func (x *session) linger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lingerMost)
	defer cancel()
	repeats := func() (n uint64, err error) {
		err = x.do(func(ep *transport.Endpoint) error {
			n = ep.Stats().DuplicateRequests
			return nil
		})
		return n, err
	}
	before, err := repeats()
	for err == nil && ctx.Err() == nil {
		select {
		case <-time.After(linger):
		case <-ctx.Done():
		}
		var now uint64
		if now, err = repeats(); now == before {
			break
		}
		before = now
	}
	return err
}

// meet performs the handshake.
func (x *session) meet(ctx context.Context, conn net.Conn) (peer pingpong.Destination, err error) {
	ctx, cancel := x.settings.patience(ctx)
	defer cancel()
	if x.client {
		if peer, err = pingpong.Connect(ctx, conn, x.mine); err == nil {
			err = errors.Join(x.ready(peer), x.linkUp(ctx))
		}
		return peer, err
	}
	met := false
	peer, err = pingpong.Accept(ctx, conn, x.mine, func(peer pingpong.Destination) error {
		met = true
		return errors.Join(x.ready(peer), x.linkUp(ctx))
	})
	if !met && (errors.Is(err, pingpong.ErrGone) || ctx.Err() != nil) {
		err = errors.Join(errNobody, err)
	}
	return peer, err
}

// linkUp polls until the link is up: querying it also makes a memif client connect.
func (x *session) linkUp(ctx context.Context) error {
	for {
		link, err := x.host.Device().Link()
		if err != nil || link.Up {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("no link on port %s: %w", x.settings.Device, context.Cause(ctx))
		}
	}
}

// patience returns a context for the handshake.
func (s *settings) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.Timeout.Std(),
		fmt.Errorf("no handshake within --timeout %v", s.Timeout))
}

// print prints one end's address in the format of ibv_rc_pingpong.
func (x *session) print(whose string, d pingpong.Destination) {
	gid := d.GID.String()
	if d.GID.Is4() {
		gid = "::ffff:" + gid
	}
	fmt.Fprintf(x.out, "  %-15s LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s\n", whose+" address:",
		d.LID, d.QPN, d.PSN, gid)
}

// report prints the throughput, counting both directions, in the format of ibv_rc_pingpong.
func (x *session) report() {
	s := x.settings
	bytes := 2 * s.Size * units.Bytes(s.Iters)
	took := x.bounce.ended.Sub(x.bounce.begun)
	fmt.Fprintf(x.out, "%d bytes in %.2f seconds = %.2f Mbit/sec\n", int64(bytes), took.Seconds(),
		float64(bytes)*8/took.Microseconds())
	fmt.Fprintf(x.out, "%d iters in %.2f seconds = %.2f usec/iter\n", s.Iters, took.Seconds(),
		took.Microseconds()/float64(s.Iters))
}
