package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

var clusterLink = fabric.Link{Rate: 400 * units.Gbps, Delay: units.Microsecond}

// TestRailOptimised checks that hosts of one rail and group are one switch apart, and all others
// three.
func TestRailOptimised(t *testing.T) {
	const rails, servers = 4, 3
	n := fabric.RailOptimised{Groups: 2, ServersPerGroup: servers, Rails: rails, Spines: 2,
		Host: clusterLink, Up: clusterLink}.Build(fabric.Parts{})
	require.NoError(t, n.Build())
	require.Len(t, n.Hosts(), 2*servers*rails)
	for a := range n.Hosts() {
		for b := range n.Hosts() {
			links := 4
			if a%rails == b%rails && a/rails/servers == b/rails/servers {
				links = 2
			}
			if a != b {
				assert.Len(t, n.Path(a, b, 1), links, "%d to %d", a, b)
			}
		}
	}
}

// TestDragonfly checks that any two hosts are connected by at most one global and two local links,
// and that every switch has its links to other groups.
func TestDragonfly(t *testing.T) {
	for _, d := range []fabric.Dragonfly{
		{Groups: 9, SwitchesPerGroup: 4, HostsPerSwitch: 2, GlobalPerSwitch: 2},
		{Groups: 5, SwitchesPerGroup: 4, HostsPerSwitch: 1, GlobalPerSwitch: 1},
		{Groups: 3, SwitchesPerGroup: 2, HostsPerSwitch: 2, GlobalPerSwitch: 2},
	} {
		d.Host, d.Local, d.Global = clusterLink, clusterLink, clusterLink
		n := d.Build(fabric.Parts{})
		require.NoError(t, n.Build())
		for a := range n.Hosts() {
			for b := range n.Hosts() {
				if a != b {
					path := n.Path(a, b, 1)
					assert.NotEmpty(t, path, "%+v: %d to %d", d, a, b)
					assert.LessOrEqual(t, len(path), 5)
				}
			}
		}
		for _, s := range n.Switches() {
			assert.Len(t, s.Ports(), d.HostsPerSwitch+d.SwitchesPerGroup-1+d.GlobalPerSwitch)
		}
	}
}
