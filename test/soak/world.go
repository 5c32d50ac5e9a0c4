package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// world is a plan at work.
type world struct {
	plan     *plan
	net      *fabric.Network
	dice     dice // what is drawn as it happens
	nodes    []*node
	open     int // sessions that are not closed
	problems []string
	stats    stats
}

// stats sums up what a world has been through.
type stats struct {
	Messages  uint64 // that succeeded
	Bytes     uint64 // of them
	Datagrams uint64 // unreliable messages that arrived
	Refused   uint64 // requests that failed as they had to
	Exhausted uint64 // requests whose retries were exceeded
	Hops      uint64
	Digest    uint64 // of everything
}

func (s *stats) add(t stats) {
	s.Messages += t.Messages
	s.Bytes += t.Bytes
	s.Datagrams += t.Datagrams
	s.Refused += t.Refused
	s.Exhausted += t.Exhausted
	s.Hops += t.Hops
}

// mostProblems of a world are told; the first is mostly the cause of the others.
const mostProblems = 5

// newWorld makes the world of a plan, which has not begun.
func newWorld(p *plan) *world {
	return &world{plan: p, net: p.topology.build(p.parts), dice: newDice(p.seed, 0x6c697665)}
}

// live runs the world from its beginning to its end, and notes what does not hold.
func (w *world) live() {
	defer func() {
		if broken := recover(); broken != nil {
			w.problems = append(w.problems, fmt.Sprintf("panic: %v\n%s", broken, debug.Stack()))
		}
	}()
	w.begin()
	w.run()
	if len(w.problems) == 0 {
		w.end()
	}
	w.stats.Hops, w.stats.Digest = w.net.Hops, w.net.Digest()
}

// begin starts the hosts and plans what happens.
func (w *world) begin() {
	p := w.plan
	if err := w.net.Build(); err != nil {
		w.violated("%v", err)
		return
	}
	for i, h := range w.net.Hosts() {
		w.nodes = append(w.nodes, &node{world: w, host: h, index: i})
	}
	for _, n := range w.nodes {
		n.start()
	}
	p.faults.begin(w)
	w.beginHostility()
	for _, s := range p.sessions {
		s.world = w
		w.open++
		if s.prior == nil {
			w.net.At(s.begin, s.open)
		}
	}
}

// run lets everything happen, until all sessions are closed.
func (w *world) run() {
	p := w.plan
	deadline := max(p.last, p.faults.end).Add(p.grace)
	most := w.net.Events + p.events()
	const slices = 50
	for i := range slices {
		if w.open == 0 || len(w.problems) > 0 {
			return
		}
		w.advance(deadline / slices * units.Time(i+1))
		if w.net.Events > most {
			w.violated("%d events and no end", w.net.Events)
			w.tell()
			return
		}
	}
	if w.open > 0 && len(w.problems) == 0 {
		w.violated("%d sessions are not over at %v", w.open, deadline)
		w.tell()
	}
}

// advance lets everything happen until a time.
func (w *world) advance(until units.Time) {
	if err := w.net.Run(max(until, w.net.Now())); err != nil && !errors.Is(err, fabric.ErrStopped) {
		w.violated("%v", err)
	}
}

// tell adds what the open sessions are waiting for.
func (w *world) tell() {
	for _, s := range w.plan.sessions {
		if s.state == sessionClosed || len(w.problems) >= mostProblems {
			continue
		}
		w.problems = append(w.problems, fmt.Sprintf("%v is in state %d: %s; %s", s, s.state,
			s.sides[0].status(), s.sides[1].status()))
	}
}

// violated reports that an invariant does not hold.
func (w *world) violated(format string, args ...any) {
	if len(w.problems) < mostProblems {
		w.problems = append(w.problems, fmt.Sprintf("%v: ", w.net.Now())+fmt.Sprintf(format,
			args...))
	}
	w.net.Stop()
}

// ports are all ends of all links.
func (w *world) ports() (all []*fabric.Port) {
	for _, h := range w.net.Hosts() {
		all = append(all, h.NIC().Ports()...)
	}
	for _, s := range w.net.Switches() {
		all = append(all, s.Ports()...)
	}
	return all
}
