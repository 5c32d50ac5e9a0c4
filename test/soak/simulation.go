package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// simulation executes a plan.
type simulation struct {
	plan     *plan
	net      *fabric.Network
	rng      rng // draws made while the simulation runs
	nodes    []*node
	open     int // sessions that are not closed
	problems []string
	stats    stats
}

// stats summarizes a simulation.
type stats struct {
	Messages  uint64 // successful messages
	Bytes     uint64 // of successful messages
	Datagrams uint64 // unreliable messages that arrived
	Refused   uint64 // requests that failed as intended
	Exhausted uint64 // requests whose retries were exceeded
	Hops      uint64
	Digest    uint64 // of all events of the network
}

func (s *stats) add(t stats) {
	s.Messages += t.Messages
	s.Bytes += t.Bytes
	s.Datagrams += t.Datagrams
	s.Refused += t.Refused
	s.Exhausted += t.Exhausted
	s.Hops += t.Hops
}

// maxProblems is the number of problems recorded per simulation; the first usually causes the rest.
const maxProblems = 5

// newSimulation returns the simulation of a plan, not yet started.
func newSimulation(p *plan) *simulation {
	return &simulation{plan: p, net: p.topology.build(p.parts), rng: newRNG(p.seed, 0x6c697665)}
}

// run runs the simulation from start to end and records violations.
func (sim *simulation) run() {
	defer func() {
		if broken := recover(); broken != nil {
			sim.problems = append(sim.problems, fmt.Sprintf("panic: %v\n%s", broken, debug.Stack()))
		}
	}()
	sim.start()
	sim.runSessions()
	if len(sim.problems) == 0 {
		sim.finish()
	}
	sim.stats.Hops, sim.stats.Digest = sim.net.Hops, sim.net.Digest()
}

// start starts the hosts and schedules sessions and faults.
func (sim *simulation) start() {
	p := sim.plan
	if err := sim.net.Build(); err != nil {
		sim.failf("%v", err)
		return
	}
	for i, h := range sim.net.Hosts() {
		sim.nodes = append(sim.nodes, &node{sim: sim, host: h, index: i})
	}
	for _, n := range sim.nodes {
		n.start()
	}
	p.faults.schedule(sim)
	sim.startForgers()
	for _, s := range p.sessions {
		s.sim = sim
		sim.open++
		if s.predecessor == nil {
			sim.net.At(s.begin, s.open)
		}
	}
}

// runSessions runs the network until all sessions are closed.
func (sim *simulation) runSessions() {
	p := sim.plan
	deadline := max(p.last, p.faults.end).Add(p.grace)
	most := sim.net.Events + p.maxEvents()
	const slices = 50
	for i := range slices {
		if sim.open == 0 || len(sim.problems) > 0 {
			return
		}
		sim.advance(deadline / slices * units.Time(i+1))
		if sim.net.Events > most {
			sim.failf("%d events, and sessions are still open", sim.net.Events)
			sim.reportOpenSessions()
			return
		}
	}
	if sim.open > 0 && len(sim.problems) == 0 {
		sim.failf("%d sessions are still open at %v", sim.open, deadline)
		sim.reportOpenSessions()
	}
}

// advance runs the network until a time.
func (sim *simulation) advance(until units.Time) {
	if err := sim.net.Run(max(until, sim.net.Now())); err != nil &&
		!errors.Is(err, fabric.ErrStopped) {
		sim.failf("%v", err)
	}
}

// reportOpenSessions records the state of every open session.
func (sim *simulation) reportOpenSessions() {
	for _, s := range sim.plan.sessions {
		if s.state == sessionClosed || len(sim.problems) >= maxProblems {
			continue
		}
		sim.problems = append(sim.problems, fmt.Sprintf("%v is in state %d: %s; %s", s, s.state,
			s.ends[0].status(), s.ends[1].status()))
	}
}

// failf records a violation and stops the simulation.
func (sim *simulation) failf(format string, args ...any) {
	if len(sim.problems) < maxProblems {
		sim.problems = append(sim.problems, fmt.Sprintf("%v: ", sim.net.Now())+fmt.Sprintf(format,
			args...))
	}
	sim.net.Stop()
}

// ports returns all ports of all hosts and switches.
func (sim *simulation) ports() (all []*fabric.Port) {
	for _, h := range sim.net.Hosts() {
		all = append(all, h.NIC().Ports()...)
	}
	for _, s := range sim.net.Switches() {
		all = append(all, s.Ports()...)
	}
	return all
}
