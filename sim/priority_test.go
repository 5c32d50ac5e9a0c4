package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// Flows of all priorities over a network that loses, duplicates, reorders and corrupts packets,
// including probes and their replies: each flow ends without an error.
func TestPrioritiesSurviveLoss(t *testing.T) {
	swift, err := cc.Parse("swift")
	require.NoError(t, err)
	for _, settings := range []string{"8", "n=8,room=on,patience=20"} {
		channels, err := prioplus.ParseChannels(settings)
		require.NoError(t, err)
		const hosts = 9
		net := fabric.Star(fabric.Parts{Config: fabric.Config{Seed: 4, MTU: 1500}}, hosts,
			fabric.Link{Rate: 100 * units.Gbps, Delay: 3 * units.Microsecond})
		cl, err := sim.New(sim.Scenario{
			Topology: sim.On(net),
			Scheme: sim.Scheme{AnswerClass: 0xe0,
				Of: func(p sim.Pair, s *sim.Service) {
					s.Control = prioplus.Spec{Inner: swift, Channels: channels, Priority: p.From}
				},
			},
		})
		require.NoError(t, err)
		for i := range hosts {
			require.NoError(t,
				net.Host(i).NIC().Ports()[0].SetFaults(fabric.LinkFaults{Lose: 0.01,
					Duplicate: 0.001, Reorder: 0.001, Corrupt: 0.001}))
			require.NoError(t,
				net.Switches()[0].Ports()[i].SetFaults(fabric.LinkFaults{Lose: 0.01,
					Duplicate: 0.001, Reorder: 0.001, Corrupt: 0.001}))
		}
		var flows []*sim.Transfer
		for i := range hosts - 1 {
			f, err := cl.Start(workload.Flow{Src: i, Dst: hosts - 1, Bytes: 5_000_000})
			require.NoError(t, err)
			flows = append(flows, f)
		}
		require.NoError(t, net.Run(units.Time(200*units.Millisecond)))
		assert.Empty(t, cl.Errors)
		var lost, probes uint64
		for i, f := range flows {
			assert.NotZero(t, f.Done, "priority %d", i)
			t.Logf("%s: priority %d done after %v", settings, i, f.Done)
			c := cl.Nodes[i].Endpoint.Stats()
			lost, probes = lost+c.ProbesLost, probes+c.ProbesSent
		}
		assert.Positive(t, lost, "of %d probes", probes)
	}
}
