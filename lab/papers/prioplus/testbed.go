package prioplus

import (
	"fmt"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// The testbed of section 5: 10 Gb/s, a base RTT of 13 µs. Each flow has its own sender, where in
// the paper two share a host. W_AI is 150 B: the paper does not give it, and less takes over
// slowly.
const (
	testbedRate = 10 * units.Gbps
	// of a link: 13.0 µs for a full packet and its acknowledgement
	testbedDelay = 2770 * units.Nanosecond
	testbedWAI   = 0.15
	testbedTable = "n=8,high=0,low=1,direct=0,w_low=0.5BDP"
)

func testbed(seed uint64, until units.Duration) sim.Bottleneck {
	return sim.Bottleneck{
		Seed: seed, Jitter: units.Microsecond, Rate: testbedRate, Delay: testbedDelay,
		PathMTU: payload, Chunk: 16 * units.MiB,
		Until: until, Interval: bin, Noise: workload.DelayNoise.Sample,
	}
}

// plain returns Swift with the target of a channel, without scaling, from line rate. ai is in
// packets.
func plain(above units.Duration, ai float64) (cc.Factory, error) {
	return cc.Parse(
		fmt.Sprintf(
			"swift:base_target=rtt+%gus,per_hop=0s,fs_range=0s,ai=%g,beta=0.8,max_mdf=0.5,"+
				"init_cwnd=1BDP,max_cwnd=100000,gate_by_delay=true",
			above.Microseconds(), ai))
}

// testbedStairs are priorities 3 to 6, two flows each, a step of 4 ms each.
func testbedStairs(control func(priority int) (cc.Factory, error)) *stairs {
	return &stairs{priorities: []int{3, 4, 5, 6}, flows: 2, step: 4 * units.Millisecond,
		settled: 2500 * units.Microsecond, control: control}
}
