package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// ackClass is the class of ACKs and CNPs, which have a queue of their own.
const ackClass = 56 << 2

// rdma is a scenario whose endpoints behave like those of scenes: DCQCN as in NVIDIA's
// NICs.
func rdma(j *experiment.Job, message units.Bytes) (sim.Scenario, error) {
	control, err := cc.Parse("dcqcn-nic")
	return sim.Scenario{
		Hosts:  sim.Hosts{Chunk: message, Timeout: 14},
		Scheme: sim.Scheme{Control: control, CNPInterval: 4 * us, AnswerClass: ackClass},
		Seed:   j.Seed,
	}, err
}

// publish gives a scene the DCQCN of the paper's table 4, in place of NVIDIA's, whose target rate
// is not lowered by each cut.
func publish(s *scene.Scene) { s.Control, s.CNPs = "dcqcn", cc.CNPInterval }

// experience is the experience-based watermark.
func experience() bytetuning.Watermark {
	w, err := bytetuning.Baseline("experience", bytetuning.Path{})
	if err != nil {
		panic(err) // it exists
	}
	return w
}
