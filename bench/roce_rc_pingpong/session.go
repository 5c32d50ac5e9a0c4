package main

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
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// What ibv_rc_pingpong's queue pairs have.
const (
	ackTimeout = 14 // 67 ms
	retries    = 7
	rnrRetries = 7  // for ever
	rnrTimer   = 12 // 0.64 ms
)

const (
	// linger is for how long nothing more must have come before an end goes: the peer's last
	// message comes again if its ACK was lost, after a timeout, and soft-RoCE asks for ever. Three
	// timeouts, for that may be lost, too; and in all at most lingerMost.
	linger     = 3 * (4096 << ackTimeout) * time.Nanosecond
	lingerMost = 5 * time.Second
	// farewell is how long a server waits for a client of ours to go first, and settle what it
	// gives DPDK's memif driver to see that: a port that both share must not be closed at both ends
	// at once.
	farewell = time.Second
	settle   = 20 * time.Millisecond
)

// errNobody says that a connection ended, or was silent, before it said who it is: somebody who
// only looked whether the port is open.
var errNobody = errors.New("nobody who wants to play")

// session is one side.
type session struct {
	settings *settings
	client   bool
	out      io.Writer
	host     *goroce.Host
	qp       *transport.QueuePair
	bounce   *bounce
	mine     pingpong.Destination
}

// run plays the role that the settings give.
func (s *settings) run(ctx context.Context, stdout, stderr io.Writer) error {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	switch {
	case s.inProcess():
		return s.both(ctx, log, stdout)
	case s.Host == "":
		return s.serve(ctx, log, stdout)
	}
	return s.dial(ctx, log, stdout)
}

// dial is the client's role.
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
	defer conn.Close() // last: it tells a server of ours that the port is closed
	return errors.Join(x.play(ctx, conn), x.host.Close())
}

// serve is the server's role.
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

// await lets the client go first.
func (x *session) await(ctx context.Context, conn net.Conn, err error) {
	if err == nil {
		_ = conn.SetDeadline(time.Now().Add(farewell))
		defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
		_, _ = conn.Read(make([]byte, 1))
		time.Sleep(settle)
	}
}

// both is client and server over a loop: of this process. What the client sees is told.
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
	ctx, cancel := context.WithCancelCause(ctx) // by the first that fails
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
	host, err := goroce.Open(s.Device, o)
	if err != nil {
		return nil, err
	}
	x := &session{settings: s, client: client, out: out, host: host}
	if largest := transport.PathMTUFor(host.Info(0).MTU); s.MTU > largest {
		err = fmt.Errorf("-m %d: port %s carries %d at most", int64(s.MTU), s.Device,
			int64(largest))
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

// create makes the queue pair, and posts its receives.
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
	if err := x.qp.ToInit(transport.InitAttr{}); err != nil {
		return err
	}
	x.bounce = newBounce(s, x.client, x.qp, cq, regions[0], regions[1])
	for range s.RxDepth {
		if err := x.bounce.receive(); err != nil {
			return err
		}
	}
	x.mine = pingpong.Destination{QPN: uint32(x.qp.Num), PSN: ep.RandomPSN(),
		GID: x.host.Addrs()[s.GIDIndex].Addr()}
	return nil
}

// ready brings the queue pair up toward the peer's.
func (x *session) ready(peer pingpong.Destination) error {
	return x.do(func(*transport.Endpoint) error {
		err := x.qp.ToRTR(transport.RTRAttr{
			Path:    transport.AddressVector{IP: peer.GID, Source: x.mine.GID},
			PathMTU: x.settings.MTU,
			DestQPN: wire.QPN(peer.QPN), RecvPSN: wire.PSN(peer.PSN), MinRNRTimer: rnrTimer,
		})
		if err != nil {
			return err
		}
		return x.qp.ToRTS(transport.RTSAttr{
			SendPSN: wire.PSN(x.mine.PSN), Timeout: ackTimeout, RetryCount: retries,
			RNRRetry: rnrRetries,
		})
	})
}

// play does it all over a connection to the peer.
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

// linger goes on to acknowledge what the peer repeats.
func (x *session) linger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lingerMost)
	defer cancel()
	repeats := func() (n uint64, err error) {
		err = x.do(func(ep *transport.Endpoint) error {
			n = ep.Counters().DuplicateRequests
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

// meet does the handshake.
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

// linkUp waits until the wire leads somewhere. It asks again and again: a memif client connects
// when it is asked.
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

// patience is ctx until the two sides know each other.
func (s *settings) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.Timeout.Std(),
		fmt.Errorf("no handshake within --timeout %v", s.Timeout))
}

// print tells of one side, as libibverbs' example does.
func (x *session) print(whose string, d pingpong.Destination) {
	gid := d.GID.String()
	if d.GID.Is4() {
		gid = "::ffff:" + gid
	}
	fmt.Fprintf(x.out, "  %-15s LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s\n", whose+" address:",
		d.LID, d.QPN, d.PSN, gid)
}

// report tells how fast it was, as libibverbs' example does: bytes of both directions.
func (x *session) report() {
	s := x.settings
	bytes := 2 * s.Size * units.Bytes(s.Iters)
	took := x.bounce.ended.Sub(x.bounce.begun)
	fmt.Fprintf(x.out, "%d bytes in %.2f seconds = %.2f Mbit/sec\n", int64(bytes), took.Seconds(),
		float64(bytes)*8/took.Microseconds())
	fmt.Fprintf(x.out, "%d iters in %.2f seconds = %.2f usec/iter\n", s.Iters, took.Seconds(),
		took.Microseconds()/float64(s.Iters))
}
