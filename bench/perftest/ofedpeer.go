package perftest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goroce/goroce/internal/connect"
	handshake "github.com/goroce/goroce/internal/connect/perftest"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// ofedPeer is the dialogue with linux-rdma's perftest (ib_write_bw and others). It carries less
// than nativePeer: neither end learns the other's options, counters or errors, and a failing
// program just hangs up.
type ofedPeer struct {
	x        *session
	protocol *handshake.Session
}

// hangupTimeout is how long an ib_write_lat may take to receive the ACK of its last message and
// hang up. Until then this end must be able to retransmit that ACK.
const hangupTimeout = 2 * time.Second

// adaptToOFED checks that perftest supports the settings, and adopts its memory layout.
func (s *Settings) adaptToOFED(agreed handshake.Hello) error {
	p := new(problems)
	cannot := func(wrong bool, flag string) {
		p.when(wrong, "%s: not supported by the peer, perftest %s", flag, agreed.Version)
	}
	cannot(s.Validate, "--data_validation")
	cannot(s.WriteWithImm, "--write_with_imm")
	s.page, s.line, s.withOFED = int(agreed.Page), int(agreed.CacheLine), true
	return errors.Join(*p...)
}

func (u *ofedPeer) trade(ctx context.Context, mine *connect.Hello) (*connect.Hello, error) {
	s, agreed := u.x.settings, u.protocol.Agreed
	if s.connectsByCM() {
		var err error
		if agreed.PathMTU, err = u.connectPairs(ctx); err != nil {
			return nil, u.x.lost(ctx, err)
		}
	}
	reads := 1 // the value of perftest with the other verbs
	if s.Test.isOneSided() {
		reads = mine.RdAtomic
	}
	ours := make([]handshake.Destination, s.QPs)
	for i, q := range mine.QPs {
		ours[i] = handshake.Destination{
			OutReads: uint16(reads), QPN: q.Num, PSN: q.PSN, RKey: mine.Regions[i].RKey,
			Addr: mine.Regions[i].Addr, GID: mine.Addr,
		}
	}
	remote, err := u.protocol.Exchange(ctx, ours)
	if err != nil {
		return nil, u.x.lost(ctx, err)
	}
	theirs := &connect.Hello{Addr: remote[0].GID, PathMTU: int64(agreed.PathMTU),
		RdAtomic: int(remote[0].OutReads)}
	if s.CM {
		theirs.Addr = u.x.cm.peer
	}
	for _, d := range remote {
		theirs.QPs = append(theirs.QPs, connect.QP{Num: d.QPN, PSN: d.PSN})
		theirs.Regions = append(theirs.Regions,
			connect.Region{Addr: d.Addr, Len: uint64(max(s.largest(), s.page)), RKey: d.RKey})
	}
	return theirs, nil
}

// connectPairs connects the queue pairs through the RDMA CM between two barriers, and returns their
// path MTU.
func (u *ofedPeer) connectPairs(ctx context.Context) (units.Bytes, error) {
	if err := u.protocol.Barrier(ctx); err != nil {
		return 0, err
	}
	mtu, err := u.x.cm.connectPairs(ctx, u.protocol.Agreed.PathMTU)
	if err != nil {
		return 0, err
	}
	return mtu, u.protocol.Barrier(ctx)
}

func (u *ofedPeer) connected(ctx context.Context) error {
	return u.x.lost(ctx, u.protocol.Connected(ctx))
}

func (u *ofedPeer) ready(ctx context.Context) error { return u.x.lost(ctx, u.protocol.Ready(ctx)) }

// refuse and sendError only return the error: the protocol cannot carry it.
func (u *ofedPeer) refuse(_ context.Context, err error) error { return err }

func (u *ofedPeer) sendError(_ context.Context, _ string, err error) error { return err }

// conclude waits for what the peer sends on its own initiative, and exchanges reports.
func (u *ofedPeer) conclude(ctx context.Context, r *sizeRun) (*Row, error) {
	s := u.x.settings
	if !r.isActive() && len(r.passive) == 0 {
		var stop context.CancelCauseFunc
		ctx, stop = r.watch(ctx)
		defer stop(nil)
	}
	if err := u.await(ctx, r); err != nil {
		return nil, err
	}
	var mine handshake.Report
	row := r.row()
	if row != nil && row.BandwidthRow != nil {
		mine = handshake.Report{
			Size: units.Bytes(r.size), Iterations: row.Iterations, Peak: row.Peak,
			Average: row.Average, MsgRate: row.MsgRate,
		}
	}
	sizes := s.sizes(u.x.mtu)
	theirs, err := u.protocol.Done(ctx, mine, r.size == sizes[len(sizes)-1])
	if err != nil {
		return nil, u.x.lost(ctx, err)
	}
	if err := r.finish(u.sent(r), 0); err != nil {
		return nil, err
	}
	return r.joined(row, theirs), nil
}

