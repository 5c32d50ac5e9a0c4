// Package sim runs scenarios: hosts with transport's endpoints in a simulated fabric, with their
// traffic, congestion control, faults, and the probes that record. The same seed gives the same
// result.
//
//	scenario := sim.Scenario{
//		Topology: fabric.LeafSpine{Leaves: 4, Spines: 4, HostsPerLeaf: 8, Host: link, Up: link},
//		Workload: sim.Workload{Traffic: sim.Load(workload.WebSearch, 0.5, 10*units.Millisecond)},
//		Seed:     1,
//	}
//	swift, err := sim.ParseScheme("swift")
//	results, err := sim.Compare(ctx, scenario, swift, mine)
//	err = sim.WriteTable(os.Stdout, results...)
//
// A [Scenario] is a value: run it again with another [Scheme] and everything else stays the same.
// A [Bottleneck] is the scenario of flows that share one link. Algorithms of other modules are
// available once they are registered ([github.com/goroce/goroce/cc.Register]):
// docs/tutorial-cc.md.
//
// A [Workload] consists of flows declared one by one, a stream of flows, programs that send
// requests as perftest does, and programs that consume messages at their own pace from a model of
// the cache.
//
// [New] builds a scenario without running it. The [Simulation] that it returns connects queue
// pairs, drives flows and messages, and gives access to every switch, host and endpoint, for
// experiments that a Scenario does not express.
//
// A flow is a sequence of RDMA WRITEs on a reliable connection between its two hosts that no other
// flow uses at the time; it ends when the last of them completes. All hosts read from one buffer
// and write into another, so that a simulation of hundreds of hosts fits a cache; test/soak checks
// payloads.
//
// The package imports fabric and transport, which do not import each other.
package sim
