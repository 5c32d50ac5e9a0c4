package analysis

import (
	"errors"
	"fmt"
	"io"

	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/trace/sqlog"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Log reads an event log into the report, and calls progress with the offset now and then. After
// an error the report has what came before it.
func (r *Report) Log(in io.Reader, progress func(offset int64)) error {
	log, err := sqlog.NewReader(in)
	if err != nil {
		return err
	}
	l := &logReader{report: r, unacked: map[*Flow][]sent{}, totals: map[*Flow]totals{}}
	if log.Sample < 1 {
		r.Note(fmt.Sprintf("The log has the events of %.4g %% of packets; counts of packets and "+
			"bytes are exact, marks are those of sampled packets.", log.Sample*100))
	}
	for {
		var rec sqlog.Record
		if err := log.Next(&rec); errors.Is(err, io.EOF) {
			l.end()
			return nil
		} else if err != nil {
			l.end()
			return err
		}
		l.event(&rec)
		if r.Items&0xffff == 0 {
			progress(log.Offset())
		}
	}
}

// logReader is the state of Log.
type logReader struct {
	report  *Report
	unacked map[*Flow][]sent // sampled packets without acknowledgement
	totals  map[*Flow]totals
	lost    map[string]uint64
}

type sent struct {
	psn wire.PSN
	at  units.Time
}

// totals are the newest cumulative counts of events.
type totals struct {
	packets, received      uint64
	bytes, again, accepted units.Bytes // again: of bytes, sent more than once
}

// maxUnacked bounds the packets that wait for an acknowledgement.
const maxUnacked = 1 << 16

func (l *logReader) event(rec *sqlog.Record) {
	r, ev := l.report, &rec.Event
	r.Item(ev.At)
	if ev.QP == 0 {
		l.hostEvent(rec)
		return
	}
	f := r.Flow(fmt.Sprintf("%s %#x", rec.Host, uint32(ev.QP)), rec.Host, "", ev.At)
	if f == nil {
		return
	}
	switch ev.Kind {
	case trace.PacketSent, trace.PacketRetransmitted:
		l.sent(f, ev)
	case trace.PacketReceived:
		l.received(f, ev)
	case trace.AckReceived:
		l.acked(f, ev)
	case trace.PacketLost:
		f.Lost += uint64(ev.Count)
		f.Missing.Add(ev.At, f.Relative(uint32(ev.PSN)))
	case trace.NAKReceived:
		countNAK(f, ev.Reason)
	case trace.Timeout:
		f.Timeouts++
	case trace.Decision:
		f.Window.Add(ev.At, float64(ev.Window))
		if ev.Rate > 0 {
			f.Rate.Add(ev.At, float64(ev.Rate))
		}
		if ev.Target > 0 {
			f.Target.Add(ev.At, ev.Target.Microseconds())
		}
	case trace.CNPReceived:
		f.CNPs++
		f.Notified.Add(ev.At, 1)
	case trace.MarkReceived:
		f.Marks = max(f.Marks, ev.Packets)
	case trace.Limited:
		f.Limits[ev.Reason.String()] += ev.Delay
	case trace.ControlReceived, trace.ControlSent:
		f.Admission++
	}
}

func countNAK(f *Flow, why trace.Reason) {
	switch why {
	case trace.NAKSequence:
		f.NAKs++
	case trace.NAKNotReady:
		f.RNRs++
	default:
		f.FatalNAKs++
	}
}

// hostEvent handles an event of a host, a port or a network.
func (l *logReader) hostEvent(rec *sqlog.Record) {
	r := l.report
	switch rec.Kind {
	case trace.Away:
		r.Away += rec.Delay
	case trace.EventsLost:
		if l.lost == nil {
			l.lost = map[string]uint64{}
		}
		l.lost[rec.Host] = rec.Packets
	case trace.FrameDropped:
		r.Dropped++
	case trace.FrameMarked:
		r.SwitchMarks++
	case trace.PauseReceived:
		if rec.Delay > 0 {
			r.Pauses++
		}
	}
}

func (l *logReader) sent(f *Flow, ev *trace.Event) {
	if !ev.Op.Info().Request { // a response: its PSN is the peer's
		f.Responses++
		return
	}
	psn, again := f.Relative(uint32(ev.PSN)), units.Bytes(0)
	f.Sequence.Add(ev.At, psn)
	if ev.Kind == trace.PacketRetransmitted {
		f.Retransmitted++
		f.Again.Add(ev.At, psn)
		again = ev.Bytes
	} else if q := l.unacked[f]; len(q) < maxUnacked {
		l.unacked[f] = append(q, sent{ev.PSN.Add(max(ev.Count, 1) - 1), ev.At})
	}
	f.Flight.Add(ev.At, float64(ev.InFlight))
	t := l.totals[f]
	t.packets, t.bytes = max(t.packets, ev.Packets), max(t.bytes, ev.Total)
	t.again += again
	l.totals[f] = t
}

func (l *logReader) received(f *Flow, ev *trace.Event) {
	switch ev.Reason {
	case trace.Duplicate:
		f.Duplicates++
	case trace.OutOfOrder:
		f.OutOfOrder++
	default:
		if ev.Flags&trace.CE != 0 {
			f.Marked.Add(ev.At, 1)
		}
	}
	t := l.totals[f]
	if grown := ev.Total - t.accepted; grown > 0 {
		f.Deliver(ev.At, grown)
	}
	t.received, t.accepted = max(t.received, ev.Packets), max(t.accepted, ev.Total)
	l.totals[f] = t
}

func (l *logReader) acked(f *Flow, ev *trace.Event) {
	if ev.Marked > 0 {
		f.Marks += uint64(ev.Marked)
		f.Marked.Add(ev.At, float64(ev.Marked))
	}
	q := l.unacked[f]
	rtt := ev.Delay
	for len(q) > 0 && q[0].psn.Before(ev.PSN) {
		if rtt == 0 && q[0].psn.Add(1) == ev.PSN {
			rtt = ev.At.Sub(q[0].at)
		}
		q = q[1:]
	}
	l.unacked[f] = q
	f.AddRTT(ev.At, rtt)
	t := l.totals[f]
	delivered := t.bytes - t.again - ev.InFlight - f.Delivered
	if delivered > 0 && t.received == 0 {
		f.Deliver(ev.At, delivered)
	}
}

// end completes the counts.
func (l *logReader) end() {
	for f, t := range l.totals {
		f.Packets, f.Payload, f.Received = t.packets, t.bytes, t.received
	}
	for host, n := range l.lost {
		l.report.Note(fmt.Sprintf("%s: %d events are missing: its ring was full.", host, n))
	}
}
