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

// An incast with NDP: a packet that finds eight others in the queue is trimmed, the receiver
// requests it again, and no sender waits for a timeout.
func TestTrimmedIncast(t *testing.T) {
	const senders, trimmed = 20, 57
	spec, err := tocc.Parse("ndp")
	require.NoError(t, err)
	net := fabric.Star(fabric.Parts{
		Config: fabric.Config{Seed: 1, MTU: 1500}, Switch: fabric.NDPSwitch(1024+tocc.PacketWire,
			trimmed).Config(),
	}, senders+1, fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	cl, err := sim.New(sim.Scenario{
		Topology: sim.On(net),
		Scheme: sim.Scheme{Selective: true,
			AnswerClass: 56 << 2,
			TrimmedDSCP: trimmed,
			Tokens:      &spec,
		},
	})
	require.NoError(t, err)
	require.NoError(t, cl.ResolveAddresses())
	var flows []*sim.Transfer
	start := net.Now()
	for i := range senders {
		f, err := cl.Start(workload.Flow{Src: i, Dst: senders, Bytes: 100 * units.KiB})
		require.NoError(t, err)
		flows = append(flows, f)
	}
	require.NoError(t, net.Run(start.Add(10*units.Millisecond)))
	require.Empty(t, cl.Errors)
	last, timeouts, again := start, uint64(0), uint64(0)
	for i, f := range flows {
		require.NotZero(t, f.Done, "flow %d", i)
		last = max(last, f.Done)
		k := cl.Nodes[i].Endpoint.Stats()
		timeouts, again = timeouts+k.Timeouts, again+k.Retransmitted
	}
	port := net.Switches()[0].Ports()[senders]
	q, headers, r := port.QueueStats(0), port.QueueStats(7), cl.Nodes[senders].Endpoint.Stats()
	goodput := float64(units.RateOf(senders*100*units.KiB, last.Sub(start))) / 1e9
	t.Logf("%.1f Gb/s, %d packets trimmed, %d headers seen, %d of no use, %d missing, %d sent "+
		"again, %d timeouts, longest queue %d",
		goodput, q.Trimmed, r.Trimmed, r.DropTrimmed, r.Missing, again, timeouts, int64(q.Longest))
	assert.NotZero(t, q.Trimmed)
	assert.NotZero(t, headers.Dropped)
	assert.GreaterOrEqual(t, r.Trimmed+r.DropTrimmed+headers.Dropped, q.Trimmed,
		"RTS may be dropped there, too")
	assert.Equal(t, q.Trimmed, r.Missing, "each is reported once, even if the header was lost, too")
	assert.Equal(t, q.Trimmed, again)
	assert.Zero(t, q.Dropped)
	assert.Zero(t, timeouts)
	assert.LessOrEqual(t, q.Longest, 9*units.Bytes(1024+tocc.PacketWire))
	assert.Greater(t, goodput, 75.)
}
