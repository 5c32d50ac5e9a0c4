package prioplus

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// largeExperiments are the experiments of section 6.2 and its appendices, and others that need
// large networks.
var largeExperiments = []*experiment.Experiment{fig11a, fig11b, fig11c, fig11d, fig12a, fig12b,
	fig12c, fig13, fig14, fig15, fig16, fig17, fig18, fig19}

// large is a run of many flows through a large network.
type large struct {
	Scheme     scheme
	Priorities priorities
	Seed       uint64

	// Build adds the parts of the network. Its switches have Ports ports of Link, for which Buffer
	// is sized.
	Build  func(fabric.Parts) *fabric.Network
	Link   fabric.Link
	Ports  int
	Buffer units.Bytes
	Lossy  bool // no PFC, and selective repeat
	// Around, if set, returns the replacement of a flow's congestion control.
	Around func(cc.Factory) cc.Factory

	Source   workload.Source
	Priority func(workload.Flow) int // larger is higher
	Span     units.Duration          // approximate time of arrivals
	// length of the run if flows do not end; else 0
	Period units.Duration
}

// list is a source of given flows.
type list []workload.Flow

// Next implements workload.Source.
func (l *list) Next() (workload.Flow, bool) {
	if len(*l) == 0 {
		return workload.Flow{}, false
	}
	f := (*l)[0]
	*l = (*l)[1:]
	return f, true
}

// runs are shared by several experiments.
var runs experiment.Memo[*outcome]

// outcome is the result of a run.
type outcome struct {
	Flows       []finished
	PausesSent  float64 // PAUSE frames of switches, without those that end pauses
	PausedShare float64 // fraction of the time, summed over all ports and queues, for each port
	Drops, Sent float64 // packets
}

// finished is a flow that ended.
type finished struct {
	workload.Flow
	Priority int
	FCT      units.Duration
	BDP      units.Bytes // of the pair
}

// run simulates until all flows have ended.
func (l large) run(j *experiment.Job) (*outcome, error) {
	s := l.scenario()
	s.Probes.Progress = func(at units.Duration) {
		j.Progress(math.Min(0.9, 0.5*float64(at)/float64(l.Span)))
	}
	out, err := s.Run(j.Context())
	if err == nil && l.Period == 0 {
		err = out.Complete()
	}
	if err != nil {
		return nil, err
	}
	r := &outcome{}
	for _, f := range out.Flows {
		r.Flows = append(r.Flows, finished{
			Flow: f.Flow, Priority: l.Priority(f.Flow), FCT: f.FCT(),
			BDP: l.Link.Rate.Bytes(out.Simulation.BaseRTT(f.Src, f.Dst)),
		})
	}
	r.count(out.Simulation.Net, out.End)
	return r, nil
}

// scenario returns the run as a scenario of package sim.
func (l large) scenario() sim.Scenario {
	s := sim.Scenario{
		Topology: sim.Custom(l.Build),
		// A nanosecond into a host, so that there is an endpoint delay to report.
		Hosts: sim.Hosts{
			// 8.4 ms; the artifact has 10
			Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, PathMTU: payload, Timeout: 11,
		},
		Scheme: sim.Scheme{
			Classify: classify(), Switch: l.Scheme.switches(l.Priorities.N, l.Buffer, l.Link,
				l.Ports, !l.Lossy),
			PerFlow: func(s *sim.Simulation, f workload.Flow) (sim.Service, error) {
				service, err := l.Scheme.serve(l.Priorities, l.Priority(f), s.Ideal(f))
				if err == nil && l.Around != nil {
					service.Control = l.Around(service.Control)
				}
				return service, err
			},
		},
		Workload: sim.Workload{Traffic: func(*sim.Simulation) (workload.Source, error) {
			return l.Source, nil
		}, Span: l.Span},
		Seed: l.Seed, Until: 100*l.Span + units.Second,
	}
	if l.Period > 0 {
		s.Over = func(_ *sim.Simulation, at units.Duration) bool { return at >= l.Period }
	}
	if l.Scheme.queues() {
		s.Hosts.Machine.DataClasses = l.Priorities.N
	}
	if l.Scheme == deadlines {
		s.Hosts.Chunk = 32 * units.MiB // it must see all that is left
	}
	if l.Lossy {
		s.Scheme.Selective = true
		// IRN's experiments have 100 µs for RTOlow. But a flow may starve for longer than that
		// below others in strict priority, and a reliable connection gives up after seven timeouts.
		s.Scheme.Recovery = sim.Recovery{RTOLow: units.Millisecond, RTOHigh: 10 * units.Millisecond}
	}
	return s
}

// count sums the ports' counters.
func (r *outcome) count(net *fabric.Network, took units.Duration) {
	ports := 0.0
	add := func(p *fabric.Port) {
		ports++
		for i := range fabric.MaxQueues {
			s := p.QueueStats(i)
			r.PausesSent += float64(s.PausesSent)
			r.PausedShare += float64(s.Paused) / float64(took)
			r.Drops += float64(s.Dropped)
			r.Sent += float64(s.Frames)
		}
	}
	for _, s := range net.Switches() {
		for _, p := range s.Ports() {
			add(p)
		}
	}
	for _, h := range net.Hosts() {
		add(h.NIC().Ports()[0])
	}
	r.PausedShare /= ports
}
