package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// virtual returns PrioPlus around Swift, with W_AI in packets. Priorities are the paper's: the
// lowest is 1.
func virtual(table string, priority int, wai float64) (cc.Factory, error) {
	channels, err := prioplus.ParseChannels(table)
	if err != nil {
		return nil, err
	}
	inner, err := cc.Parse(fmt.Sprintf("swift:ai=%g,beta=0.8,max_mdf=0.5,gate_by_delay=true", wai))
	if err != nil {
		return nil, err
	}
	spec := prioplus.Spec{Inner: inner, Channels: channels, Priority: priority - 1}
	return spec, spec.Check()
}

// artifactRules chooses the rules of the published simulator where they differ from the paper's.
const artifactRules = ",artifact=on"

// wai is W_AI of the micro-benchmark, in packets: 0.0012 BDP (the artifact).
const wai = 0.0012 * bdp

// noisyMicro is the micro-benchmark with the noise of the paper's testbed.
func noisyMicro(seed uint64, until units.Duration) sim.Bottleneck {
	c := micro(seed, until)
	c.Noise = workload.DelayNoise.Sample
	c.Interval = bin
	return c
}
