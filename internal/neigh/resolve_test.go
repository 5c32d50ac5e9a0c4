package neigh

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

func resolve(t testing.TB, table *Table, ip netip.Addr, now units.Time) *Entry {
	t.Helper()
	e, err := table.Resolve(ip, now)
	require.NoError(t, err)
	return e
}

func macOf(t testing.TB, e *Entry) [6]byte {
	t.Helper()
	mac, ok := e.MAC()
	require.True(t, ok)
	return mac
}

// answer4 returns peer4's reply to us.
func answer4(t testing.TB, mac [6]byte) []byte { return arpFrame(t, 2, mac, ourMAC, peer4, our4) }

func TestARPRequestOnTheWire(t *testing.T) {
	table := newTable(t)
	resolve(t, table, peer4, 0)
	p := only(t, table)
	eth := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	assert.Equal(t, hw(broadcastMAC), eth.DstMAC)
	assert.Equal(t, hw(ourMAC), eth.SrcMAC)
	arp := p.Layer(layers.LayerTypeARP).(*layers.ARP)
	assert.Equal(t, layers.LinkTypeEthernet, arp.AddrType)
	assert.Equal(t, layers.EthernetTypeIPv4, arp.Protocol)
	assert.EqualValues(t, 1, arp.Operation)
	assert.Equal(t, ourMAC[:], arp.SourceHwAddress)
	assert.Equal(t, our4.AsSlice(), arp.SourceProtAddress)
	assert.Equal(t, make([]byte, 6), arp.DstHwAddress)
	assert.Equal(t, peer4.AsSlice(), arp.DstProtAddress)
	assert.EqualValues(t, 1, table.Counters().ARPRequestsOut)
}

func TestSolicitationOnTheWire(t *testing.T) {
	table := newTable(t)
	resolve(t, table, peer6, 0)
	p := only(t, table)
	validChecksum6(t, p)
	eth := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	assert.Equal(t, "33:33:ff:aa:bb:cc", eth.DstMAC.String())
	ip := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
	assert.EqualValues(t, 255, ip.HopLimit)
	assert.Equal(t, "ff02::1:ffaa:bbcc", ip.DstIP.String())
	assert.Equal(t, our6.AsSlice(), []byte(ip.SrcIP))
	ns := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation)
	assert.Equal(t, peer6.AsSlice(), []byte(ns.TargetAddress))
	assert.Equal(t, layers.ICMPv6Options{link(layers.ICMPv6OptSourceAddress, ourMAC)}, ns.Options)
	assert.EqualValues(t, 1, table.Counters().SolicitationsOut)
}

func TestRetransmission(t *testing.T) {
	for _, ip := range []netip.Addr{peer4, peer6} {
		table := newTable(t)
		resolve(t, table, ip, 0)
		require.Len(t, emitted(t, table), 1)
		now, wait := at(0), units.Millisecond
		for range 15 {
			next := now.Add(wait)
			require.Equal(t, next, table.Poll(next.Add(-1)))
			require.False(t, table.Pending())
			table.Poll(next)
			require.Len(t, emitted(t, table), 1)
			now, wait = next, min(2*wait, units.Second)
		}
	}
}

func TestUnheldNeighbourIsNotSolicited(t *testing.T) {
	table := newTable(t)
	e := resolve(t, table, peer4, 0)
	step := func(d units.Duration, now units.Time) units.Time {
		for end := now.Add(d); now.Before(end); {
			now = table.Poll(now)
		}
		return now
	}
	now := step(2*solicitPeriod, 0)
	emitted(t, table)
	now = step(10*units.Second, now)
	require.Empty(t, emitted(t, table))

	_, known := e.MAC() // a query of the entry is sufficient
	require.False(t, known)
	now = step(10*units.Second, now)
	require.NotEmpty(t, emitted(t, table))

	now = step(2*solicitPeriod, now)
	emitted(t, table)
	e.Generation()
	now = step(10*units.Second, now)
	require.NotEmpty(t, emitted(t, table))

	now = step(2*solicitPeriod, now)
	emitted(t, table)
	resolve(t, table, peer4, now) // a new Resolve solicits at once
	require.Len(t, emitted(t, table), 1)
	assert.Equal(t, now.Add(units.Millisecond), table.Poll(now))
}

func TestHeldNeighbourIsAlwaysSolicited(t *testing.T) {
	table := newTable(t)
	now := at(0)
	for range 600 {
		resolve(t, table, peer4, now)
		now = now.Add(units.Second)
		table.Poll(now)
		require.NotEmpty(t, emitted(t, table))
	}
}

