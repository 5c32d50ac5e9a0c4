package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// answers is the class of ACKs and CNPs, which have a queue of their own.
const answers = 56 << 2

// rdma is a scenario whose endpoints behave like those of scenes: DCQCN as in NVIDIA's
// NICs.
func rdma(j *experiment.Job, message units.Bytes) (sim.Scenario, error) {
	control, err := cc.Parse("dcqcn-nic")
	return sim.Scenario{
		Hosts:  sim.Hosts{Chunk: message, Timeout: 14},
		Scheme: sim.Scheme{Control: control, CNPInterval: 4 * us, AnswerClass: answers},
		Seed:   j.Seed,
	}, err
}

// experience is the experience-based watermark.
func experience() bytetuning.Watermark {
	w, err := bytetuning.Baseline("experience", bytetuning.Path{})
	if err != nil {
		panic(err) // it exists
	}
	return w
}
