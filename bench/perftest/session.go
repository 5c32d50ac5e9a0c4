package perftest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport"
)

// ErrPeerGone is returned when the peer ended during the test.
var ErrPeerGone = errors.New("the peer vanished in the middle of the test")

const (
	farewell = time.Second           // for the peer to receive this end's error
	settle   = 20 * time.Millisecond // for pending events after the peer has gone
	// for a client's first byte; ib_write_bw sends it after one second
	silence = 3 * time.Second
)

// session is one end of a test.
type session struct {
	settings  *Settings
	server    bool
	host      *goroce.Host
	conn      *peerConn
	cm        *manager // with -R
	dialogue  dialogue
	queueSets []*queueSet
	console   *console

	mine, theirs *connect.Hello
	mtu          int
	rows         []*Row
	report       *Document
}

// open opens the port.
func (x *session) open(log *slog.Logger) error {
	s := x.settings
	o := goroce.Options{
		Addrs: s.Addrs, Gateways: s.Gateways, Queues: s.Queues, Cores: s.Cores, Idle: s.Idle,
		EAL:  s.EAL,
		Pcap: s.Pcap, Seed: s.Seed, Log: log, Offload: s.Offload, AgentCores: s.agentCores(),
		LinkLocal: s.gidIndex() == 0,
		CM:        s.CM, // a client may be faster than the server's ListenCM
	}
	if s.events != nil {
		o.Trace = s.events
	}
	if len(s.Cores) > s.cores() {
		o.Cores = s.Cores[:s.cores()]
	}
	if s.inProcess() && x.server {
		o.Pcap = "" // the client records both directions
		o.Addrs = successors(s.Addrs)
		if s.Seed != 0 {
			o.Seed = s.Seed + 1<<32
		}
		o.Cores, o.AgentCores = s.otherEnd(o.Cores), s.otherEnd(o.AgentCores)
	}
	host, err := goroce.Open(s.Device, o)
	if err != nil {
		return err
	}
	x.host = host
	s.monitor.Add(host)
	if s.Connection == transport.UD && s.defaultSize {
		s.Size = min(s.Size, x.portMTU()) // a datagram, as in perftest
	}
	if largest := x.portMTU(); s.MTU > largest {
		return fmt.Errorf("--mtu %d: want at most %d on port %s", s.MTU, largest, s.Device)
	}
	return nil
}

// successors returns the addresses of the other end on loop:, each the next after one of ps.
func successors(ps []netip.Prefix) []netip.Prefix {
	var next []netip.Prefix
	for _, p := range ps {
		next = append(next, netip.PrefixFrom(p.Addr().Next(), p.Bits()))
	}
	return next
}

func (x *session) portMTU() int {
	return int(endpoint.PathMTUFor(x.host.Info(0).MTU))
}

// close releases everything. A port shared by both ends should not be closed while the other end
// closes it: DPDK's memif driver handles that on a thread of its own. So after a test the client
// closes first and signals it by closing the TCP connection, and the end that sees the other one
// gone waits for the driver to notice.
func (x *session) close() (err error) {
	if x.conn != nil {
		if x.report == nil || x.report.Interrupted {
			_ = x.conn.Close() // report the failure to the peer at once
		} else if x.server {
			select {
			case <-x.conn.gone:
			case <-time.After(farewell):
			}
		}
		if x.conn.isGone() {
			time.Sleep(settle)
		}
	}
	if x.cm != nil {
		x.cm.close()
		if x.conn != nil {
			_ = x.conn.Close() // it uses the port
		}
	}
	if x.host != nil {
		err = x.host.Close()
	}
	for _, l := range x.queueSets {
		l.release()
	}
	if x.conn != nil {
		_ = x.conn.Close() // harmless if closed already
	}
	return err
}

// run performs the whole test over an open port and a connection to the peer.
func (x *session) run(ctx context.Context, conn *peerConn) error {
	x.conn = conn
	setup, cancel := x.deadline(ctx)
	defer cancel()
	if err := x.identifyPeer(setup); err != nil {
		return err
	}
	if err := x.setup(setup); err != nil {
		return x.dialogue.sendError(ctx, "connected", err)
	}
	if err := x.dialogue.connected(ctx); err != nil {
		return err
	}
	x.noteWithout()
	x.console.header(x)
	for _, size := range x.settings.sizes(x.mtu) {
		row, err := x.measure(ctx, size)
		x.add(row)
		if err != nil {
			return err
		}
	}
	if err := x.dialogue.end(ctx); err != nil {
		return err
	}
	x.console.end(x)
	x.report = x.document()
	return nil
}

