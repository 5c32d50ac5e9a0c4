package fabric_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// busyRun runs a network with transport endpoints, ECN marks, drops, pauses and faults from a seed.
// It returns the digest of its events and all counters.
func busyRun(t testing.TB, seed uint64) (uint64, string) {
	var qs fabric.Queues
	qs[0] = fabric.Queue{Lossless: true, Alpha: 0.25, Headroom: 50_000, Reserve: 4096, Resume: 3000,
		ECN: fabric.ECN{Kmin: 10_000, Kmax: 100_000, Pmax: 0.2}}
	n := fabric.LeafSpine{
		Leaves: 3, Spines: 2, HostsPerLeaf: 4, Host: fabric.Link{Rate: 100 * units.Gbps,
			Delay: units.Microsecond}, Up: fabric.Link{Rate: 100 * units.Gbps,
			Delay: units.Microsecond},
	}.Build(fabric.Parts{Config: fabric.Config{Seed: seed},
		Switch: fabric.SwitchConfig{Buffer: 2 * units.MiB, Queues: qs.At()}})
	c, err := sim.New(sim.Scenario{Topology: sim.On(n), Seed: seed,
		Scheme: sim.Scheme{TrafficClass: 2}})
	require.NoError(t, err)
	require.NoError(t,
		n.Switches()[0].Ports()[0].SetFaults(fabric.LinkFaults{Lose: 0.001, Reorder: 0.001,
			Duplicate: 0.001, Corrupt: 0.001}))
	traffic, err := workload.Poisson{Hosts: 12, Rate: 100 * units.Gbps, Load: 0.8,
		Sizes: workload.WebSearch, Seed: seed, Until: units.Time(300 * units.Microsecond)}.Source()
	require.NoError(t, err)
	c.Drive(traffic, nil)
	run(t, n, 500*units.Microsecond)
	counters := ""
	for _, s := range n.Switches() {
		for _, p := range s.Ports() {
			counters += fmt.Sprintf("%+v %+v %+v\n", p.Stats(), p.QueueStats(0), p.FaultStats())
		}
	}
	for _, node := range c.Nodes {
		counters += fmt.Sprintf("%+v %+v\n", node.Host.NIC().Stats(), node.Endpoint.Stats())
	}
	return n.Digest(), counters
}

// TestSameSeedSameRun checks that equal seeds give equal digests and counters at any GOMAXPROCS,
// and that another seed gives another digest.
func TestSameSeedSameRun(t *testing.T) {
	seed := testSeed(t)
	digest, counters := busyRun(t, seed)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		d, c := busyRun(t, seed)
		assert.Equal(t, digest, d, "GOMAXPROCS %d", procs)
		assert.Equal(t, counters, c)
	}
	other, _ := busyRun(t, seed+1)
	assert.NotEqual(t, digest, other)
}
