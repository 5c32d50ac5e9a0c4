package tocc

import (
	"github.com/goroce/goroce/bench/cluster"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/workload"
	port "github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// server answers how flows are served. out gets to know the gates and granters.
func (r run) server(m method, control cc.Control, out *outcome) (func(workload.Flow) cluster.Service, error) {
	plain := cluster.Service{Control: control, AnswerClass: answerClass}
	if m.Tokens == "" {
		return func(workload.Flow) cluster.Service { return plain }, nil
	}
	spec, err := tocc.Parse(m.Tokens)
	if err != nil {
		return nil, err
	}
	class := func(units.Bytes) port.Class { return port.ClassData }
	if m.Priorities {
		if spec, class, err = r.homa(m); err != nil {
			return nil, err
		}
		plain.AnswerClass = homaControl << 2
	}
	endpoints := make([]*tocc.Endpoint, r.Network.hosts())
	for i := range endpoints {
		endpoints[i] = spec.Endpoint() // whose granters know of each other
	}
	return func(f workload.Flow) cluster.Service {
		s := plain
		s.Class = class(f.Bytes)
		s.Admit = func(_, to, _ int, path cc.Path) (cc.Gate, cc.Granter, error) {
			gate, granter, err := endpoints[to].New(path)
			if err == nil {
				out.Admitted = append(out.Admitted, admitted{f.Bytes, gate.(tallied), granter.(tallied)})
			}
			return gate, granter, err
		}
		return s
	}, nil
}

// homa answers Homa's priorities for the traffic, and the class in which a sender sends a flow: the smaller first.
// Homa has the one first of which least remains; here that is so but for how far each has come.
func (r run) homa(m method) (tocc.Spec, func(units.Bytes) port.Class, error) {
	sizes, err := workload.ByName(r.Traffic.Workload)
	if err != nil {
		return tocc.Spec{}, nil, err
	}
	bdp := r.Network.Host.Rate.Bytes(baseRTT)
	spec, err := tocc.Parse(m.Tokens + ":" + homaSettings(sizes, bdp, homaScheduled[r.Traffic.Workload], homaLevels))
	bounds := parted(sizes, units.Bytes(units.Forever), homaLevels)
	return spec, func(size units.Bytes) port.Class {
		class := port.Classes + homaLevels - 1
		for _, b := range bounds {
			if size <= b {
				break
			}
			class--
		}
		return class
	}, err
}

// admitted is a flow with tokens.
type admitted struct {
	Bytes         units.Bytes
	Gate, Granter tallied
}

// tallied is either half of one.
type tallied interface{ Tally() tocc.Tally }
