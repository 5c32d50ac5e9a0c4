package neigh

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// An announcement reaches all, has one frame for each address, and replaces the MAC address that a
// neighbour has for it.
func TestAnnounce(t *testing.T) {
	table := newTable(t)
	table.Announce()
	frames := emitted(t, table)
	require.Len(t, frames, 3)

	p := decode(t, frames[0])
	arp := p.Layer(layers.LayerTypeARP).(*layers.ARP)
	require.EqualValues(t, layers.ARPRequest, arp.Operation)
	require.Equal(t, our4.AsSlice(), []byte(arp.SourceProtAddress))
	require.Equal(t, our4.AsSlice(), []byte(arp.DstProtAddress))
	require.Equal(t, broadcastMAC[:],
		[]byte(p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC))
	for _, f := range frames[1:] {
		p := decode(t, f)
		require.Equal(t, "33:33:00:00:00:01",
			p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC.String())
		na := p.Layer(layers.LayerTypeICMPv6NeighborAdvertisement)
		require.EqualValues(t, flagOverride>>24,
			na.(*layers.ICMPv6NeighborAdvertisement).Flags)
	}

	now := units.Time(0).Add(units.Second)
	for i := range 2 { // IPv4 and IPv6
		peer := newTable(t, func(c *Config) {
			c.MAC = peerMAC
			c.Addrs[0] = netip.PrefixFrom(peer4, 24)
			c.Addrs[1] = netip.PrefixFrom(peer6, 64)
		})
		addr := config().Addrs[i].Addr()
		e, err := peer.insert(addr)
		require.NoError(t, err)
		peer.observe(e, otherMAC, now)
		for _, f := range frames {
			peer.Receive(f, now)
		}
		mac, ok := e.MAC()
		require.True(t, ok)
		require.Equal(t, ourMAC, mac)
		require.EqualValues(t, 1, peer.Counters().MACChanges)
	}
}