func TestAnswerResolves(t *testing.T) {
	tlla := link(layers.ICMPv6OptTargetAddress, peerMAC)
	for _, c := range []struct {
		name  string
		ip    netip.Addr
		frame []byte
	}{
		{"ARP reply", peer4, answer4(t, peerMAC)},
		{"ARP request", peer4, arpFrame(t, 1, peerMAC, broadcastMAC, peer4, our4)},
		{"ARP announcement", peer4, arpFrame(t, 1, peerMAC, broadcastMAC, peer4, peer4)},
		{"NA solicited", peer6, advertisement(solicited|override, tlla).frame(t)},
		{"NA router", peer6, advertisement(router|solicited, tlla).frame(t)},
		{"NS", peer6, solicitation(link(layers.ICMPv6OptSourceAddress, peerMAC)).frame(t)},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t)
			e := resolve(t, table, c.ip, 0)
			_, known := e.MAC()
			require.False(t, known)
			require.Zero(t, e.Generation())
			require.True(t, table.Receive(c.frame, 1))
			assert.Equal(t, peerMAC, macOf(t, e))
			assert.NotZero(t, e.Generation())
			assert.EqualValues(t, 1, table.Counters().Resolved)
			before := e.Generation()
			require.True(t, table.Receive(c.frame, 2))
			assert.Equal(t, before, e.Generation(), "nothing new")
		})
	}
}

func TestRevalidation(t *testing.T) {
	table := newTable(t)
	e := resolve(t, table, peer4, 0)
	emitted(t, table)
	require.True(t, table.Receive(answer4(t, peerMAC), 0))
	require.Equal(t, at(reachableTime), table.Poll(1))
	require.False(t, table.Pending())

	now := at(reachableTime)
	for range unicastProbes {
		table.Poll(now)
		eth := only(t, table).Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		require.Equal(t, hw(peerMAC), eth.DstMAC, "unicast probe")
		require.Equal(t, peerMAC, macOf(t, e))
		now = now.Add(units.Second)
	}
	require.Zero(t, table.Counters().Unconfirmed)
	for i := range 10 { // then to all hosts, at increasing intervals
		next := table.Poll(now)
		eth := only(t, table).Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		require.Equal(t, hw(broadcastMAC), eth.DstMAC)
		require.Equal(t, now.Add(min(units.Second<<(i+1), reachableTime)), next)
		require.Equal(t, peerMAC, macOf(t, e), "in use during probing")
		now = next
	}
	require.EqualValues(t, 1, table.Counters().Unconfirmed)
	require.EqualValues(t, 1, e.Generation())

	require.True(t, table.Receive(answer4(t, otherMAC), now))
	assert.Equal(t, otherMAC, macOf(t, e))
	assert.EqualValues(t, 2, e.Generation())
	assert.Equal(t, now.Add(reachableTime), table.Poll(now))
	assert.EqualValues(t, 1, table.Counters().MACChanges)
}

func TestRevalidationOfIPv6IsUnicast(t *testing.T) {
	table := newTable(t)
	resolve(t, table, peer6, 0)
	emitted(t, table)
	na := advertisement(solicited|override, link(layers.ICMPv6OptTargetAddress, peerMAC))
	table.Receive(na.frame(t), 0)
	table.Poll(at(reachableTime))
	p := only(t, table)
	validChecksum6(t, p)
	assert.Equal(t, hw(peerMAC), p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC)
	assert.Equal(t, peer6.AsSlice(), []byte(p.Layer(layers.LayerTypeIPv6).(*layers.IPv6).DstIP))

	// without an option: the same
	table.Receive(advertisement(solicited).frame(t), at(31*units.Second))
	assert.Equal(t, at(61*units.Second), table.Poll(at(31*units.Second)))
}

func TestLearnedFromRequestIsUsedAndChecked(t *testing.T) {
	table := newTable(t)
	require.True(t, table.Receive(arpFrame(t, 1, peerMAC, broadcastMAC, peer4, our4), 0))
	emitted(t, table)
	require.Equal(t, at(0).Add(units.Forever), table.Poll(0), "not requested yet")

	e := resolve(t, table, peer4, 0)
	assert.Equal(t, peerMAC, macOf(t, e))
	eth := only(t, table).Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	assert.Equal(t, hw(peerMAC), eth.DstMAC)
	require.True(t, table.Receive(answer4(t, peerMAC), 5))
	assert.Equal(t, units.Time(5).Add(reachableTime), table.Poll(5))
}

// TestHeap checks that Poll handles deadlines in order.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h timerHeap
		entries := make([]Entry, 20)
		start := units.Time(rapid.Int64().Draw(t, "start")) // the order survives a wrap
		for range 100 {
			i := rapid.IntRange(0, len(entries)-1).Draw(t, "entry")
			h.set(&entries[i], start.Add(units.Duration(rapid.IntRange(0, 1000).Draw(t, "delay"))))
			for j, e := range h {
				require.Equal(t, j+1, e.entry.index)
				require.False(t, e.deadline.Before(h[0].deadline))
			}
		}
	})
}
