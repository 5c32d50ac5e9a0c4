package sim_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// TestSameResultWithoutICRC checks that a run has the same results whether endpoints compute the
// invariant CRC or the network vouches for it, when links corrupt packets.
func TestSameResultWithoutICRC(t *testing.T) {
	run := func(icrc bool) *sim.Result {
		r, err := sim.Scenario{
			Topology: sim.Star(4, fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}),
			Hosts:    sim.Hosts{ICRC: icrc},
			Scheme:   sim.Scheme{Selective: true},
			Workload: sim.Workload{Traffic: sim.Load(workload.WebSearch, 0.5,
				300*units.Microsecond)},
			Faults: fabric.Plan{
				{Kind: fabric.Impairment, Port: 0, Faults: fabric.LinkFaults{Corrupt: 0.01}},
				{Kind: fabric.Impairment, Port: 3, Faults: fabric.LinkFaults{Corrupt: 0.01}},
			},
			Seed: 3,
		}.Run(context.Background())
		require.NoError(t, err)
		return r
	}
	with, without := run(true), run(false)
	require.NotEmpty(t, with.Flows)
	assert.Equal(t, with.Flows, without.Flows)
	assert.Equal(t, with.Totals, without.Totals)
	assert.Equal(t, with.Simulation.Net.Hops, without.Simulation.Net.Hops)
	corrupted := uint64(0)
	for i, n := range with.Simulation.Nodes {
		stats := n.Endpoint.Stats()
		assert.Equal(t, stats, without.Simulation.Nodes[i].Endpoint.Stats())
		corrupted += stats.DropICRC
	}
	assert.NotZero(t, corrupted)
}
