package perftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/connect"
	"github.com/goroce/goroce/transport"
)

// round is the measurement of one message size: the programs that run on the lanes.
type round struct {
	x    *session
	size int

	senders   []*sender
	receivers []*receiver
	ping      *pingpong // client's half, or server's
	passive   []<-chan struct{}

	expected uint64 // messages that the peer sent

	before []transport.Counters
	polled []polled // when the programs began
	gaps   PollGaps // until they ended
	usage  usage
}

// active says whether this end sends of its own accord.
func (r *round) active() bool { return !r.x.server || r.x.settings.Bidirectional }

// begins says whether this end sends the first message of a ping-pong. In ib_write_lat the server
// does (perftest 4.5, run_iter_lat_write), everywhere else the client.
func (x *session) begins() bool {
	s := x.settings
	return x.server == (s.apart && s.Test.Verb == Write)
}

// newRound makes the programs, and starts those that only react: they must run before the peer
// begins.
func (x *session) newRound(size int) (*round, error) {
	r := &round{x: x, size: size}
	s := x.settings
	for _, l := range x.lanes {
		err := l.do(func(ep *transport.Endpoint) error {
			if !s.apart { // a perftest may have begun already
				l.fillTargets(size)
			}
			r.before = append(r.before, ep.Counters())
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.Test.Kind == Latency {
			continue
		}
		if r.active() {
			r.senders = append(r.senders, l.newSender(size))
		}
		if s.receives() && (x.server || s.Bidirectional) {
			m := l.newReceiver(size)
			r.receivers = append(r.receivers, m)
			if err := r.start(l, m); err != nil {
				return nil, err
			}
		}
	}
	if s.Test.Kind == Latency {
		r.ping = x.lanes[0].newPingPong(size, x.begins())
		if x.server && !s.Test.oneSided() {
			if err := r.start(x.lanes[0], r.ping); err != nil {
				return nil, err
			}
		}
	}
	r.usage = usageNow()
	return r, r.beginGaps()
}

func (r *round) start(l *lane, p goroce.Program) error {
	ended, err := r.x.host.Run(l.index, p)
	r.passive = append(r.passive, ended)
	return err
}

// run lets the programs of this end go, and waits for their end.
func (r *round) run(ctx context.Context) error {
	if !r.active() {
		return nil
	}
	if err := r.beginGaps(); err != nil { // again: the peer may have needed its time
		return err
	}
	var ended []<-chan struct{}
	for i, l := range r.x.lanes {
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
	for _, done := range ended {
		select {
		case <-done:
		case <-r.x.conn.gone:
			select {
			case <-done: // a perftest hangs up after a ping-pong, and we have seen its last message
			case <-time.After(settle):
				return ErrPeerGone
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
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

// explain adds to an error of the transport what was counted on the way there.
func (r *round) explain(err error) error {
	if errors.Is(err, errFlushed) && r.x.cm.left() {
		return ErrPeerGone
	}
	t := r.totals()
	if t == (Totals{}) || errors.Is(err, ErrPeerGone) {
		return err
	}
	return fmt.Errorf("%w (%v)", err, t)
}

// sent is how many messages each queue pair of this end sent.
func (r *round) sent() []uint64 {
	n := make([]uint64, r.x.settings.QPs)
	for i, m := range r.senders {
		for j := range m.streams {
			n[r.x.lanes[i].pairs[j].number] = m.streams[j].posted
		}
	}
	return n
}

// Times that a receiver waits for what is still under way.
const (
	lingerStep  = time.Millisecond
	lingerQuiet = 20  // steps without a message: no more will come
	lingerMost  = 500 // steps
)

// finish ends the programs that only react, after the peer has sent what it says on each queue pair
// (nil: nobody knows), and looks at the data.
func (r *round) finish(sent []uint64) error {
	for _, n := range sent {
		r.expected += n
	}
	if len(r.receivers) > 0 {
		r.linger()
	}
	for i, l := range r.x.lanes {
		err := l.do(func(*transport.Endpoint) error {
			if len(r.receivers) > 0 {
				r.receivers[i].halt = true
			}
			if r.ping != nil {
				r.ping.halt = true
			}
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

// linger waits until everything sent has come, or nothing more comes.
func (r *round) linger() {
	last, quiet := uint64(0), 0
	for step := 0; step < lingerMost; step++ {
		count := uint64(0)
		for i, l := range r.x.lanes {
			_ = l.do(func(*transport.Endpoint) error { count += r.receivers[i].count; return nil })
		}
		if quiet++; count != last {
			last, quiet = count, 0
		}
		if r.x.settings.Work > 0 && quiet == 0 {
			step = 0 // a backlog is worked off
		}
		if count >= r.expected || quiet > lingerQuiet {
			return
		}
		time.Sleep(lingerStep)
	}
}

// verdict says what went wrong at the receiving end.
func (r *round) verdict(sent []uint64) error {
	s := r.x.settings
	if r.ping != nil && r.ping.err != nil {
		return r.ping.err
	}
	for _, m := range r.receivers {
		if m.err != nil {
			return m.err
		}
	}
	if s.Connection == transport.RC && len(r.receivers) > 0 && sent != nil &&
		r.received() != r.expected {
		return fmt.Errorf("%d messages arrived of %d", r.received(), r.expected)
	}
	if s.Validate && s.Test.Verb == Write && s.Test.Kind == Bandwidth && !s.WriteWithImm {
		for _, l := range r.x.lanes {
			err := l.do(func(ep *transport.Endpoint) error {
				if ep.Counters().UCLost > 0 {
					return nil // what a lost packet leaves is torn, and UC allows it
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

func (r *round) received() (n uint64) {
	for _, m := range r.receivers {
		n += m.count
	}
	return n
}

// row is what this end measured; nil when it did not.
func (r *round) row() *Row {
	s := r.x.settings
	switch {
	case r.ping != nil && (r.active() || r.ping.latencies.n > 0):
		row := s.latencyRow(r.size, r.x.lanes[0], r.ping)
		row.PollGaps = r.gaps
		return row
	case len(r.senders) == 0:
		return nil
	}
	row := s.bandwidthRow(r.size, r.x.lanes, r.senders)
	row.PollGaps = r.gaps
	return row
}

// totals is what this end counted.
func (r *round) totals() (t Totals) {
	for i, l := range r.x.lanes {
		_ = l.do(func(ep *transport.Endpoint) error {
			t.add(totalsOf(ep.Counters()).since(totalsOf(r.before[i])))
			return nil
		})
	}
	return t
}

// combine joins what the two ends know into the row that is shown here.
func (r *round) combine(mine *Row, totals Totals, facts map[string]string) (*Row, error) {
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
			row.Lost = r.expected - min(r.expected, r.received())
			s.receivedRow(row, r.receivers)
		}
	case s.Bidirectional:
		row.Peak += theirs.Peak
		row.Average += theirs.Average
		row.MsgRate += theirs.MsgRate
		row.PerQP = append(row.PerQP, theirs.PerQP...)
		row.Jain = jain(row.PerQP)
	}
	if mine != nil && s.receives() && s.Test.Kind == Bandwidth {
		row.Lost = sent - min(sent, arrived)
	}
	if row.Work = r.worked(); row.Work == nil {
		row.Work = work
	}
	row.Totals = totals
	row.Totals.add(counted)
	row.CPU, row.GC = r.usage.until(usageNow())
	return row, nil
}
