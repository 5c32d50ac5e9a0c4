package tocc

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// run is a scheme that serves traffic in a network.
type run struct {
	Scheme  scheme
	Network network
	Traffic traffic
}

// name returns the cell's: it identifies the run within an experiment.
func (r run) name() string {
	return fmt.Sprintf("%s, %s at %v, %v", r.Scheme, r.Network.Name, r.Network.Host.Rate, r.Traffic)
}

// cells returns the cells of schemes that serve the same traffic in the same network.
func cells(n network, t traffic, of ...scheme) []experiment.Cell {
	out := make([]experiment.Cell, len(of))
	for i, s := range of {
		r := run{s, n, t}
		out[i] = experiment.Cell{Name: r.name(), Params: r}
	}
	return out
}

// runs are shared by several experiments.
var runs experiment.Memo[*outcome]

// outcome is the result of a run.
type outcome struct {
	Flows    []finished
	Admitted []admitted // of flows with tokens; nil once released
	// Unused is the mean number of bytes of tokens that a flow was granted and did not use, and
	// MostUnused the largest.
	Unused, MostUnused float64
	Tokens             bool

	Buffer              units.Bytes // most that one switch ever held
	TokenQueue          units.Bytes // longest queue of TOKENs in a switch
	Sent, Lost, Trimmed float64     // packets of the data's queues
	Data, Again         float64     // packets of data sent, and retransmissions among them
	Timeouts            float64
	// data that receivers' links carried while flows arrived, relative to the links' rate
	Goodput     float64
	Pauses      float64 // PAUSE frames of switches
	PausedShare float64 // of the time of all ports, on average
}

// finished is a flow that ended.
type finished struct {
	workload.Flow
	FCT      units.Duration
	Slowdown float64
}

// class returns the flow's name in figures: its incast's, or that of its size.
func (f finished) class() string {
	if f.Class == incastClass {
		return "incast"
	}
	classes := workload.ToCCClasses()
	return classes[workload.ClassOf(f.Bytes, classes)].Name
}

// bySize are the classes of flows outside incasts.
var bySize = []string{"tiny", "small", "medium", "large"}

// serve runs a cell, and records completion times in seconds and slowdowns by class, and the
// switches' counters.
func serve(j *experiment.Job) error {
	_, err := served(j)
	return err
}

// served is serve, and returns the outcome.
func served(j *experiment.Job) (*outcome, error) {
	r := j.Params.(run)
	out, err := runs.Of(j, r, func() (*outcome, error) {
		out, err := r.simulate(j)
		if err == nil {
			out.release()
		}
		return out, err
	})
	if err != nil {
		return nil, err
	}
	j.Value("victims")
	for _, class := range append([]string{"incast"}, bySize...) {
		j.Value(class)
		j.Value(class + " slowdown")
	}
	receivers := map[int]bool{}
	for _, f := range out.Flows {
		receivers[f.Dst] = receivers[f.Dst] || f.Class == incastClass
	}
	for _, f := range out.Flows {
		j.Value(f.class(), f.FCT.Seconds())
		j.Value(f.class()+" slowdown", math.Round(1e4*f.Slowdown)/1e4)
		if receivers[f.Dst] && f.Class != incastClass {
			j.Value("victims", f.FCT.Seconds()) // other flows to a host of incasts
		}
	}
	j.Value("bufmax", float64(out.Buffer))
	j.Value("sent", out.Sent)
	j.Value("lost", out.Lost)
	j.Value("trimmed", out.Trimmed)
	j.Value("pauses", out.Pauses)
	j.Value("paused", out.PausedShare)
	j.Value("again", out.Again)
	j.Value("timeouts", out.Timeouts)
	j.Value("data", out.Data)
	j.Value("goodput", out.Goodput)
	var single experiment.Values
	for _, f := range out.Flows {
		if f.Bytes <= payload {
			single = append(single, f.FCT.Seconds())
		}
	}
	if len(single) > 0 {
		j.Value("packet", single.Percentile(50))
	}
	if out.Tokens {
		j.Value("unused", out.Unused)
		j.Value("most unused", out.MostUnused)
	}
	return out, nil
}

// release drops gates and granters: an outcome is kept, and they would keep the whole network in
// memory.
func (o *outcome) release() {
	o.Unused, o.MostUnused = o.unused()
	o.Tokens, o.Admitted = len(o.Admitted) > 0, nil
}