// await returns when the peer has sent what it sends on its own initiative.
func (u *ofedPeer) await(ctx context.Context, r *sizeRun) error {
	switch s := u.x.settings; {
	case r.isActive(), s.Test.isOneSided(), len(r.passive) == 0:
		return nil // Done waits
	case r.ping != nil:
		return u.answered(ctx, r)
	}
	if !u.x.conn.speaks(ctx) { // the client's next message is its last
		return u.x.lost(ctx, context.Cause(ctx))
	}
	return nil
}

var errUnexpectedSend = errors.New(
	"the peer SENDs, which this test has no receives for; does it run the same test?")

// watch ends ctx when a client SENDs in a test without a receiving program. Otherwise both ends
// would wait forever: each SEND gets an RNR NAK, which perftest retries without limit.
func (r *sizeRun) watch(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	const often = 200 * time.Millisecond
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(often)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if r.receivedWithoutRecv() {
					cancel(errUnexpectedSend)
				}
			}
		}
	}()
	return ctx, cancel
}

// receivedWithoutRecv reports whether a SEND arrived without a posted receive.
func (r *sizeRun) receivedWithoutRecv() (yes bool) {
	for i, l := range r.x.queueSets {
		_ = l.do(func(ep *transport.Endpoint) error {
			now := ep.Stats()
			yes = yes || now.RNRSent > r.before[i].RNRSent ||
				now.UnreliableNoRecv > r.before[i].UnreliableNoRecv
			return nil
		})
	}
	return yes
}

// answered waits until the server's half of a ping-pong has finished its last round. A client
// signals its end only by hanging up.
func (u *ofedPeer) answered(ctx context.Context, r *sizeRun) error {
	ended := r.passive[0]
	select {
	case <-ended:
	case <-u.x.conn.gone:
		select {
		case <-ended: // the last messages before the hang-up have arrived
		case <-time.After(settle):
			if u.x.settings.Duration == 0 {
				return ErrPeerGone
			}
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return r.ping.err
}

// sent returns how many messages the peer sends on each queue pair, nil if unknown.
func (u *ofedPeer) sent(r *sizeRun) []uint64 {
	s := u.x.settings
	if len(r.receivers) == 0 || s.Duration > 0 {
		return nil
	}
	sent := make([]uint64, s.QPs)
	for i := range sent {
		sent[i] = uint64(s.Iters)
	}
	return sent
}

func (u *ofedPeer) end(ctx context.Context) error {
	if err := u.protocol.Finish(ctx); err != nil {
		return u.x.lost(ctx, err)
	}
	// its protocol has no final message
	if t := u.x.settings.Test; t.Kind == Latency && t.Verb == Write {
		select {
		case <-u.x.conn.gone:
		case <-time.After(hangupTimeout):
		case <-ctx.Done():
		}
	}
	return nil
}

// joined returns the row to print with an OFED peer: this end's measurement, plus the peer's in the
// other direction; without one the received messages, or the peer's report.
func (r *sizeRun) joined(mine *Row, theirs *handshake.Report) *Row {
	s, row := r.x.settings, mine
	switch {
	case mine == nil && len(r.receivers) > 0:
		row = &Row{MsgSize: r.size, BandwidthRow: &BandwidthRow{},
			Lost: r.expected - min(r.expected, r.received())}
		s.receivedRow(row, r.receivers)
	case mine == nil && theirs != nil:
		row = &Row{MsgSize: r.size, Iterations: theirs.Iterations, BandwidthRow: rates(theirs)}
	case mine == nil:
		return nil
	case theirs != nil:
		both := rates(theirs)
		row.Peak += both.Peak
		row.Average += both.Average
		row.MsgRate += both.MsgRate
	}
	row.Totals, row.CutOff = r.totals(), r.cutOff()
	row.CPU, row.GC = r.usage.until(usageNow())
	return row
}

func rates(r *handshake.Report) *BandwidthRow {
	return &BandwidthRow{Peak: r.Peak, Average: r.Average, MsgRate: r.MsgRate}
}

// errGone returns err wrapped as ErrPeerGone.
func errGone(err error) error {
	if err == nil || errors.Is(err, ErrPeerGone) {
		return err
	}
	return fmt.Errorf("%w (%w)", ErrPeerGone, err)
}
