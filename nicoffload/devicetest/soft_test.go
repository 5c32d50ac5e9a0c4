package devicetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/devicetest"
	"github.com/goroce/goroce/units"
)

// TestSoftNIC tests the soft NIC on the agent's core.
func TestSoftNIC(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) devicetest.Rig {
		n, err := nicoffload.NewNIC(nicoffload.Config{}, 0)
		require.NoError(t, err)
		return devicetest.Rig{Device: n, Datapath: n, Receive: n.Received,
			Settle: func(now units.Time) {
				n.Poll(now)
			}}
	})
}

// TestLink tests the soft NIC behind a Link.
func TestLink(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) devicetest.Rig {
		n, err := nicoffload.NewNIC(nicoffload.Config{}, 0)
		require.NoError(t, err)
		link := nicoffload.NewLink()
		side, err := link.NICSide(n)
		require.NoError(t, err)
		host, err := link.Host()
		require.NoError(t, err)
		side.Poll(0)
		return devicetest.Rig{Device: host, Datapath: side, Receive: n.Received,
			Settle: func(now units.Time) {
				side.Poll(now)
				side.Poll(now)
			}}
	})
}
