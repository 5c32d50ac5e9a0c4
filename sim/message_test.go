package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// A message arrives and a reply returns; a reply without a receiver is an error of the simulation.
func TestReply(t *testing.T) {
	for _, cut := range []bool{false, true} {
		net := star(2)
		c, err := sim.New(sim.Scenario{Topology: sim.On(net), Hosts: sim.Hosts{Receives: 2}})
		require.NoError(t, err)
		require.NoError(t, c.ResolveAddresses())
		conn, err := c.Connect(0, 1)
		require.NoError(t, err)
		var replies []units.Bytes
		conn.Written = func(transport.Status, units.Time) {}
		conn.Replied = func(bytes units.Bytes, _ units.Time) { replies = append(replies, bytes) }
		conn.Arrived = func(bytes units.Bytes, _ units.Time) {
			assert.Equal(t, units.Bytes(5000), bytes)
			if cut {
				require.NoError(t,
					net.Host(0).NIC().Ports()[0].Peer().SetFaults(fabric.LinkFaults{Lose: 1}))
			}
			conn.Consumed(bytes)
			conn.Reply(32)
		}
		require.NoError(t, conn.Send(5000))
		require.NoError(t, net.Run(net.Now().Add(100*units.Millisecond)))
		if cut {
			assert.Empty(t, replies)
			require.NotEmpty(t, c.Errors)
			assert.ErrorContains(t, c.Errors[0], "a reply of host 1")
			continue
		}
		assert.Equal(t, []units.Bytes{32}, replies)
		assert.Empty(t, c.Errors)
	}
}
