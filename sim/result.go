package sim

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Result is what came of a run. Times count from the zero of the Scenario.
type Result struct {
	Scheme string // its name
	// Flows are those that ended, with completion time and slowdown: of the Traffic in the order
	// of their ends, then those declared.
	Flows      []workload.Result
	Unfinished int            // flows of the Traffic in progress at the end
	Failed     int            // flows and messages that failed, where they may
	Traces     []*Trace       // of declared flows, in their order
	Requests   []*RequestLog  // of Workload.Requests, in their order
	Messages   []*MessageLog  // of Workload.Messages, in their order
	Programs   []*ProgramLog  // of Workload.Programs, in their order
	Queues     []*QueueTrace  // of Probes.Queues, in their order
	Stored     *fabric.Series // bytes in the buffer of the fullest switch, where Probes say so
	Totals     Totals
	// Foreign is how many frames of Plain hosts were not plain RoCEv2.
	Foreign int
	End     units.Duration
	// Simulation is what ran, for measures of the experiment's own.
	Simulation *Simulation
}

// Totals are counters of all switches and of all endpoints, from the beginning.
type Totals struct {
	Frames        uint64         // that left queues of switches
	Marked        uint64         // those of them with a mark of ECN
	Dropped       uint64         // for lack of room
	Selected      uint64         // dropped because not ECN capable
	Trimmed       uint64         // to their headers
	PausesSent    uint64         // PAUSE frames by queue, those that end a pause not counted
	Paused        units.Duration // of all queues together
	Fullest       units.Bytes    // most that one switch held
	PauseFrames   uint64         // all PAUSE frames
	Retransmitted uint64         // packets
	Timeouts      uint64
}

// Request is one message: when it was posted, and when it was acknowledged.
type Request struct{ Posted, Ended units.Duration }

// Took is its completion time.
func (r Request) Took() units.Duration { return r.Ended - r.Posted }

// RequestLog is what a program's messages took.
type RequestLog struct {
	Requests
	Done []Request // in the order of their ends
	Conn *Conn
}

// QueueTrace is a queue over time.
type QueueTrace struct {
	Length *fabric.Series
	Stats  fabric.QueueStats // at the end, from the beginning

	port  *fabric.Port
	probe QueueProbe
}

// finish lists a flow of the traffic that has ended.
func (s *Simulation) finish(f *Transfer) {
	s.result.Flows = append(s.result.Flows, workload.Result{
		Flow: f.Flow, Done: units.Time(f.Done.Sub(s.zero)), Ideal: s.Ideal(f.Flow),
	})
}

// collect completes the result at the end of the run.
func (s *Simulation) collect() {
	r := s.result
	r.End, r.Unfinished = s.Net.Now().Sub(s.zero), s.ofTraffic
	for _, q := range r.Queues {
		scale := q.probe.Scale
		if scale == 0 {
			scale = 1
		}
		q.Length, q.Stats = since(q.Length, s.zero, scale), q.port.QueueStats(q.probe.Queue)
	}
	if r.Stored != nil {
		r.Stored = since(r.Stored, s.zero, 1)
	}
	for _, t := range r.Traces {
		// A rate is known at the end of its interval, and holds from its beginning.
		t.Goodput = since(t.Goodput, s.zero.Add(s.Probes.interval()), 1)
		t.Window = since(t.Window, s.zero, 1)
		if t.Ended {
			r.Flows = append(r.Flows, t.result(s))
		}
	}
	r.Failed = len(s.Errors)
	r.Totals, r.Foreign = s.Totals(), s.foreign
}

// Totals counts up to the present.
func (s *Simulation) Totals() (t Totals) {
	for _, sw := range s.Net.Switches() {
		t.Fullest = max(t.Fullest, sw.Stats().Fullest)
		for _, p := range sw.Ports() {
			t.PauseFrames += p.Stats().Pauses
			for i := range fabric.MaxQueues {
				t.add(p.QueueStats(i))
			}
		}
	}
	for _, n := range s.Nodes {
		c := n.Endpoint.Stats()
		t.Retransmitted += c.Retransmitted
		t.Timeouts += c.Timeouts
	}
	return t
}

func (t *Totals) add(q fabric.QueueStats) {
	t.Frames += q.Frames
	t.Marked += q.Marked
	t.Dropped += q.Dropped
	t.Selected += q.Selected
	t.Trimmed += q.Trimmed
	t.PausesSent += q.PausesSent
	t.Paused += q.Paused
}

// Jain is the index of fairness of the goodput of declared flows in a span: 1 is equal, 1/n is one
// for all.
func (r *Result) Jain(from, to units.Duration) float64 {
	var x []float64
	for _, t := range r.Traces {
		x = append(x, t.Goodput.Mean(units.Time(from), units.Time(to)))
	}
	return Jain(x...)
}

// Jain is the index of fairness.
func Jain(x ...float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// Goodput is that of all declared flows over time.
func (r *Result) Goodput() *fabric.Series {
	total := &fabric.Series{}
	for i, at := range r.Traces[0].Goodput.Times {
		sum := 0.0
		for _, t := range r.Traces {
			sum += t.Goodput.Values[i]
		}
		total.Add(at, sum)
	}
	return total
}

// Complete returns an error unless all flows of the traffic have ended.
func (r *Result) Complete() error {
	if r.Unfinished > 0 {
		return fmt.Errorf("sim: %d flows have not ended after %v", r.Unfinished, r.End)
	}
	return nil
}
