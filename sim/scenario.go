package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// Scenario is everything that a run depends on. Times in it count from when the first flows may
// begin, which is after hosts have resolved each other's addresses.
type Scenario struct {
	Topology Topology
	Hosts    Hosts
	Scheme   Scheme
	Workload Workload
	Faults   fabric.Plan
	Probes   Probes
	// Seed seeds every random number: of the network, of the endpoints and of the traffic.
	Seed uint64
	// Until is when the run ends at the latest; 0 means 10 s. It ends before that when Over, or
	// else the Workload, says so.
	Until units.Duration
	// Over, unless nil, reports whether the run is over at a time. It replaces the rule of
	// Workload.
	Over func(s *Simulation, at units.Duration) bool
	// Step is how often the run checks whether it is over or canceled; 0 means 20 µs.
	Step units.Duration
}

// Hosts is how hosts and their endpoints work, whatever the Scheme. The zero value is RC with a
// path MTU of 1024 on infinitely fast hosts.
type Hosts struct {
	// Machine is every host's hardware, and MachineOf, unless nil, changes that of one host.
	Machine   fabric.HostConfig
	MachineOf func(host int, c *fabric.HostConfig)
	LinkMTU   units.Bytes // longest IP datagram of a link; 0 means LinkMTU
	PathMTU   units.Bytes // 0 means 1024
	Chunk     units.Bytes // longest message of a flow, of which two are outstanding; 0 means 1 MiB
	SendDepth int         // messages that Conn.Write may have outstanding; 0 means 4
	Receives  int         // posted receives of a connection in each direction, for Conn.Send
	Timeout   uint8       // the InfiniBand code of the ACK timeout; 0 means 8, about a millisecond
	// Plain hosts agree to no extension: RoCEv2 as with any peer, so that delays are the only
	// signal of congestion control.
	Plain bool
	// Cold hosts resolve addresses when their first flows begin.
	Cold bool
	// Wrap, unless nil, returns what replaces the port of a host, such as a recorder of its frames.
	Wrap PortWrapper
}

// LinkMTU is the default MTU of links: RoCEv2's longest packet and what switches may write into it.
const LinkMTU = 4400

// Run builds the scenario and runs it to its end, see Simulation.Run.
func (s Scenario) Run(ctx context.Context) (*Result, error) {
	simulation, err := New(s)
	if err != nil {
		return nil, err
	}
	return simulation.Run(ctx)
}

// Run runs the scenario to its end, once. If the context ends or a connection fails before that,
// it returns what there was until then, and the error.
func (s *Simulation) Run(ctx context.Context) (*Result, error) {
	if s.result != nil {
		return nil, errors.New("sim: the simulation has run already")
	}
	s.result = &Result{Scheme: s.Scheme.title(), Simulation: s}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	s.zero = s.Net.Now()
	for _, t := range s.result.Traces {
		t.zero = s.zero
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	s.collect()
	return s.result, cmp.Or(ctx.Err(), s.failure())
}

// warm is how long the hosts of declared flows have to resolve each other's addresses.
const warm = 100 * units.Microsecond

// prepare connects the queue pairs of declared flows, and lets hosts resolve addresses.
func (s *Simulation) prepare() error {
	for i := range s.Workload.Flows {
		if err := s.declare(i); err != nil {
			return err
		}
	}
	switch {
	case s.Hosts.Cold:
		return nil
	case !s.Workload.declared():
		if err := s.Introduce(); err != nil {
			return err
		}
		for _, sw := range s.Net.Switches() {
			sw.Recount() // what was stored so far is not what is measured
		}
		return nil
	}
	return s.Net.Run(s.Net.Now().Add(warm))
}

// begin arranges for everything that happens after zero.
func (s *Simulation) begin() error {
	if err := s.Net.Schedule(s.shifted(s.Faults), nil); err != nil {
		return err
	}
	if err := s.record(); err != nil {
		return err
	}
	if s.Probes.Attach != nil {
		s.Probes.Attach(s)
	}
	for _, t := range s.result.Traces {
		s.Net.At(s.zero.Add(t.Start), func() { s.note(t.begin(s)) })
		t.Goodput = s.Net.SampleRate(s.Probes.interval(), t.received)
	}
	s.recordBuffers()
	if err := s.startPrograms(); err != nil {
		return err
	}
	for i := range s.Workload.Requests {
		if err := s.request(&s.Workload.Requests[i]); err != nil {
			return err
		}
	}
	if s.Workload.Traffic == nil {
		return nil
	}
	source, err := s.Workload.Traffic(s)
	if err != nil {
		return err
	}
	s.Drive(source, s.finish)
	return nil
}

// shifted returns the plan with times that count from the start of the network.
func (s *Simulation) shifted(p fabric.Plan) fabric.Plan {
	out := append(fabric.Plan(nil), p...)
	for i := range out {
		out[i].At = s.zero.Add(units.Duration(out[i].At))
	}
	return out
}

// pass lets time pass until the run is over.
func (s *Simulation) pass(ctx context.Context) error {
	step, until := s.Step, s.Until
	if step == 0 {
		step = 20 * units.Microsecond
	}
	if until == 0 {
		until = 10 * units.Second
	}
	s.Net.Every(step, func(now units.Time) bool {
		at := now.Sub(s.zero)
		if s.Probes.Progress != nil {
			s.Probes.Progress(at)
		}
		if ctx.Err() != nil || s.failure() != nil || s.over(at) {
			s.Net.Stop()
		}
		return true
	})
	if err := s.Net.Run(s.zero.Add(until)); err != nil && !errors.Is(err, fabric.ErrStopped) {
		return err
	}
	return nil
}

// failure is why the run cannot go on.
func (s *Simulation) failure() error {
	if len(s.Errors) == 0 || s.Workload.MayFail {
		return nil
	}
	return fmt.Errorf("%d errors, the first: %w", len(s.Errors), s.Errors[0])
}

// over reports whether nothing more is to come.
func (s *Simulation) over(at units.Duration) bool {
	if s.Scenario.Over != nil {
		return s.Scenario.Over(s, at)
	}
	w := &s.Workload
	for _, t := range s.result.Traces {
		if !t.over(at) {
			return false
		}
	}
	switch {
	case len(w.Requests)+len(w.Messages) > 0:
		return false
	case w.Traffic == nil:
		return true
	case w.Span > 0:
		return at > w.Span && s.ofTraffic == 0
	}
	return s.exhausted && s.ofTraffic == 0
}

// note takes down an error, which ends the run.
func (s *Simulation) note(err error) {
	if err != nil {
		s.Errors = append(s.Errors, err)
	}
}

// Zero is when the times of the Scenario begin.
func (s *Simulation) Zero() units.Time { return s.zero }

// Result is what there is so far of a run in progress.
func (s *Simulation) Result() *Result { return s.result }
