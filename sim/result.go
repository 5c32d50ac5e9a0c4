package sim

import (
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Result is the outcome of a run. Times count from the zero of the Scenario.
type Result struct {
	Scheme string // the Scheme's name
	// Flows are the flows that ended, with completion time and slowdown: those of the Traffic in
	// the order of their ends, then the declared ones.
	Flows      []workload.Result
	Unfinished int            // flows of the Traffic in progress at the end
	Failed     int            // flows and messages that failed, with Workload.MayFail
	Traces     []*Trace       // of declared flows, in their order
	Requests   []*RequestLog  // of Workload.Requests, in their order
	Messages   []*MessageLog  // of Workload.Messages, in their order
	Programs   []*ProgramLog  // of Workload.Programs, in their order
	Queues     []*QueueTrace  // of Probes.Queues, in their order
	Stored     *fabric.Series // bytes in the buffer of the fullest switch, with Probes.Buffers
	Totals     Totals
	// Foreign is the number of frames of Plain hosts that were not plain RoCEv2.
	Foreign int
	End     units.Duration
	// Simulation is the simulation that ran, for the experiment's own measures.
	Simulation *Simulation
}

// Totals are counters of all switches and all endpoints, since the beginning.
type Totals struct {
	Frames        uint64         // frames that left queues of switches
	Marked        uint64         // frames with an ECN mark among them
	Dropped       uint64         // for lack of room
	Selected      uint64         // dropped because not ECN capable
	Trimmed       uint64         // to their headers
	PausesSent    uint64         // PAUSE frames by queue, except those that end a pause
	Paused        units.Duration // sum over all queues
	Fullest       units.Bytes    // largest occupancy of a switch's buffer
	PauseFrames   uint64         // all PAUSE frames
	Retransmitted uint64         // packets
	Timeouts      uint64
}

// Request is one message, with the times of its post and of its acknowledgement.
type Request struct{ Posted, Ended units.Duration }

// Took returns the completion time.
func (r Request) Took() units.Duration { return r.Ended - r.Posted }

// RequestLog lists the messages of a program.
type RequestLog struct {
	Requests
	Done []Request // in the order of their ends
	Conn *Conn
}

// QueueTrace is a queue over time.
type QueueTrace struct {
	Length *fabric.Series
	Stats  fabric.QueueStats // at the end, since the beginning

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
	for _, n := range s.Nodes {
		n.Endpoint.Loop().FlushTrace()
	}
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

// Totals returns the counters at present.
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

// Jain returns the fairness index of the goodput of declared flows in a span: 1 is equal shares,
// 1/n a single active flow.
func (r *Result) Jain(from, to units.Duration) float64 {
	var x []float64
	for _, t := range r.Traces {
		x = append(x, t.Goodput.Mean(units.Time(from), units.Time(to)))
	}
	return Jain(x...)
}

// Jain returns the fairness index of rates.
func Jain(x ...float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// Goodput returns the goodput of all declared flows over time.
func (r *Result) Goodput() *fabric.Series { return Goodput(r.Traces) }

// Goodput returns the goodput of several flows together over time.
func Goodput(flows []*Trace) *fabric.Series {
	total := &fabric.Series{}
	for i, at := range flows[0].Goodput.Times {
		sum := 0.0
		for _, t := range flows {
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
