package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/units"
)

// Scenario holds all inputs of a run. Its times count from the moment at which the first flows may
// begin, after the hosts have resolved each other's addresses.
type Scenario struct {
	Topology Topology
	Hosts    Hosts
	Scheme   Scheme
	Workload Workload
	Faults   fabric.Plan
	Probes   Probes
	// Trace is the log for events of all endpoints and of the network's ports; nil records nothing.
	Trace trace.Log
	// Seed seeds all random number generators: of the network, of the endpoints and of the traffic.
	Seed uint64
	// Until is the latest end of the run; 0 means 10 s. The run ends earlier if Over or, without
	// it, the Workload is over.
	Until units.Duration
	// Over, unless nil, reports whether the run is over at a time. It replaces the rule of
	// Workload.
	Over func(s *Simulation, at units.Duration) bool
	// Step is the interval of the checks whether the run is over or canceled; 0 means 20 µs.
	Step units.Duration
}

// Hosts configures hosts and their endpoints, independently of the Scheme. The zero value is RC
// with a path MTU of 1024 on infinitely fast hosts.
type Hosts struct {
	// Machine is the hardware of every host, and MachineOf, unless nil, changes that of one host.
	Machine   fabric.HostConfig
	MachineOf func(host int, c *fabric.HostConfig)
	LinkMTU   units.Bytes // longest IP datagram of a link; 0 means LinkMTU
	PathMTU   units.Bytes // 0 means 1024
	Chunk     units.Bytes // longest message of a flow, which has two outstanding; 0 means 1 MiB
	SendDepth int         // maximum number of outstanding messages of Conn.Write; 0 means 4
	// receives that a connection keeps posted in each direction, for Conn.Send
	Receives int
	Timeout  uint8 // the InfiniBand code of the ACK timeout; 0 means 8, about a millisecond
	// Plain hosts agree to no extension: plain RoCEv2 as with any peer, with delays as the only
	// signal of congestion control.
	Plain bool
	// Cold hosts resolve addresses when their first flows begin.
	Cold bool
	// ICRC makes endpoints compute and check the invariant CRC of every packet, for readers of
	// frames. Otherwise the network vouches for it, see fabric.Config.OffloadICRC. A run has the
	// same results either way, and takes less time without. Wrap implies ICRC.
	ICRC bool
	// Wrap, unless nil, returns a replacement of the port of a host, such as a recorder of frames.
	Wrap PortWrapper
}

// LinkMTU is the default MTU of links: RoCEv2's longest packet and room for the data that switches
// add to it.
const LinkMTU = 4400

// Run builds the scenario and runs it to its end, see Simulation.Run. A scenario without a log
// records into that of WithTrace.
func (s Scenario) Run(ctx context.Context) (*Result, error) {
	if s.Trace == nil {
		s.Trace = traceOf(ctx)
	}
	simulation, err := New(s)
	if err != nil {
		return nil, err
	}
	return simulation.Run(ctx)
}

// Run runs the scenario to its end, once. If the context ends or a connection fails before that, it
// returns the partial result and the error.
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

// warm returns the time for the hosts of declared flows to resolve addresses.
const warm = 100 * units.Microsecond

// prepare connects the queue pairs of declared flows, and makes hosts resolve addresses.
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
		if err := s.ResolveAddresses(); err != nil {
			return err
		}
		for _, sw := range s.Net.Switches() {
			sw.Recount() // the statistics begin at zero
		}
		return nil
	}
	return s.Net.Run(s.Net.Now().Add(warm))
}

// begin schedules everything that happens after zero.
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

// failure returns the error that ends the run.
func (s *Simulation) failure() error {
	if len(s.Errors) == 0 || s.Workload.MayFail {
		return nil
	}
	return fmt.Errorf("%d errors, the first: %w", len(s.Errors), s.Errors[0])
}

// over reports whether the run is over.
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

// note records an error, which ends the run.
func (s *Simulation) note(err error) {
	if err != nil {
		s.Errors = append(s.Errors, err)
	}
}

// Zero returns the time from which the times of the Scenario count.
func (s *Simulation) Zero() units.Time { return s.zero }

// Result returns the partial result of a run in progress.
func (s *Simulation) Result() *Result { return s.result }
