package sim

import (
	"math/rand/v2"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Workload is the traffic of the hosts. A run is over when all Flows have ended or stopped and the
// Traffic has ended; with Requests it lasts until Until.
type Workload struct {
	// Flows are declared one by one, each with a connection of its own that exists when time
	// begins, and with a Trace in the Result.
	Flows []Flow
	// Traffic, unless nil, is a stream of flows.
	Traffic Traffic
	// Span, unless 0, is the minimum duration of the traffic: the run is over at the first moment
	// after it at which none of the Traffic's flows is in progress, even if more would come.
	Span units.Duration
	// Requests are messages that programs send one after another.
	Requests []Requests
	// Messages are messages of programs to the Programs of other hosts, which consume them at their
	// own pace.
	Messages []Messages
	Programs []Program
	// MayFail continues the run when a connection fails, for example because its peer is gone for
	// too long. The Result counts the failures.
	MayFail bool
	// Jitter is the upper bound of the random delay of the start of each of Flows and Requests.
	Jitter units.Duration
	// Noise, unless nil, draws the error of each delay sample of the Flows' algorithms.
	Noise func(*rand.Rand) units.Duration
	// KeepGaps applies a new rate of Flows from the packet after the waiting one on, as published
	// simulators do, where a packet gets its time when the one before it leaves. Otherwise a new
	// rate changes the time of the packet that waits.
	KeepGaps bool
}

// declared reports whether the workload has nothing but declared flows.
func (w *Workload) declared() bool {
	return w.Traffic == nil && len(w.Requests)+len(w.Messages) == 0
}

// Flow is one declared flow.
type Flow struct {
	From, To int
	Back     bool // from To to From
	Start    units.Duration
	Stop     units.Duration // end of its posts; 0 means after all Bytes
	Bytes    units.Bytes    // payload; 0 means unlimited
	Control  cc.Factory     // nil means the Scheme's
	// Admission, unless nil, makes the flow's gate and granter, such as a tocc.Spec. All flows have
	// one, or none.
	Admission interface {
		New(cc.Path) (cc.Gate, cc.Granter, error)
	}
	DSCP uint8 // of data
	// OnEvent, unless nil, is called after each event of the flow's algorithm, including those that
	// only report what was sent and acknowledged.
	OnEvent func(ev *cc.Event, a cc.Algorithm, at units.Duration)
}

// Many returns n equal flows.
func Many(n int, f Flow) []Flow {
	flows := make([]Flow, n)
	for i := range flows {
		flows[i] = f
	}
	return flows
}

// ends returns the hosts of a flow.
func (f *Flow) ends() (from, to int) {
	if f.Back {
		return f.To, f.From
	}
	return f.From, f.To
}

// Traffic makes the flows of a run, from its network and its seed.
type Traffic func(s *Simulation) (workload.Source, error)

// From returns the traffic of a generator of fabric/workload, such as workload.Incast or
// workload.Graph.
func From[S workload.Source](g interface{ Source() (S, error) }) Traffic {
	return func(*Simulation) (workload.Source, error) { return g.Source() }
}

// Load returns Poisson traffic between all hosts for a span of time: sizes drawn from a
// distribution, at a load relative to the payload that the hosts' links can carry.
func Load(sizes *workload.Sizes, load float64, span units.Duration) Traffic {
	return func(s *Simulation) (workload.Source, error) {
		mtu := units.BitRate(s.Hosts.PathMTU)
		return workload.Poisson{
			Hosts: len(s.Nodes), Load: load, Sizes: sizes,
			Rate: s.Net.Host(0).NIC().Ports()[0].Rate() * mtu / (mtu + Overhead),
			Seed: s.Seed, Until: units.Time(span),
		}.Source()
	}
}

// Together merges several streams.
func Together(all ...Traffic) Traffic {
	return func(s *Simulation) (workload.Source, error) {
		sources := make([]workload.Source, len(all))
		for i, t := range all {
			var err error
			if sources[i], err = t(s); err != nil {
				return nil, err
			}
		}
		return workload.Merge(sources...), nil
	}
}

// Capacity returns the payload, in bits per second, that a link carries in full packets.
func Capacity(rate units.BitRate, pathMTU units.Bytes) float64 {
	return float64(rate) * float64(pathMTU) / float64(pathMTU+Overhead)
}

// Overhead is the length of a packet on a link besides its payload: headers, ICRC, check sequence,
// preamble and gap.
const Overhead = dataOverhead + onWire

// Requests is a program that sends messages of one size from one host to another, as perftest does.
type Requests struct {
	From, To int
	Bytes    units.Bytes
	Depth    int            // maximum number of outstanding messages; 0 means 1
	Every    units.Duration // minimum time between two posts; 0 means none
	Think    units.Duration // time from the end of a message to the post of the next
	Start    units.Duration
	Stop     units.Duration // end of its posts; 0 means never
}

// request starts a program, and lists its messages in the Result.
func (s *Simulation) request(r *Requests) error {
	conn, err := s.Connect(r.From, r.To)
	if err != nil {
		return err
	}
	log := &RequestLog{Requests: *r, Conn: conn}
	if s.Workload.Jitter > 0 {
		log.Start += units.Duration(s.Net.Rand().Int64N(int64(s.Workload.Jitter)))
	}
	s.result.Requests = append(s.result.Requests, log)
	w := &Writer{Conn: conn, Bytes: r.Bytes, Depth: max(1, r.Depth), Every: r.Every, Think: r.Think}
	if r.Stop > 0 {
		w.stop = s.zero.Add(r.Stop)
	}
	w.Ended = func(posted, ended units.Time) {
		log.Done = append(log.Done, Request{posted.Sub(s.zero), ended.Sub(s.zero)})
	}
	w.Begin(s.zero.Add(log.Start))
	return nil
}
