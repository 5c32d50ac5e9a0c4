package goroce

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// offload opens the congestion control driver of each endpoint, unless it runs inline.
func (h *Host) offload(o Options) error {
	open, err := driver.Find(o.Offload)
	if open == nil {
		return err
	}
	c := driver.Config{Split: len(o.AgentCores) > 0, Silence: o.AgentSilence}
	if link, err := h.device.Link(); err == nil && link.Mbps > 0 {
		c.LineRate = units.BitRate(link.Mbps) * units.Mbps
	}
	for range o.Queues {
		one, err := open(c, h.Now())
		if err != nil {
			return err
		}
		h.offloads = append(h.offloads, one)
	}
	return nil
}

// controller returns the Controller of endpoint i, nil if inline.
func (h *Host) controller(i int) cc.Controller {
	if h.offloads == nil {
		return nil
	}
	return h.offloads[i].Controller
}

// Offload returns the congestion control driver of endpoint i, nil if it runs inline. Use its
// Controller only through Do.
func (h *Host) Offload(i int) *driver.Offload {
	if h.offloads == nil {
		return nil
	}
	return h.offloads[i]
}

// DoAgent runs f between two rounds on the core that polls the agent of endpoint i, and waits until
// f returns. Use it to add samplers of the host, for example.
func (h *Host) DoAgent(i int, f func(a *nicoffload.Agent, now units.Time)) error {
	one := h.Offload(i)
	if one == nil {
		return fmt.Errorf("goroce: endpoint %d has no agent: its congestion control runs inline",
			i)
	}
	if one.Agent == nil {
		return h.Do(i, func(*transport.Endpoint) { f(one.Controller.Agent(), h.Now()) })
	}
	c := h.agents[slices.IndexFunc(h.agents, func(c *agentCore) bool {
		return slices.Contains(c.agents, one.Agent)
	})]
	return c.do(func() { f(one.Agent, h.Now()) })
}

// startAgents starts the cores that poll agents.
func (h *Host) startAgents(o Options) error {
	byCore := map[int][]*nicoffload.Agent{}
	var cores []int // in order
	for i, one := range h.offloads {
		if one.Agent == nil {
			continue
		}
		core := o.AgentCores[i%len(o.AgentCores)]
		if byCore[core] == nil {
			cores = append(cores, core)
		}
		byCore[core] = append(byCore[core], one.Agent)
	}
	for _, core := range cores {
		a, err := startAgentCore(byCore[core], core, o.Idle)
		if err != nil {
			return err
		}
		h.agents = append(h.agents, a)
	}
	return nil
}

// stopAgents stops the agents and closes the drivers. The endpoints are no longer polled.
func (h *Host) stopAgents() (errs []error) {
	for _, a := range h.agents {
		a.stop()
	}
	for _, one := range h.offloads {
		if one.Close != nil {
			errs = append(errs, one.Close())
		}
	}
	return errs
}

// agentCore is a core that polls agents: a locked goroutine that owns them.
type agentCore struct {
	agents  []*nicoffload.Agent
	idle    Idle
	mailbox chan func()
	halt    atomic.Bool
	ended   chan struct{}
}

func startAgentCore(agents []*nicoffload.Agent, core int, idle Idle) (*agentCore, error) {
	a := &agentCore{agents: agents, idle: idle, mailbox: make(chan func()),
		ended: make(chan struct{})}
	return a, onCore(core, a.ended, a.poll)
}

// poll is the main loop of an agents' core.
func (a *agentCore) poll() {
	clock, activity := processClock(), uint64(0)
	now := clock.Now()
	idle := newIdler(a.idle, now, isOversubscribed())
	for !a.halt.Load() {
		select {
		case f := <-a.mailbox:
			f()
		default:
		}
		next, total := now.Add(units.Forever), uint64(0)
		for _, agent := range a.agents {
			next = units.Earlier(next, agent.Poll(now))
			total += agent.Activity()
		}
		if total != activity || !next.After(now) {
			activity, now = total, clock.Now()
			idle.work(now)
			continue
		}
		now = idle.wait(idle.rest(now, false), clock, now, next)
	}
}

func (a *agentCore) do(f func()) error {
	done := make(chan struct{})
	select {
	case a.mailbox <- func() { f(); close(done) }:
		<-done
		return nil
	case <-a.ended:
		return ErrClosed
	}
}

func (a *agentCore) stop() {
	a.halt.Store(true)
	<-a.ended
}
