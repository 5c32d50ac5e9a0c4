package taurus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// listener is an algorithm that passes its events to an experiment.
type listener struct {
	events cc.EventSet
	first  cc.Decision
	on     func(ev *cc.Event, now units.Time) cc.Decision
}

// Events implements cc.Algorithm.
func (l *listener) Events() cc.EventSet { return l.events }

// Start implements cc.Starter.
func (l *listener) Start(units.Time) cc.Decision { return l.first }

// On implements cc.Algorithm.
func (l *listener) On(ev *cc.Event, now units.Time) cc.Decision { return l.on(ev, now) }

// control is a cc.Factory that always makes one algorithm.
type control struct{ cc.Algorithm }

// New implements cc.Factory.
func (c control) New(cc.Path) (cc.Algorithm, error) { return c.Algorithm, nil }

// Name implements cc.Factory.
func (control) Name() string { return "listener" }

func (control) String() string { return "listener" }

// agentOf is an agent on the core of a device that reports everything at once. All its flows have
// one algorithm.
func agentOf(d nicoffload.Device, a cc.Algorithm, b nicoffload.Binding) (*nicoffload.Agent, error) {
	return nicoffload.NewAgent(nicoffload.AgentConfig{
		Device: d, Aggregation: &nicoffload.Immediate,
		Adopt: func(nicoffload.Handle) (cc.Algorithm, error) { return a, nil },
		Bind:  func(cc.Algorithm) nicoffload.Binding { return b },
	}, 0)
}
