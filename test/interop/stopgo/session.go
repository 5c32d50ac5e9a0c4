package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/connect/perftest"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Parameters of perftest's programs and of our queue pair.
const (
	pageSize, cacheLine = 4 * units.KiB, 64
	ackTimeout          = 16 // 0.27 s: an emulated guest can be silent for long
	retries             = 7
	rnrTimer            = 12 // 0.64 ms
	rdAtomic            = 1
	maxMessages         = 1000
)

// run runs the exchange and waits for over before it ends the handshake.
func (s *settings) run(ctx context.Context, over <-chan struct{}, out io.Writer) (err error) {
	host, err := goroce.Open(s.device, goroce.Options{Addrs: []netip.Prefix{s.ip}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	x := &exchange{settings: s, flow: &flow{size: s.size, probes: s.probes}}
	if err := do(host, x.create); err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.peer)
	if err != nil {
		return err
	}
	defer conn.Close()
	said, err := perftest.Connect(ctx, conn, perftest.Test{Verb: s.verb},
		perftest.Hello{Page: pageSize, CacheLine: cacheLine, PathMTU: s.mtu})
	if err != nil {
		return err
	}
	theirs, err := said.Exchange(ctx, []perftest.Destination{x.mine})
	if err != nil {
		return err
	}
	x.theirs = theirs[0]
	if err := do(host, func(*transport.Endpoint) error {
		return x.connect(said.Agreed.PathMTU)
	}); err != nil {
		return err
	}
	if err := errors.Join(said.Connected(ctx), said.Ready(ctx)); err != nil {
		return err
	}
	ended, err := host.Run(0, x)
	if err != nil {
		return err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("%d of %d messages completed in time", x.completed, s.messages)
	}
	for _, stop := range x.flow.stops {
		fmt.Fprintln(out, stop)
	}
	if x.err != nil {
		return x.err
	}
	fmt.Fprintln(out, x.flow.sum())
	if err := do(host, x.sound); err != nil {
		return err
	}
	fmt.Fprintf(out, "moved %d messages of %d bytes, at %#x in the peer, SHA-256 %x; queue pair "+
		"in %v\n", s.messages, int64(s.size),
		x.theirs.Addr, sha256.Sum256(x.mr.Bytes()), x.qp.State())
	select {
	case <-over:
	case <-ctx.Done():
	}
	_, err = said.Done(ctx, perftest.Report{}, true)
	return errors.Join(err, said.Finish(ctx))
}

// do runs f on the polling core.
func do(host *goroce.Host, f func(*transport.Endpoint) error) error {
	var failure error
	err := host.Do(0, func(ep *transport.Endpoint) { failure = f(ep) })
	return errors.Join(err, failure)
}

// exchange is the goroce.Program that moves the messages, one after another.
type exchange struct {
	settings     *settings
	flow         *flow
	qp           *transport.QueuePair
	cq           *transport.CompletionQueue
	mr           *transport.MemoryRegion
	mine, theirs perftest.Destination

	posted, completed int
	err               error
}

// create creates the queue pair and its memory.
func (x *exchange) create(ep *transport.Endpoint) (err error) {
	s, pd := x.settings, ep.AllocPD()
	if x.cq, err = ep.CreateCQ(16); err != nil {
		return err
	}
	memory := make([]byte, s.size)
	if s.verb != perftest.Read {
		rng := rand.New(rand.NewPCG(uint64(s.size), uint64(s.verb)))
		for i := range memory {
			memory[i] = byte(rng.Uint32())
		}
	}
	if x.mr, err = ep.RegisterMemory(pd, memory, transport.LocalWrite); err != nil {
		return err
	}
	x.qp, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: pd, SendCQ: x.cq, RecvCQ: x.cq,
		MaxSendWR: 1, Algorithm: x.flow})
	if err != nil {
		return err
	}
	x.mine = perftest.Destination{OutReads: rdAtomic, QPN: uint32(x.qp.Num),
		PSN:  ep.Setup().RandomPSN(),
		RKey: x.mr.RKey, Addr: x.mr.Addr,
		GID: s.ip.Addr()}
	return nil
}

// connect connects the queue pair. The peer does not know extensions.
func (x *exchange) connect(mtu units.Bytes) error {
	return x.qp.Connect(transport.QPAttr{Path: transport.AddressVector{IP: x.theirs.GID,
		Source: x.mine.GID},
		PathMTU: mtu, DestQPN: wire.QPN(x.theirs.QPN),
		RecvPSN: wire.PSN(x.theirs.PSN), MaxDestRdAtomic: rdAtomic, MinRNRTimer: rnrTimer,
		SendPSN: wire.PSN(x.mine.PSN), Timeout: ackTimeout, RetryCount: retries,
		RNRRetry: retries, MaxRdAtomic: rdAtomic})
}

// Step implements goroce.Program.
func (x *exchange) Step(_ *transport.Endpoint, _ units.Time) (busy, done bool) {
	var wcs [1]transport.WorkCompletion
	for x.cq.Poll(wcs[:]) > 0 && x.err == nil {
		if x.completed++; wcs[0].Status != transport.StatusSuccess {
			x.err = fmt.Errorf("message %d: %v", x.completed, wcs[0].Status)
		}
	}
	if x.err == nil && x.posted == x.completed && x.posted < x.settings.messages {
		x.posted++
		x.err = x.qp.PostSend(&transport.WorkRequest{Op: ops[x.settings.verb],
			Signaled: true, RemoteAddr: x.theirs.Addr, RKey: x.theirs.RKey,
			SGList: []transport.SGE{x.mr.SGE(0, int(x.settings.size))}})
		return true, x.err != nil
	}
	return false, x.err != nil || x.completed == x.settings.messages
}

var ops = map[perftest.Verb]transport.Op{perftest.Write: transport.OpWrite,
	perftest.Send: transport.OpSend, perftest.Read: transport.OpRead}

// sound returns what is wrong although all messages completed.
func (x *exchange) sound(ep *transport.Endpoint) error {
	switch stops, c := x.flow.stops, ep.Stats(); {
	case x.qp.State() != transport.ReadyToSend:
		return fmt.Errorf("the queue pair is in %v", x.qp.State())
	case len(stops) != 2*x.settings.messages:
		return fmt.Errorf("%d stops, want two for each of %d messages", len(stops),
			x.settings.messages)
	case x.settings.verb == perftest.Read && bytes.Equal(x.mr.Bytes(),
		make([]byte, x.settings.size)):
		return errors.New("nothing was read")
	case c.RemoteErrors > 0:
		return fmt.Errorf("the peer refused %d requests", c.RemoteErrors)
	}
	return nil
}
