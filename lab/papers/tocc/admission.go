package tocc

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/workload"
	port "github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// server returns how flows are served. It adds the gates and granters to out.
func (r run) server(m method, control cc.Factory,
	out *outcome) (func(*sim.Simulation, workload.Flow) (sim.Service, error), error) {
	plain := sim.Service{Control: control, AnswerClass: answerClass}
	if m.Tokens == "" {
		return func(*sim.Simulation, workload.Flow) (sim.Service, error) { return plain, nil }, nil
	}
	o, err := r.order(m)
	if err != nil {
		return nil, err
	}
	if m.Priorities > 0 {
		plain.AnswerClass = homaControl << 2
	}
	endpoints := make([][]*tocc.Endpoint, r.Network.hosts())
	for i := range endpoints {
		for _, spec := range o.specs {
			// whose granters share their state
			endpoints[i] = append(endpoints[i], spec.Endpoint())
		}
	}
	return func(_ *sim.Simulation, f workload.Flow) (sim.Service, error) {
		s, group := plain, o.group(f.Bytes)
		if m.Priorities > 0 {
			s.Class = port.Classes + port.Class(group)
		}
		s.Admit = func(p sim.Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
			gate, granter, err := endpoints[p.To][group%len(o.specs)].New(path)
			if err == nil {
				out.Admitted = append(out.Admitted,
					admitted{f.Bytes, gate.(tallied), granter.(tallied)})
			}
			return gate, granter, err
		}
		return s, nil
	}, nil
}

// order is how flows of different sizes are separated.
type order struct {
	specs  []tocc.Spec   // one for all, or one for each group
	bounds []units.Bytes // largest sizes of the groups but the last
}

// group returns the group of a size, 0 for the largest flows.
func (o order) group(size units.Bytes) int {
	for i, b := range o.bounds {
		if size <= b {
			return len(o.bounds) - i
		}
	}
	return 0
}

// order returns the order of a scheme. Groups have equal bytes. A sender of Homa sends the message
// with the least remaining bytes first; here a smaller group goes first, whatever the progress of
// its messages.
func (r run) order(m method) (o order, err error) {
	text := m.Tokens
	groups := max(m.Priorities, m.Channels)
	var sizes *workload.Sizes
	if groups > 0 {
		if sizes, err = workload.ByName(r.Traffic.Workload); err != nil {
			return o, err
		}
		o.bounds = parted(sizes, units.Bytes(units.Forever), groups)
	}
	if m.Priorities > 0 {
		scheduled := min(homaScheduled[r.Traffic.Workload], m.Priorities-1)
		text += ":" + homaSettings(sizes, r.Network.Host.Rate.Bytes(baseRTT), scheduled,
			m.Priorities)
	}
	spec, err := tocc.Parse(text)
	if err != nil || m.Channels == 0 {
		o.specs = []tocc.Spec{spec}
		return o, err
	}
	channels, err := prioplus.ParseChannels(fmt.Sprintf("n=%d,high=0.25,low=0.375,direct=0.125",
		m.Channels))
	if err != nil {
		return o, err
	}
	inner, err := cc.Parse("swift:ai=0.0012BDP,beta=0.8,max_mdf=0.5,gate_by_delay=true")
	if err != nil {
		return o, err
	}
	for priority := range m.Channels {
		o.specs = append(o.specs,
			spec.WithTokenCC(prioplus.Spec{Inner: inner, Channels: channels, Priority: priority}))
	}
	return o, nil
}

// admitted is a flow with tokens.
type admitted struct {
	Bytes         units.Bytes
	Gate, Granter tallied
}

// tallied is either half of one.
type tallied interface{ Stats() tocc.Stats }
