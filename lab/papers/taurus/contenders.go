package taurus

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/ccp"
)

// feedbackRate is acknowledgements of 400 Gb/s as TAURUS counts them: figure 8b without
// aggregation.
const feedbackRate = 10.8e6

// benchPath is the path for algorithms without a network.
var benchPath = cc.Path{LineRate: 400 * gbps, BaseRTT: 8 * us, Payload: mtu, Hops: 3,
	Signals: cc.SignalMarks | cc.SignalDelay}

// benched makes one for a flow of the bench.
func benched(name string) func() (cc.Algorithm, error) {
	return func() (cc.Algorithm, error) { return parsed(name).New(benchPath) }
}

// newTaurus is the split: signals are aggregated, or each is a message.
func newTaurus(name string, flows int, rate float64, a nicoffload.Aggregation,
	algorithm func() (cc.Algorithm, error)) (*contender, error) {
	c, agent, err := nicoffload.NewLinked(nicoffload.Config{Flows: flows, Aggregation: a},
		nicoffload.AgentConfig{}, nicoffload.ControllerConfig{Silence: -1}, wall())
	if err != nil {
		return nil, err
	}
	f, err := newFeedback(c, flows, algorithm, wall())
	return &contender{name: name, datapath: f, agent: agent, handled: func() uint64 {
		return agent.Counters().Messages
	}, rate: rate}, err
}

// newCCP is CCP with a program.
func newCCP(name string, flows int, rate float64, program string,
	algorithm func() (cc.Algorithm, error)) (*contender, error) {
	c, agent, err := ccp.New(ccp.Config{Program: program}, false)
	if err != nil {
		return nil, err
	}
	f, err := newFeedback(c, flows, algorithm, wall())
	if err != nil {
		return nil, err
	}
	f.lost = func() uint64 { return c.Counters().Dropped }
	return &contender{name: name, datapath: f, agent: agent, handled: func() uint64 {
		return agent.Counters().Reports
	}, rate: rate}, nil
}