// unused returns how many bytes of tokens a flow was granted and did not use, on average and at
// most.
func (o *outcome) unused() (mean, most float64) {
	for _, a := range o.Admitted {
		x := float64(a.Granter.Stats().Granted - (a.Bytes - a.Gate.Stats().Unscheduled))
		mean, most = mean+x/float64(len(o.Admitted)), max(most, x)
	}
	return mean, most
}

// simulate runs until all flows have ended.
func (r run) simulate(j *experiment.Job) (*outcome, error) {
	m, control, err := r.Scheme.method()
	if err != nil {
		return nil, err
	}
	out := &outcome{}
	serve, err := r.server(m, control, out)
	if err != nil {
		return nil, err
	}
	source, span, err := r.Traffic.source(r.Network, j.Seed)
	if err != nil {
		return nil, err
	}
	s := sim.Scenario{
		Topology: r.Network,
		// A nanosecond into a host, so that there is an endpoint delay to report. The timeout is
		// 16.8 ms, longer than a switch's buffer takes to drain.
		Hosts: sim.Hosts{Machine: fabric.HostConfig{RxDelay: units.Nanosecond}, PathMTU: payload,
			Timeout: 12},
		Scheme: sim.Scheme{
			PerFlow: serve, Switch: m.Switches(r.Network), TrimmedDSCP: trimmedDSCP,
			CNPInterval: m.CNPs,
			Selective:   m.Selective, Recovery: sim.Recovery{Reordering: m.Reordering,
				MaxHeld: 1 << 16},
		},
		Workload: sim.Workload{Traffic: func(*sim.Simulation) (workload.Source, error) {
			return source, nil
		}, Span: span},
		Seed: j.Seed, Until: 100*span + units.Second,
	}
	if m.Priorities > 0 {
		s.Scheme.Classify, s.Hosts.Machine.DataClasses = homaClassify(), m.Priorities
		s.Hosts.Chunk = 32 * units.MiB // a flow is a message, ordered by its whole length
	}
	if r.Traffic.OfHosts {
		s.Until = span
	}
	introduced := &outcome{} // the hosts' address resolution does not count
	s.Probes.Attach = func(s *sim.Simulation) {
		introduced.count(s.Net, units.Second)
		before := r.Network.received(s.Net)
		s.Net.At(s.Zero().Add(span-1), func() {
			out.Goodput = float64(r.Network.received(s.Net)-before) * 8 / (span.Seconds() *
				float64(r.Network.Host.Rate) * float64(r.Network.hosts()))
		})
	}
	s.Probes.Progress = func(at units.Duration) {
		j.Progress(math.Min(0.9, 0.5*float64(at)/float64(span)))
	}
	done, err := s.Run(j.Context())
	if err == nil && !r.Traffic.OfHosts {
		err = done.Complete()
	}
	if err != nil {
		return nil, err
	}
	out.count(done.Simulation.Net, done.End)
	out.Sent, out.Lost, out.Trimmed = out.Sent-introduced.Sent, out.Lost-introduced.Lost,
		out.Trimmed-introduced.Trimmed
	out.Again, out.Timeouts = float64(done.Totals.Retransmitted), float64(done.Totals.Timeouts)
	for _, f := range done.Flows {
		out.Flows = append(out.Flows, finished{f.Flow, f.FCT(), f.Slowdown()})
		out.Data += float64((f.Bytes + payload - 1) / payload)
	}
	out.Data += out.Again
	return out, nil
}

// count sums the switches' counters.
func (o *outcome) count(net *fabric.Network, took units.Duration) {
	ports := 0.0
	for _, s := range net.Switches() {
		o.Buffer = max(o.Buffer, s.Stats().Fullest)
		for _, p := range s.Ports() {
			ports++
			for i := range fabric.MaxQueues {
				q := p.QueueStats(i)
				o.Pauses += float64(q.PausesSent)
				o.PausedShare += float64(q.Paused) / float64(took)
				o.Trimmed += float64(q.Trimmed)
				switch {
				case i == tokens:
					o.TokenQueue = max(o.TokenQueue, q.Longest)
				case i < tokens:
					o.Sent += float64(q.Frames)
					o.Lost += float64(q.Dropped + q.Selected)
				}
			}
		}
	}
	o.PausedShare /= ports
}