// setup exchanges settings and queue pairs with the peer and connects the queue pairs.
func (x *session) setup(ctx context.Context) error {
	s := x.settings
	x.mine = &connect.Hello{
		Addr: x.address(), PathMTU: int64(x.pathMTU()), RdAtomic: s.Outs,
		QPs: make([]connect.QP, s.QPs), Regions: make([]connect.Region, s.QPs),
	}
	flowSeed := uint32(x.host.Seed())
	if flowSeed == 0 {
		flowSeed = rand.Uint32()
	}
	for i := range s.Queues {
		l := &queueSet{host: x.host, index: i, settings: s, flowSeed: flowSeed}
		var numbers []int
		for n := i; n < s.QPs; n += s.Queues {
			numbers = append(numbers, n)
		}
		if err := l.create(numbers); err != nil {
			return x.dialogue.refuse(ctx, err)
		}
		l.hello(x.mine)
		x.queueSets = append(x.queueSets, l)
	}
	var err error
	if x.theirs, err = x.dialogue.trade(ctx, x.mine); err != nil {
		return err
	}
	x.mtu = int(min(x.mine.PathMTU, x.theirs.PathMTU))
	if s.Connection == transport.UD {
		x.mtu = x.portMTU() // a datagram has no path MTU
		if !s.All && s.Size > x.mtu {
			return fmt.Errorf("--size %d: want at most %d in a datagram of port %s", s.Size, x.mtu,
				s.Device)
		}
	}
	if err := x.waitLink(ctx); err != nil {
		return err
	}
	for _, l := range x.queueSets {
		if err := l.connect(x.mine, x.theirs); err != nil {
			return err
		}
		if err := x.waitNeighbor(ctx, l.index, x.theirs.Addr); err != nil {
			return err
		}
	}
	return nil
}

// address returns this end's address.
func (x *session) address() netip.Addr {
	if x.cm != nil {
		return x.cm.local
	}
	return x.host.Addrs()[x.settings.addressIndex()].Addr()
}

// gidIndex returns the index of this end's address in the table of --gid-index.
func (s *Settings) gidIndex() int {
	switch {
	case s.GIDIndex >= 0:
		return s.GIDIndex
	case s.IPv6:
		return 1 + slices.IndexFunc(s.Addrs, func(p netip.Prefix) bool { return p.Addr().Is6() })
	}
	return min(1, len(s.Addrs))
}

// addressIndex returns the same as an index of the host's addresses, where the link-local address
// is the last one.
func (s *Settings) addressIndex() int {
	if n := s.gidIndex(); n > 0 {
		return n - 1
	}
	return len(s.Addrs)
}

// connectsByCM reports whether the RDMA CM connects the queue pairs of the test.
func (s *Settings) connectsByCM() bool { return s.CM && !s.RegularPairs }

// waitNeighbor waits until endpoint i has resolved the peer's address, so that resolution is not
// measured.
func (x *session) waitNeighbor(ctx context.Context, i int, peer netip.Addr) error {
	for {
		known := false
		var failure error
		err := x.host.Do(i, func(ep *transport.Endpoint) {
			entry, err := ep.Setup().Neighbors().Resolve(peer, ep.Loop().Now())
			if failure = err; err == nil {
				_, known = entry.MAC()
			}
		})
		if err = errors.Join(err, failure); err != nil || known {
			return err
		}
		err = x.pause(ctx, fmt.Sprintf("no reply from %v on port %s", peer, x.settings.Device))
		if err != nil {
			return err
		}
	}
}

// pause waits a little. It returns an error if waiting longer is pointless.
func (x *session) pause(ctx context.Context, complaint string) error {
	var gone <-chan struct{}
	if x.conn != nil { // with -R there is none yet
		gone = x.conn.gone
	}
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-gone:
		return ErrPeerGone
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", complaint, context.Cause(ctx))
	}
}

// waitLink polls until the link is up: querying it also makes a memif client connect.
func (x *session) waitLink(ctx context.Context) error {
	if u, err := dpdk.ParseURL(x.settings.Device); err != nil || u.Scheme == dpdk.Null ||
		u.Scheme == dpdk.Pcap {
		return err // these have no other end
	}
	for {
		link, err := x.host.Device().Link()
		if err != nil || link.Up {
			return err
		}
		err = x.pause(ctx, fmt.Sprintf("no link on port %s: is the other end open?",
			x.settings.Device))
		if err != nil {
			return err
		}
	}
}

// add adds a row to the table, unless it is nil.
func (x *session) add(row *Row) {
	if row != nil {
		x.rows = append(x.rows, row)
		x.console.row(row)
	}
}

// finish ends a session whose run returned err, and returns all errors. If a signal ended the run,
// at this end or at the peer, it ends the table and makes the report first.
func (x *session) finish(ctx context.Context, err error) error {
	if err != nil && x.host != nil && x.report == nil {
		x.interrupted(ctx, err)
	}
	return errors.Join(err, x.close())
}

