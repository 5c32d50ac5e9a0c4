package prioplus

import (
	"math"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/units"
)

// largeExperiments are those of section 6.2, its appendices, and what else needs large networks.
var largeExperiments = []*experiment.Experiment{fig11a, fig11b, fig11c, fig11d, fig12a, fig12b,
	fig12c, fig13, fig14, fig15, fig16, fig17, fig18, fig19}

// large is a run of many flows through a large network.
type large struct {
	Scheme     scheme
	Priorities priorities
	Seed       uint64

	// Build makes the network of parts, and Ports is how many ports of Link its switches have,
	// which Buffer is for.
	Build  func(fabric.Parts) *fabric.Network
	Link   fabric.Link
	Ports  int
	Buffer units.Bytes
	Lossy  bool // no PFC, and selective repeat
	// Around, unless nil, answers what stands in for the congestion control of a flow.
	Around func(cc.Control) cc.Control

	Source   workload.Source
	Priority func(workload.Flow) int // larger is higher
	Span     units.Duration          // about how long flows arrive
	// how long the run takes, where there is no end of flows; else 0
	Period units.Duration
}

// runs are those that several experiments look at.
var runs experiment.Once[*outcome]

// outcome is what came of it.
type outcome struct {
	Flows       []finished
	PausesSent  float64 // PAUSE frames of switches, the ends of pauses not counted
	PausedShare float64 // of the time of all ports and queues, added up, for each port
	Drops, Sent float64 // packets
}

// finished is a flow that ended.
type finished struct {
	workload.Flow
	Priority int
	FCT      units.Duration
	BDP      units.Bytes // of the pair
}

// class is the paper's name for flows of this size; it gives no bounds.
func (f finished) class() string {
	switch {
	case f.Bytes < 100_000:
		return "small"
	case f.Bytes <= 1_000_000:
		return "middle"
	}
	return "large"
}

// run simulates until all flows have ended.
func (l large) run(j *experiment.Job) (*outcome, error) {
	// A nanosecond into a host, so that there is an endpoint delay to be told.
	host := fabric.HostConfig{RxDelay: units.Nanosecond}
	if l.Scheme.queues() {
		host.DataClasses = l.Priorities.N
	}
	net := l.Build(fabric.Parts{
		Config: fabric.Config{Seed: l.Seed, Classify: classify()}, Host: host,
		Switch: l.Scheme.switches(l.Priorities.N, l.Buffer, l.Link, l.Ports, !l.Lossy),
	})
	var cl *cluster.Cluster
	var failed error
	config := cluster.Config{
		Seed: l.Seed, PathMTU: payload, Timeout: 11, // 8.4 ms; the artifact has 10
		Serve: func(f workload.Flow) cluster.Service {
			s, err := l.Scheme.serve(l.Priorities, l.Priority(f), cl.Ideal(f))
			if err != nil {
				failed = err
			} else if l.Around != nil {
				s.Control = l.Around(s.Control)
			}
			return s
		},
	}
	if l.Scheme == deadlines {
		config.Chunk = 32 * units.MiB // it must see all that is left
	}
	if l.Lossy {
		config.Selective = true
		// IRN's experiments have 100 µs for RTOlow. But a flow may starve for longer than that
		// below others in strict priority, and a reliable connection gives up after seven timeouts.
		config.Recovery = cluster.Recovery{RTOLow: units.Millisecond,
			RTOHigh: 10 * units.Millisecond}
	}
	var err error
	if cl, err = cluster.New(net, config); err != nil {
		return nil, err
	}
	if err := cl.Introduce(); err != nil {
		return nil, err
	}
	begin := net.Now()
	r := &outcome{}
	cl.Drive(l.Source, func(f *cluster.Running) {
		r.Flows = append(r.Flows, finished{
			Flow: f.Flow, Priority: l.Priority(f.Flow),
			FCT: f.Done.Sub(begin.Add(units.Duration(f.At))),
			BDP: l.Link.Rate.Bytes(cl.BaseRTT(f.Src, f.Dst)),
		})
	})
	err = cl.Finish(j.Context(), 100*l.Span+units.Second, func(now units.Time) bool {
		j.Progress(math.Min(0.9, 0.5*float64(now.Sub(begin))/float64(l.Span)))
		return failed != nil || l.over(now.Sub(begin), cl.Running())
	})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	r.count(net, net.Now().Sub(begin))
	return r, nil
}

// over says whether a run is at its end.
func (l large) over(took units.Duration, running int) bool {
	if l.Period > 0 {
		return took >= l.Period
	}
	return took > l.Span && running == 0
}

// count adds up what the ports have counted.
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
