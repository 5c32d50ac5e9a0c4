package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

func links(n *fabric.Network) int {
	ports := len(n.Hosts())
	for _, s := range n.Switches() {
		ports += len(s.Ports())
	}
	for _, h := range n.Hosts() {
		ports += len(h.NIC().Ports()) - 1
	}
	return ports / 2
}

func TestShapes(t *testing.T) {
	var p fabric.Parts
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	for _, c := range []struct {
		name                   string
		net                    *fabric.Network
		hosts, switches, links int
		hops                   int // from the first host to the last
	}{
		{"star", fabric.Star(p, 5, link), 5, 1, 5, 2},
		{"dumbbell", fabric.Dumbbell(p, 3, 4, link, link), 7, 2, 8, 3},
		{"tree", fabric.Tree(p, fabric.Branch{Children: 2, Link: link},
			fabric.Branch{Children: 3, Link: link}), 6, 3, 8, 4},
		{"fat tree of 4", fabric.FatTree(4, link).Build(p), 16, 20, 48, 6},
		{"PrioPlus micro", fabric.PrioPlusMicro(p, 8), 9, 1, 9, 2},
		{"PrioPlus testbed", fabric.PrioPlusTestbed(p), 5, 1, 5, 2},
		{"PrioPlus flow scheduling", fabric.PrioPlusFlowScheduling().Build(p), 54, 45, 162, 6},
		{"PrioPlus coflow", fabric.PrioPlusCoflow().Build(p), 320, 56, 480, 6},
		{"PrioPlus ML", fabric.PrioPlusML().Build(p), 24, 4, 27, 4},
		{"HPCC star", fabric.HPCCStar(p), 65, 1, 65, 2},
		{"HPCC Ali", fabric.HPCCAli(p), 320, 28, 800, 4},
		{"TAURUS testbed", fabric.TAURUSTestbed().Build(p), 16, 4, 20, 4},
		{"ToCC", fabric.ToCC(100*units.Gbps, 100*units.Gbps).Build(p), 160, 14, 200, 4},
		{"ToCC testbed", fabric.ToCCTestbed().Build(p), 32, 3, 34, 4},
		{"Bolt star", fabric.BoltStar(p), 32, 1, 32, 2},
		{"Bolt tree", fabric.BoltTree(p), 64, 20, 96, 6},
		{"Bolt dumbbell", fabric.BoltDumbbell(p, 4), 8, 2, 9, 3},
		{"ExpressPass", fabric.ExpressPass().Build(p), 192, 56, 320, 6},
		{"Homa", fabric.Homa(p), 144, 13, 180, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.net.Build())
			assert.Len(t, c.net.Hosts(), c.hosts)
			assert.Len(t, c.net.Switches(), c.switches)
			assert.Equal(t, c.links, links(c.net))
			last := c.hosts - 1
			assert.Len(t, c.net.Path(0, last, 0xc000), c.hops)
			assert.Len(t, c.net.Path(last, 0, 0xc000), c.hops)
		})
	}
}

func TestOversubscription(t *testing.T) {
	assert.Equal(t, 4.0, fabric.ToCC(100*units.Gbps, 100*units.Gbps).Oversubscription())
	assert.Equal(t, 1.0, fabric.ToCC(100*units.Gbps, 400*units.Gbps).Oversubscription())
	assert.Equal(t, 2.0, fabric.PrioPlusML().Oversubscription())
}

// The base RTTs that the papers print.
func TestBaseRTT(t *testing.T) {
	var p fabric.Parts
	for _, c := range []struct {
		name     string
		net      *fabric.Network
		size     units.Bytes
		want     units.Duration
		withinNS float64
	}{
		{"PrioPlus micro, 12 µs", fabric.PrioPlusMicro(p, 4), 1054, 12178 * units.Nanosecond, 30},
		{"PrioPlus testbed, 13 µs", fabric.PrioPlusTestbed(p), 1054, 13 * units.Microsecond, 150},
		{"ToCC, 5.3 µs", fabric.ToCC(100*units.Gbps, 100*units.Gbps).Build(p), 1514,
			5300 * units.Nanosecond, 30},
		{"TAURUS testbed, 5 µs", fabric.TAURUSTestbed().Build(p), 1082, 5 * units.Microsecond, 30},
		{"Bolt dumbbell, 12 µs", fabric.BoltDumbbell(p, 1), 1514, 12 * units.Microsecond, 100},
	} {
		got := c.net.BaseRTT(0, len(c.net.Hosts())-1, c.size, 60)
		assert.InDelta(t, c.want.Nanoseconds(), got.Nanoseconds(), c.withinNS, c.name)
	}
}

func TestBottleneck(t *testing.T) {
	n := fabric.Dumbbell(fabric.Parts{}, 1, 1, fabric.Link{Rate: 100 * units.Gbps},
		fabric.Link{Rate: 25 * units.Gbps})
	assert.Equal(t, 25*units.Gbps, n.Bottleneck(0, 1))
}

func TestImpossibleNetworks(t *testing.T) {
	n := fabric.New(fabric.Config{})
	n.AddHost(fabric.HostConfig{})
	require.ErrorContains(t, n.Build(), "host 0 has no link")
	for _, l := range []fabric.Link{{}, {Rate: 900 * units.Gbps}, {Rate: units.Gbps, Delay: -1}} {
		require.Error(t, fabric.Star(fabric.Parts{}, 2, l).Build())
	}
	assert.Nil(t, fabric.Star(fabric.Parts{}, 2, fabric.Link{Rate: units.Gbps}).Path(0, 0, 0))
}
