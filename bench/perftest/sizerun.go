package perftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/transport"
)

// sizeRun is the measurement of one message size: the programs that run on the endpoints.
type sizeRun struct {
	x    *session
	size int

	senders   []*sender
	receivers []*receiver
	ping      *pingpong // this end's half
	passive   []<-chan struct{}
	active    []<-chan struct{}

	expected uint64 // messages that the peer sent
	cut      uint64 // of these, outstanding when the peer's time was over

	before []transport.Stats
	polled []polled // when the programs started
	gaps   PollGaps // until they ended
	usage  usage
}

// isActive reports whether this end sends on its own initiative.
func (r *sizeRun) isActive() bool { return !r.x.server || r.x.settings.Bidirectional }

// startsPingPong reports whether this end sends the first message of a ping-pong: the server in
// ib_write_lat (perftest 4.5, run_iter_lat_write), otherwise the client.
func (x *session) startsPingPong() bool {
	s := x.settings
	return x.server == (s.withOFED && s.Test.Verb == Write)
}

// newSizeRun makes the programs, and starts the reacting ones: they must run before the peer
// starts.
func (x *session) newSizeRun(size int) (*sizeRun, error) {
	r := &sizeRun{x: x, size: size}
	s := x.settings
	for _, l := range x.queueSets {
		err := l.do(func(ep *transport.Endpoint) error {
			if !s.withOFED { // an OFED peer may have started already
				l.fillTargets(size)
			}
			r.before = append(r.before, ep.Stats())
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.Test.Kind == Latency {
			continue
		}
		if r.isActive() {
			r.senders = append(r.senders, l.newSender(size))
		}
		if s.usesReceives() && (x.server || s.Bidirectional) {
			m := l.newReceiver(size)
			r.receivers = append(r.receivers, m)
			if err := r.start(l, m); err != nil {
				return nil, err
			}
		}
	}
	if s.Test.Kind == Latency {
		r.ping = x.queueSets[0].newPingPong(size, x.startsPingPong())
		if x.server && !s.Test.isOneSided() {
			if err := r.start(x.queueSets[0], r.ping); err != nil {
				return nil, err
			}
		}
	}
	r.usage = usageNow()
	return r, r.beginGaps()
}

func (r *sizeRun) start(l *queueSet, p goroce.Program) error {
	ended, err := r.x.host.Run(l.index, p)
	r.passive = append(r.passive, ended)
	return err
}

// run starts the active programs of this end and waits for their end.
func (r *sizeRun) run(ctx context.Context) error {
	if !r.isActive() {
		return nil
	}
	if err := r.beginGaps(); err != nil { // restart: the peer may have been slow
		return err
	}
	var ended []<-chan struct{}
	for i, l := range r.x.queueSets {
		var p goroce.Program = r.ping
		if r.ping == nil {
			p = r.senders[i]
		}
		done, err := r.x.host.Run(l.index, p)
		if err != nil {
			return err
		}
		ended = append(ended, done)
	}
	r.active = ended
	if err := r.wait(ctx); err != nil {
		return err
	}
	r.gaps = r.endGaps()
	if r.ping != nil {
		return r.ping.err
	}
	for _, m := range r.senders {
		if m.err != nil {
			return m.err
		}
	}
	return nil
}

// wait waits for the end of the active programs. With --run_infinitely it prints a row
// periodically.
func (r *sizeRun) wait(ctx context.Context) error {
	var tick <-chan time.Time
	if s := r.x.settings; s.Infinitely {
		t := time.NewTicker(s.Duration.Std())
		defer t.Stop()
		tick = t.C
	}
	for i := 0; i < len(r.active); {
		select {
		case <-r.active[i]:
			i++
		case <-tick:
			if err := r.interval(); err != nil {
				return err
			}
		case <-r.x.conn.gone:
			select {
			case <-r.active[i]: // an OFED peer hangs up after the ping-pong's last message
				i++
			case <-time.After(settle):
				return ErrPeerGone
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// interval adds a row of what was measured since the last one.
func (r *sizeRun) interval() error {
	senders := make([]*sender, len(r.senders))
	for i, l := range r.x.queueSets {
		fresh := newLatencies()
		err := l.do(func(*transport.Endpoint) error {
			senders[i] = r.senders[i].interval(fresh)
			return nil
		})
		if err != nil {
			return err
		}
	}
	row := r.x.settings.bandwidthRow(r.size, r.x.queueSets, senders)
	row.latencies = nil // not for all rows of a long run
	row.Totals = r.totals()
	row.CPU, row.GC = r.usage.until(usageNow())
	r.usage = usageNow()
	r.x.add(row)
	for i, l := range r.x.queueSets {
		err := l.do(func(ep *transport.Endpoint) error { r.before[i] = ep.Stats(); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// stop ends the programs of a run that err ended, and returns a row of what this end measured; nil
// if nothing, or if the run failed by itself.
func (r *sizeRun) stop(err error) *Row {
	var signal cli.Signal
	var there peerError
	if !errors.As(err, &signal) && !errors.As(err, &there) && !errors.Is(err, ErrPeerGone) {
		return nil
	}
	for i, l := range r.x.queueSets {
		_ = l.do(func(*transport.Endpoint) error {
			r.halt(i)
			return nil
		})
	}
	for _, ended := range slices.Concat(r.active, r.passive) {
		select {
		case <-ended:
		case <-time.After(farewell): // the port is gone
			return nil
		}
	}
	row := r.row()
	if row == nil && len(r.receivers) > 0 {
		row = &Row{MsgSize: r.size, BandwidthRow: &BandwidthRow{}}
		r.x.settings.receivedRow(row, r.receivers)
	}
	if row == nil || row.Iterations == 0 {
		return nil
	}
	row.Totals = r.totals()
	row.CPU, row.GC = r.usage.until(usageNow())
	return row
}

// halt ends the programs on queue set i.
func (r *sizeRun) halt(i int) {
	if len(r.receivers) > 0 {
		r.receivers[i].halt = true
	}
	if len(r.senders) > 0 {
		r.senders[i].settleAll(r.senders[i].clock())
		r.senders[i].halt = true
	}
	if r.ping != nil {
		r.ping.halt = true
	}
}

// explain adds the transport's counters to an error.
func (r *sizeRun) explain(err error) error {
	if errors.Is(err, errFlushed) && r.x.cm.peerLeft() {
		return ErrPeerGone
	}
	t := r.totals()
	if t == (Totals{}) || errors.Is(err, ErrPeerGone) {
		return err
	}
	return fmt.Errorf("%w (%v)", err, t)
}

// sent returns how many messages each queue pair of this end sent.
func (r *sizeRun) sent() []uint64 {
	n := make([]uint64, r.x.settings.QPs)
	for i, m := range r.senders {
		for j := range m.streams {
			n[r.x.queueSets[i].pairs[j].number] = m.streams[j].posted
		}
	}
	return n
}

// cutOff returns how many of the sent messages were outstanding when the time was over.
func (r *sizeRun) cutOff() (n uint64) {
	for _, m := range r.senders {
		n += m.cut
	}
	return n
}

// Limits of waiting for outstanding messages at a receiver.
const (
	lingerStep  = time.Millisecond
	lingerQuiet = 20  // steps without a message after which no more is expected
	lingerMost  = 500 // steps
)

// finish ends the reacting programs after the peer has sent the given numbers of messages on each
// queue pair (nil: unknown), cut of them without an acknowledgement, and validates the data.
func (r *sizeRun) finish(sent []uint64, cut uint64) error {
	r.cut = cut
	for _, n := range sent {
		r.expected += n
	}
	if len(r.receivers) > 0 {
		r.linger()
	}
	for i, l := range r.x.queueSets {
		err := l.do(func(*transport.Endpoint) error {
			r.halt(i)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, ended := range r.passive {
		<-ended
	}
	return r.verdict(sent)
}

// linger waits until all messages have arrived, or no more arrive.
func (r *sizeRun) linger() {
	last, quiet := uint64(0), 0
	for step := 0; step < lingerMost; step++ {
		count := uint64(0)
		for i, l := range r.x.queueSets {
			_ = l.do(func(*transport.Endpoint) error { count += r.receivers[i].count; return nil })
		}
		if quiet++; count != last {
			last, quiet = count, 0
		}
		if r.x.settings.Work > 0 && quiet == 0 {
			step = 0 // a backlog is being processed
		}
		if count >= r.expected || quiet > lingerQuiet {
			return
		}
		time.Sleep(lingerStep)
	}
}

// verdict returns an error if the receiving end failed.
func (r *sizeRun) verdict(sent []uint64) error {
	s := r.x.settings
	if r.ping != nil && r.ping.err != nil {
		return r.ping.err
	}
	for _, m := range r.receivers {
		if m.err != nil {
			return m.err
		}
	}
	if n := r.received(); s.Connection == transport.RC && len(r.receivers) > 0 && sent != nil &&
		(n > r.expected || n < r.expected-r.cut) {
		return fmt.Errorf("%d of %d messages arrived", n, r.expected-r.cut)
	}
	if r.cut == 0 && s.Validate && s.Test.Verb == Write && s.Test.Kind == Bandwidth &&
		!s.WriteWithImm {
		for _, l := range r.x.queueSets {
			err := l.do(func(ep *transport.Endpoint) error {
				if ep.Stats().UCLost > 0 {
					return nil // after packet loss torn data is legal with UC
				}
				return l.checkTargets(r.size, sent)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *sizeRun) received() (n uint64) {
	for _, m := range r.receivers {
		n += m.count
	}
	return n
}

// row returns this end's measurement, nil if it did not measure.
func (r *sizeRun) row() *Row {
	s := r.x.settings
	switch {
	case r.ping != nil && (r.isActive() || r.ping.latencies.n > 0):
		row := s.latencyRow(r.size, r.x.queueSets[0], r.ping)
		row.PollGaps = r.gaps
		return row
	case len(r.senders) == 0:
		return nil
	}
	row := s.bandwidthRow(r.size, r.x.queueSets, r.senders)
	row.PollGaps = r.gaps
	return row
}

// totals returns this end's counters.
func (r *sizeRun) totals() (t Totals) {
	for i, l := range r.x.queueSets {
		_ = l.do(func(ep *transport.Endpoint) error {
			t.add(totalsOf(ep.Stats()).since(totalsOf(r.before[i])))
			return nil
		})
	}
	return t
}

// combine joins both ends' results in the row to print.
func (r *sizeRun) combine(mine *Row, totals Totals, facts map[string]string) (*Row, error) {
	s := r.x.settings
	var theirs *Row
	var counted Totals
	var arrived uint64
	var work *WorkRow
	for fact, to := range map[string]any{factRow: &theirs, factTotals: &counted,
		factReceived: &arrived, factWork: &work} {
		if fact == factWork && facts[fact] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(facts[fact]), to); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", connect.ErrMalformed, fact, err)
		}
	}
	lacking := func(row *Row) bool {
		latency := s.Test.Kind == Latency
		return row == nil || (row.BandwidthRow == nil) != latency ||
			(row.LatencyRow == nil) == latency
	}
	if mine == nil && lacking(theirs) || s.Bidirectional && lacking(theirs) {
		return nil, fmt.Errorf("%w: no result", connect.ErrMalformed)
	}
	row := mine
	sent := uint64(0)
	for _, n := range r.sent() {
		sent += n
	}
	switch {
	case mine == nil:
		row = theirs
		row.PollGaps = row.seenFrom(r.endGaps())
		if len(r.receivers) > 0 {
			row.Lost = r.expected - min(r.expected, r.received()+r.cut)
			s.receivedRow(row, r.receivers)
		}
	case s.Bidirectional:
		row.Peak += theirs.Peak
		row.Average += theirs.Average
		row.MsgRate += theirs.MsgRate
		row.PerQP = append(row.PerQP, theirs.PerQP...)
		row.Jain = jain(row.PerQP)
	}
	if mine != nil && s.usesReceives() && s.Test.Kind == Bandwidth {
		row.Lost = sent - min(sent, arrived+r.cutOff())
	}
	row.CutOff = r.cut + r.cutOff()
	if row.Work = r.worked(); row.Work == nil {
		row.Work = work
	}
	row.Totals = totals
	row.Totals.add(counted)
	row.CPU, row.GC = r.usage.until(usageNow())
	return row, nil
}
