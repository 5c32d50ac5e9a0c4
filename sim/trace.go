package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Trace is a declared flow over time. With a Controller of the Scheme, which separates the flow
// from its algorithm, it has only the Goodput.
type Trace struct {
	Flow
	Goodput *fabric.Series // payload delivered in order, in bits per second
	Window  *fabric.Series // in packets, as the algorithm decided
	// Sent are the times at which packets left the transport, for flows with Bytes.
	Sent []units.Time
	// Finish is the time of the last acknowledgement; so far, if the flow has not ended.
	Finish units.Duration
	Ended  bool
	Acked  units.Bytes
	// BaseRTT is the round-trip time of a full packet and its ACK through empty queues.
	BaseRTT units.Duration

	conn     *Conn
	carries  bool // Conn carries the flow
	noise    func() units.Duration
	zero     units.Time
	payload  units.Bytes
	before   uint64
	decision cc.Decision
}

// FCT returns the completion time. That of a stopped flow ends with the last acknowledgement of the
// packets in flight.
func (t *Trace) FCT() units.Duration { return t.Finish - t.Start }

// declare connects the queue pairs of a declared flow.
func (s *Simulation) declare(i int) error {
	if i == 0 {
		s.jitter()
	}
	w, t := &s.Workload, s.result.Traces[i]
	from, to := t.ends()
	if from < 0 || to < 0 || max(from, to) >= len(s.Nodes) || from == to {
		return fmt.Errorf("sim: flow %d from host %d to %d of %d hosts", i, from, to, len(s.Nodes))
	}
	p := s.pair(from, to)
	service := s.Scheme.service(p)
	if t.Control != nil {
		service.Control = t.Control
	}
	if t.Control = service.Control; t.Control == nil {
		return errors.New("sim: a declared flow needs a Control, of its own or of the Scheme")
	}
	if t.Admission != nil {
		service.Admit = func(_ Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
			return t.Admission.New(path)
		}
	}
	if t.DSCP != 0 {
		service.TrafficClass = t.DSCP << 2
	}
	if s.Scheme.Controller == nil {
		service.Control = Watched(t.Control, func(a cc.Algorithm) cc.Algorithm {
			return &tap{Algorithm: a, trace: t, keepGaps: w.KeepGaps}
		})
	}
	conn, err := s.connect(p, service)
	if err != nil {
		return err
	}
	t.conn, t.BaseRTT = conn, s.BaseRTT(from, to)
	s.Nodes[from].Host.Wake()
	return nil
}

// jitter makes the traces of declared flows, with their starts.
func (s *Simulation) jitter() {
	w := &s.Workload
	starts := rand.New(rand.NewPCG(s.Seed, 0))
	noise := func() units.Duration { return 0 }
	if w.Noise != nil {
		random := rand.New(rand.NewPCG(s.Seed, 1))
		noise = func() units.Duration { return w.Noise(random) }
	}
	for _, f := range w.Flows {
		if w.Jitter > 0 {
			f.Start += units.Duration(starts.Int64N(int64(w.Jitter)))
		}
		s.result.Traces = append(s.result.Traces, &Trace{
			Flow: f, Window: &fabric.Series{}, payload: s.Hosts.PathMTU, noise: noise,
		})
	}
}

// begin posts the flow.
func (t *Trace) begin(s *Simulation) error {
	f := workload.Flow{At: units.Time(t.Start), Bytes: t.Bytes, Group: -1}
	f.Src, f.Dst = t.ends()
	if f.Bytes == 0 {
		f.Bytes = 1 << 50
	}
	if _, err := s.startOn(t.conn, f, false); err != nil {
		return fmt.Errorf("sim: flow from host %d to %d: %w", f.Src, f.Dst, err)
	}
	t.carries, t.before = true, t.conn.Received()
	return nil
}

func (t *Trace) received() uint64 {
	if !t.carries {
		return 0
	}
	return t.conn.Received() - t.before
}

// over reports whether the flow is complete: all bytes are acknowledged, or it stopped long ago.
func (t *Trace) over(at units.Duration) bool {
	return t.Ended || t.Stop > 0 && at > max(t.Stop, t.Finish)+units.Millisecond
}

// result returns the flow in the form of an ended one.
func (t *Trace) result(s *Simulation) workload.Result {
	f := workload.Flow{At: units.Time(t.Start), Bytes: t.Bytes, Group: -1}
	f.Src, f.Dst = t.ends()
	return workload.Result{Flow: f, Done: units.Time(t.Finish), Ideal: s.Ideal(f)}
}