func (x *session) interrupted(ctx context.Context, err error) {
	_, here := cli.Interrupted(ctx)
	var there peerError
	if !here && !errors.Is(err, ErrPeerGone) &&
		!(errors.As(err, &there) && strings.HasPrefix(string(there), cli.Signal{}.Error())) {
		return
	}
	if x.theirs != nil {
		x.console.end(x)
	}
	x.report = x.document()
	x.report.Interrupted = true
}

// measure measures one message size together with the peer. After an interruption it returns a row
// of what was measured until then, besides the error.
func (x *session) measure(ctx context.Context, size int) (*Row, error) {
	r, err := x.newSizeRun(size)
	if err != nil {
		return nil, x.dialogue.sendError(ctx, "ready", err)
	}
	if err := x.dialogue.ready(ctx); err != nil {
		return nil, err
	}
	stop, unwatch := x.console.progress(x, r), x.console.watch(x, r)
	err = r.run(ctx)
	unwatch()
	stop()
	if err != nil {
		row := r.stop(err)
		return row, x.dialogue.sendError(context.WithoutCancel(ctx), "done", r.explain(err))
	}
	row, err := x.dialogue.conclude(ctx, r)
	if err != nil {
		row = r.stop(err)
		if _, here := cli.Interrupted(ctx); here {
			err = x.dialogue.sendError(context.WithoutCancel(ctx), "facts", err)
		}
	}
	return row, err
}

// runServer waits for a client and runs the test.
func runServer(ctx context.Context, s *Settings, c *console) (x *session, err error) {
	// Open the TCP port first: it fails faster.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", s.Port))
	if err != nil {
		return nil, fmt.Errorf("--port %d: %w", s.Port, err)
	}
	defer listener.Close()
	x = &session{settings: s, server: true, console: c}
	defer func() { err = x.finish(ctx, err) }()
	if err := x.open(c.log()); err != nil {
		return x, err
	}
	c.banner()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	tcp, err := accept(ctx, listener.Accept)
	if err != nil {
		return x, err
	}
	_ = listener.Close() // there is one client; refuse others
	return x, x.run(ctx, tcp)
}

// accept waits for a client that sends something.
func accept(ctx context.Context, next func() (net.Conn, error)) (*peerConn, error) {
	for {
		some, err := next()
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		conn := newPeerConn(some)
		patience, cancel := context.WithTimeout(ctx, silence)
		speaks := conn.speaks(patience)
		cancel()
		if speaks {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// runClient connects to a server and runs the test.
func runClient(ctx context.Context, s *Settings, c *console) (x *session, err error) {
	x = &session{settings: s, console: c}
	defer func() { err = x.finish(ctx, err) }()
	if err := x.open(c.log()); err != nil {
		return x, err
	}
	setup, cancel := x.deadline(ctx)
	tcp, err := connect.Dial(setup, net.JoinHostPort(s.Host, fmt.Sprint(s.Port)))
	cancel()
	if err != nil {
		return x, err
	}
	return x, x.run(ctx, newPeerConn(tcp))
}

// deadline returns a context for connecting.
func (x *session) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := x.settings.ConnectTimeout
	return context.WithTimeoutCause(ctx, limit.Std(),
		fmt.Errorf("not connected after --connect-timeout %v", limit))
}

// runInProcess runs both ends on a loop in this process. The client's results are printed.
func runInProcess(ctx context.Context, s *Settings, c *console) (*session, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	near, far := net.Pipe()
	client := &session{settings: s, console: c}
	server := &session{settings: s.withoutInstrument(), server: true, console: &console{}}
	ends := []*session{client, server}
	for _, x := range ends {
		if err := x.open(c.log()); err != nil {
			return client, errors.Join(client.finish(ctx, err), server.close())
		}
	}
	failed := make(chan error, len(ends))
	for i, tcp := range []net.Conn{near, far} {
		go func() {
			err := ends[i].run(ctx, newPeerConn(tcp))
			if err != nil {
				_ = tcp.Close() // end the other end's wait
			}
			failed <- err
		}()
	}
	err := errors.Join(causes(<-failed, <-failed)...)
	return client, errors.Join(client.finish(ctx, err), server.close())
}

// causes removes errors that only repeat the other end's.
func causes(errs ...error) []error {
	var own []error
	for _, err := range errs {
		var repeated peerError
		if err != nil && !errors.As(err, &repeated) && !errors.Is(err, ErrPeerGone) {
			if len(own) == 0 || own[0].Error() != err.Error() {
				own = append(own, err)
			}
		}
	}
	if own == nil {
		return errs
	}
	return own
}
