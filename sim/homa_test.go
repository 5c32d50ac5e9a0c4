package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/units"
)

// Homa gives the packets of a flow changing priorities, and no switch drops any. With a long
// reorder window nothing counts as lost, and nothing is retransmitted. Without one, what counts as
// lost must not cost the flows their tokens: the longest takes 3.2 ms either way.
func TestHomaReorders(t *testing.T) {
	for _, patience := range []units.Duration{0, units.Millisecond} {
		spec, err := tocc.Parse("homa")
		require.NoError(t, err)
		link := fabric.Link{Rate: 100 * units.Gbps, Delay: 600 * units.Nanosecond}
		net := fabric.LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 4, Host: link,
			Up: link}.Build(fabric.Parts{
			Config: fabric.Config{Seed: 1, MTU: 1500}, Switch: fabric.HomaSwitch().Config(),
		})
		cl, err := sim.New(sim.Scenario{
			Topology: sim.On(net),
			Hosts:    sim.Hosts{Timeout: 11},
			Scheme: sim.Scheme{Selective: true,
				AnswerClass: 56 << 2,
				Recovery:    sim.Recovery{Reordering: patience, MaxHeld: 4096},
				Tokens:      &spec,
			},
		})
		require.NoError(t, err)
		require.NoError(t, cl.ResolveAddresses())
		traffic, err := workload.Poisson{Hosts: 8, Rate: 100 * units.Gbps, Load: 0.7,
			Sizes: workload.WebSearch, Seed: 1, Flows: 60}.Source()
		require.NoError(t, err)
		done := 0
		cl.Drive(traffic, func(*sim.Transfer) { done++ })
		require.NoError(t, net.Run(net.Now().Add(10*units.Millisecond)))
		require.Empty(t, cl.Errors)
		require.Equal(t, 60, done)
		var again, missing, held uint64
		for _, n := range cl.Nodes {
			k := n.Endpoint.Stats()
			again, missing, held = again+k.Retransmitted, missing+k.Missing, held+k.Held
		}
		t.Logf("patience %v: %d packets overtook, %d counted as missing, %d sent again", patience,
			held, missing, again)
		assert.NotZero(t, held)
		assert.Equal(t, patience == 0, again > 0)
		assert.Equal(t, patience == 0, missing > 0)
	}
}
