package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// answers is the class of ACKs and CNPs, which have a queue of their own.
const answers = 56 << 2

// rdma puts endpoints on a network's hosts that behave like those of scenes: DCQCN as in NVIDIA's
// NICs.
func rdma(net *fabric.Network, seed uint64, message units.Bytes) (*sim.Simulation, error) {
	control, err := cc.Parse("dcqcn-nic")
	if err != nil {
		return nil, err
	}
	return sim.New(sim.Scenario{
		Topology: sim.On(net),
		Seed:     seed,
		Hosts:    sim.Hosts{Chunk: message, Timeout: 14},
		Scheme: sim.Scheme{Control: control,
			CNPInterval: 4 * us,
			AnswerClass: answers,
		},
	})
}

// experience is the experience-based watermark.
func experience() bytetuning.Watermark {
	w, err := bytetuning.Baseline("experience", bytetuning.Path{})
	if err != nil {
		panic(err) // it exists
	}
	return w
}
