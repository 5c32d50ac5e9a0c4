package neigh

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func TestNewRefuses(t *testing.T) {
	prefix := netip.MustParsePrefix
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no MAC", func(c *Config) { c.MAC = [6]byte{} }, "MAC address 000000000000"},
		{"group MAC", func(c *Config) { c.MAC = broadcastMAC }, "zero or a group's"},
		{"no address", func(c *Config) { c.Addrs = nil }, "no address"},
		{"invalid", func(c *Config) { c.Addrs[0] = netip.Prefix{} }, "invalid Prefix"},
		{"multicast", func(c *Config) { c.Addrs[0] = prefix("224.0.0.1/24") }, "224.0.0.1/24"},
		{"network", func(c *Config) { c.Addrs[0] = prefix("10.0.0.0/24") }, "10.0.0.0/24"},
		{"broadcast", func(c *Config) { c.Addrs[0] = prefix("10.0.0.255/24") }, "10.0.0.255/24"},
		{"twice", func(c *Config) { c.Addrs[1] = c.Addrs[0] }, "10.0.0.1 is there twice"},
		{"far gateway", func(c *Config) {
			c.Gateways[0] = netip.MustParseAddr("10.1.0.1")
		}, "10.1.0.1"},
		{"own gateway", func(c *Config) { c.Gateways[0] = our4 }, "our own"},
		{"two gateways", func(c *Config) { c.Gateways[1] = peer4 }, "second of its family"},
		{"VLAN", func(c *Config) { c.VLAN = 4095 }, "VLAN 4095"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := config()
			c.change(&bad)
			_, err := New(bad)
			require.ErrorIs(t, err, ErrConfig)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestNewKeepsItsOwnConfig(t *testing.T) {
	c := config()
	table, err := New(c)
	require.NoError(t, err)
	c.Addrs[0], c.Gateways[0] = netip.Prefix{}, netip.Addr{}
	_, err = table.Resolve(peer4, 0)
	assert.NoError(t, err)
}

func TestLinkLocal(t *testing.T) { // the example of RFC 4291 appendix A
	p := LinkLocal([6]byte{0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde})
	assert.Equal(t, "fe80::3656:78ff:fe9a:bcde/64", p.String())
}

func TestRoute(t *testing.T) {
	ll := LinkLocal(ourMAC).Addr()
	for _, c := range []struct {
		dst, hop, src string
		err           error
	}{
		{dst: "10.0.0.2", hop: "10.0.0.2", src: "10.0.0.1"},
		{dst: "::ffff:10.0.0.2", hop: "10.0.0.2", src: "10.0.0.1"},
		{dst: "192.0.2.1", hop: "10.0.0.254", src: "10.0.0.1"},
		{dst: "10.0.0.1", hop: "10.0.0.1", src: "10.0.0.1"},
		{dst: "2001:db8::2", hop: "2001:db8::2", src: "2001:db8::1"},
		{dst: "2001:db8:1::2", hop: "2001:db8::fe", src: "2001:db8::1"},
		{dst: "fe80::9", hop: "fe80::9", src: ll.String()},
		{dst: "fe80::9%eth0", hop: "fe80::9", src: ll.String()},
		{dst: "10.0.0.255", err: ErrAddress},
		{dst: "10.0.0.0", err: ErrAddress},
		{dst: "255.255.255.255", err: ErrAddress},
		{dst: "224.0.0.1", err: ErrAddress},
		{dst: "ff02::1", err: ErrAddress},
		{dst: "::", err: ErrAddress},
		{dst: "127.0.0.1", err: ErrAddress},
	} {
		t.Run(c.dst, func(t *testing.T) {
			table := newTable(t)
			dst := netip.MustParseAddr(c.dst)
			e, err := table.Resolve(dst, 0)
			src, sourceErr := table.Source(dst)
			if c.err != nil {
				assert.ErrorIs(t, err, c.err)
				assert.ErrorIs(t, sourceErr, c.err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, sourceErr)
			assert.Equal(t, c.hop, e.IP().String())
			assert.Equal(t, c.src, src.String())
			again, err := table.Resolve(dst, 1)
			require.NoError(t, err)
			assert.Same(t, e, again)
		})
	}
}

func TestNoRoute(t *testing.T) {
	table := newTable(t, func(c *Config) { c.Gateways = nil })
	_, err := table.Resolve(netip.MustParseAddr("192.0.2.1"), 0)
	require.ErrorIs(t, err, ErrNoRoute)
	assert.ErrorContains(t, err, "192.0.2.1")
	assert.ErrorContains(t, err, "10.0.0.1/24")
	assert.ErrorContains(t, err, "2001:db8::1/64")
	_, err = table.Source(netip.MustParseAddr("192.0.2.1"))
	assert.ErrorIs(t, err, ErrNoRoute)
	_, err = table.Resolve(netip.Addr{}, 0)
	assert.ErrorIs(t, err, ErrAddress)
}

func TestLinkLocalGoesThroughNoGateway(t *testing.T) {
	table := newTable(t, func(c *Config) { c.Addrs = c.Addrs[:2] })
	_, err := table.Resolve(netip.MustParseAddr("fe80::9"), 0)
	assert.ErrorIs(t, err, ErrNoRoute)
}

func TestSourceThroughLinkLocalGateway(t *testing.T) {
	gateway := netip.MustParseAddr("fe80::fe")
	table := newTable(t, func(c *Config) { c.Gateways = []netip.Addr{gateway} })
	far := netip.MustParseAddr("2001:db8:9::9")
	src, err := table.Source(far)
	require.NoError(t, err)
	assert.Equal(t, our6, src)

	table = newTable(t, func(c *Config) {
		c.Gateways, c.Addrs = []netip.Addr{gateway}, c.Addrs[2:]
	})
	_, err = table.Source(far)
	assert.ErrorIs(t, err, ErrNoRoute)
}

func TestLongestPrefixWins(t *testing.T) {
	narrow := netip.MustParsePrefix("10.0.0.129/25")
	table := newTable(t, func(c *Config) { c.Addrs = append(c.Addrs, narrow) })
	src, err := table.Source(netip.MustParseAddr("10.0.0.200"))
	require.NoError(t, err)
	assert.Equal(t, narrow.Addr(), src)
	src, err = table.Source(peer4)
	require.NoError(t, err)
	assert.Equal(t, our4, src)
}

func TestOwnAddressIsKnown(t *testing.T) {
	table := newTable(t)
	for _, ip := range []netip.Addr{our4, our6} {
		assert.True(t, table.Owns(ip))
		e, err := table.Resolve(ip, 0)
		require.NoError(t, err)
		mac, ok := e.MAC()
		assert.True(t, ok)
		assert.Equal(t, ourMAC, mac)
		assert.NotZero(t, e.Generation())
	}
	assert.False(t, table.Pending())
	assert.Equal(t, units.Time(5).Add(units.Forever), table.Poll(5))
	assert.False(t, table.Owns(peer4))
}

func TestQueueIsBounded(t *testing.T) {
	table := wideTable(t)
	for i := range MaxUnconfirmed {
		resolve(t, table, nth(i), 0)
	}
	table.Poll(at(units.Millisecond))
	assert.Len(t, emitted(t, table), QueueDepth)
	assert.EqualValues(t, 2*MaxUnconfirmed-QueueDepth, table.Counters().DropQueueFull)
}
