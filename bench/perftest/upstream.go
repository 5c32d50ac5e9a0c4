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

// upstream is the dialogue with linux-rdma's perftest: ib_write_bw and its kin. It says less than
// kindred: neither side learns the other's options, counters, or errors, and a program that fails
// just hangs up.
type upstream struct {
	x    *session
	said *handshake.Session
}

// goodbye is how long an ib_write_lat may take to see its last message acknowledged, and hang up.
// It is ours to acknowledge until then.
const goodbye = 2 * time.Second

// suitUpstream says what a perftest cannot do, and lays out memory as it expects it.
func (s *Settings) suitUpstream(agreed handshake.Hello) error {
	p := new(problems)
	cannot := func(wrong bool, flag string) {
		p.when(wrong, "%s: the peer is perftest %s, which cannot do that", flag, agreed.Version)
	}
	cannot(s.Validate, "--data_validation")
	cannot(s.WriteWithImm, "--write_with_imm")
	s.page, s.line, s.apart = int(agreed.Page), int(agreed.CacheLine), true
	return errors.Join(*p...)
}

func (u *upstream) trade(ctx context.Context, mine *connect.Hello) (*connect.Hello, error) {
	s, agreed := u.x.settings, u.said.Agreed
	if s.CM {
		var err error
		if agreed.PathMTU, err = u.connectPairs(ctx); err != nil {
			return nil, u.x.lost(ctx, err)
		}
	}
	reads := 1 // what perftest says with the other verbs
	if s.Test.oneSided() {
		reads = mine.RdAtomic
	}
	said := make([]handshake.Destination, s.QPs)
	for i, q := range mine.QPs {
		said[i] = handshake.Destination{
			OutReads: uint16(reads), QPN: q.Num, PSN: q.PSN, RKey: mine.Regions[i].RKey,
			Addr: mine.Regions[i].Addr, GID: mine.Addr,
		}
	}
	heard, err := u.said.Exchange(ctx, said)
	if err != nil {
		return nil, u.x.lost(ctx, err)
	}
	theirs := &connect.Hello{Addr: heard[0].GID, PathMTU: int64(agreed.PathMTU),
		RdAtomic: int(heard[0].OutReads)}
	if s.CM {
		theirs.Addr = u.x.cm.peer
	}
	for _, d := range heard {
		theirs.QPs = append(theirs.QPs, connect.QP{Num: d.QPN, PSN: d.PSN})
		theirs.Regions = append(theirs.Regions,
			connect.Region{Addr: d.Addr, Len: uint64(max(s.largest(), s.page)), RKey: d.RKey})
	}
	return theirs, nil
}

// connectPairs has the RDMA CM connect the queue pairs, between two barriers, and answers their
// path MTU.
func (u *upstream) connectPairs(ctx context.Context) (units.Bytes, error) {
	if err := u.said.Barrier(ctx); err != nil {
		return 0, err
	}
	mtu, err := u.x.cm.connectPairs(ctx, u.said.Agreed.PathMTU)
	if err != nil {
		return 0, err
	}
	return mtu, u.said.Barrier(ctx)
}

func (u *upstream) connected(ctx context.Context) error {
	return u.x.lost(ctx, u.said.Connected(ctx))
}

func (u *upstream) ready(ctx context.Context) error { return u.x.lost(ctx, u.said.Ready(ctx)) }

// refuse and tell have no words for it.
func (u *upstream) refuse(_ context.Context, err error) error { return err }

func (u *upstream) tell(_ context.Context, _ string, err error) error { return err }

// conclude waits for what the peer sends of its own accord, and trades reports.
func (u *upstream) conclude(ctx context.Context, r *round) (*Row, error) {
	s := u.x.settings
	if !r.active() && len(r.passive) == 0 {
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
	theirs, err := u.said.Done(ctx, mine, r.size == sizes[len(sizes)-1])
	if err != nil {
		return nil, u.x.lost(ctx, err)
	}
	if err := r.finish(u.sent(r)); err != nil {
		return nil, err
	}
	return r.joined(row, theirs), nil
}

// await returns when the peer has sent what it sends of its own accord.
func (u *upstream) await(ctx context.Context, r *round) error {
	switch s := u.x.settings; {
	case r.active(), s.Test.oneSided(), len(r.passive) == 0:
		return nil // Done waits
	case r.ping != nil:
		return u.answered(ctx, r)
	}
	if !u.x.conn.speaks(ctx) { // the client's next words are its last
		return u.x.lost(ctx, context.Cause(ctx))
	}
	return nil
}

var errUnexpectedSend = errors.New(
	"the peer SENDs, which this test has no receives for; does it run the same test?")

// watch ends ctx when a client SENDs to whom the endpoint answers without a program. It would wait
// for ever, and so should we: its requests are answered "not ready", and perftest retries those
// without end.
func (r *round) watch(ctx context.Context) (context.Context, context.CancelCauseFunc) {
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
				if r.unready() {
					cancel(errUnexpectedSend)
				}
			}
		}
	}()
	return ctx, cancel
}

// unready says whether a SEND came that there was no receive for.
func (r *round) unready() (yes bool) {
	for i, l := range r.x.lanes {
		_ = l.do(func(ep *transport.Endpoint) error {
			now := ep.Counters()
			yes = yes || now.RNRSent > r.before[i].RNRSent ||
				now.UnreliableNoRecv > r.before[i].UnreliableNoRecv
			return nil
		})
	}
	return yes
}

// answered waits until the server's half of a ping-pong has had its last round. Nothing tells a
// client's end but that it hangs up.
func (u *upstream) answered(ctx context.Context, r *round) error {
	ended := r.passive[0]
	select {
	case <-ended:
	case <-u.x.conn.gone:
		select {
		case <-ended: // what it sent before that has come
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

// sent is how many messages the peer sends on each queue pair, if that is certain.
func (u *upstream) sent(r *round) []uint64 {
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

func (u *upstream) end(ctx context.Context) error {
	if err := u.said.Finish(ctx); err != nil {
		return u.x.lost(ctx, err)
	}
	if t := u.x.settings.Test; t.Kind == Latency && t.Verb == Write { // which has no last words
		select {
		case <-u.x.conn.gone:
		case <-time.After(goodbye):
		case <-ctx.Done():
		}
	}
	return nil
}

// joined is what is shown of a round with an upstream peer: what this end measured, with what the
// peer did in the other direction; or else what arrived here, or the peer's report.
func (r *round) joined(mine *Row, theirs *handshake.Report) *Row {
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
	row.Totals = r.totals()
	row.CPU, row.GC = r.usage.until(usageNow())
	return row
}

func rates(r *handshake.Report) *BandwidthRow {
	return &BandwidthRow{Peak: r.Peak, Average: r.Average, MsgRate: r.MsgRate}
}

// errGone says that the peer has gone, and how that was noticed.
func errGone(err error) error {
	if err == nil || errors.Is(err, ErrPeerGone) {
		return err
	}
	return fmt.Errorf("%w (%w)", ErrPeerGone, err)
}
