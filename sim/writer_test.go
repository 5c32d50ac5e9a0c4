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
