package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// A writer keeps its rate as long as there is room, never exceeds its depth, and with a think time
// has one message outstanding.
func TestWriter(t *testing.T) {
	const us, rate = units.Microsecond, 25 * units.Gbps
	const goodput = float64(rate) * 1024 / (1024 + 82)
	for _, c := range []struct {
		what     string
		w        sim.Writer
		messages float64 // per millisecond
	}{
		{"at a rate", sim.Writer{Bytes: 8192, Depth: 4, Every: 10 * us}, 100},
		{"at more than the link", sim.Writer{Bytes: 8192, Depth: 4, Every: us},
			1e-3 * goodput / 8 / 8192},
		{"as much as it takes", sim.Writer{Bytes: 8192, Depth: 4}, 1e-3 * goodput / 8 / 8192},
		// 1.00 µs of link, and 2.8 µs for eight packets, one after the other.
		{"with time to think", sim.Writer{Bytes: 8192, Depth: 1, Think: 20 * us},
			1000 / (20 + 4 + 8.0*1106*8/25000)},
	} {
		net := fabric.Star(fabric.Parts{}, 2, fabric.Link{Rate: rate, Delay: us})
		cl, err := sim.New(sim.Scenario{Topology: sim.On(net), Hosts: sim.Hosts{SendDepth: 4}})
		require.NoError(t, err)
		require.NoError(t, cl.ResolveAddresses())
		w := c.w
		w.Conn, err = cl.Connect(0, 1)
		require.NoError(t, err)
		ended := 0
		w.Ended = func(units.Time, units.Time) { ended++ }
		begin := net.Now()
		w.Begin(begin)
		require.NoError(t, net.Run(begin.Add(units.Millisecond)))
		require.Empty(t, cl.Errors, "there is room for four")
		assert.InDelta(t, c.messages, ended, 0.02*c.messages+1, c.what)
	}
}

func TestJitterOfRequests(t *testing.T) {
	s := sim.Scenario{
		Topology: sim.Star(3, fabric.Link{Rate: 25 * units.Gbps, Delay: units.Microsecond}),
		Workload: sim.Workload{
			Requests: []sim.Requests{{From: 0, To: 2, Bytes: 4096, Start: 5 * units.Microsecond},
				{From: 1, To: 2, Bytes: 4096}},
			Jitter: 10 * units.Microsecond,
		},
		Seed: 3, Until: 50 * units.Microsecond,
	}
	r, err := s.Run(t.Context())
	require.NoError(t, err)
	starts := map[units.Duration]bool{}
	for i, log := range r.Requests {
		late := log.Start - s.Workload.Requests[i].Start
		assert.GreaterOrEqual(t, late, units.Duration(0))
		assert.Less(t, late, s.Workload.Jitter)
		assert.Equal(t, log.Start, log.Done[0].Posted)
		starts[late] = true
	}
	assert.Len(t, starts, 2, "drawn for each program")
}
