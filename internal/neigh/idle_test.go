package neigh

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

var wide = netip.MustParsePrefix("10.1.0.1/16")

func wideTable(t testing.TB) *Table {
	return newTable(t, func(c *Config) { c.Addrs, c.Gateways = []netip.Prefix{wide}, nil })
}

// nth returns the nth address of 10.1.0.0/16, not counting ours.
func nth(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 1, byte((n + 2) >> 8), byte(n + 2)})
}

func hold(t testing.TB, table *Table, ip netip.Addr) *Entry {
	t.Helper()
	e, err := table.Hold(ip, 0)
	require.NoError(t, err)
	return e
}

// confirm delivers the reply to the table's request for ip.
func confirm(t testing.TB, table *Table, ip netip.Addr) {
	t.Helper()
	resolve(t, table, ip, 0)
	emitted(t, table)
	require.True(t, table.Receive(arpFrame(t, 2, peerMAC, ourMAC, ip, wide.Addr()), 0))
}

func has(table *Table, ip netip.Addr) bool { return table.entries[ip] != nil }

// Only held entries can fill the table. Released ones are evicted, the least recently used first.
func TestHeldEntriesFillTheTable(t *testing.T) {
	table := wideTable(t)
	var held []*Entry
	for i := range MaxEntries {
		held = append(held, hold(t, table, nth(i)))
	}
	for _, ask := range []func(netip.Addr, units.Time) (*Entry, error){table.Resolve, table.Hold} {
		_, err := ask(nth(MaxEntries), 0)
		require.ErrorIs(t, err, ErrFull)
		assert.ErrorContains(t, err, nth(MaxEntries).String())
	}
	require.True(t,
		table.Receive(arpFrame(t, 1, peerMAC, broadcastMAC, nth(MaxEntries), wide.Addr()), 0))
	assert.EqualValues(t, 1, table.Counters().DropLearnFull)
	assert.Same(t, held[7], hold(t, table, nth(7)), "existing entries are still found")
	table.Release(held[7])

	table.Release(held[7])
	table.Release(held[3])
	hold(t, table, nth(MaxEntries))
	assert.True(t, held[7].Evicted())
	assert.False(t, has(table, nth(7)))
	assert.False(t, held[3].Evicted())
	hold(t, table, nth(7))
	assert.True(t, held[3].Evicted())
	_, err := table.Hold(nth(3), 0)
	require.ErrorIs(t, err, ErrFull)
	assert.Len(t, table.timers, MaxEntries, "evicted entries have no timer")
}

// Forged addresses neither evict a confirmed neighbour nor keep out a new one.
func TestInventedAddressesMakeRoom(t *testing.T) {
	for name, invent := range map[string]func(*Table, netip.Addr){
		"ARP requests": func(table *Table, ip netip.Addr) {
			require.True(t, table.Receive(arpFrame(t, 1, otherMAC, broadcastMAC, ip, wide.Addr()),
				0))
		},
		"asked for": func(table *Table, ip netip.Addr) { resolve(t, table, ip, 0) },
		"connected to, and given up": func(table *Table, ip netip.Addr) {
			table.Release(hold(t, table, ip))
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := wideTable(t)
			confirm(t, table, nth(0))
			held := hold(t, table, nth(1))
			for i := range 3 * MaxEntries {
				invent(table, nth(2+i))
				emitted(t, table)
				require.LessOrEqual(t, len(table.entries), 1+2+MaxUnconfirmed)
			}
			assert.True(t, has(table, nth(0)), "it is confirmed")
			assert.False(t, held.Evicted(), "it is held")
			assert.EqualValues(t, 3*MaxEntries-MaxUnconfirmed, table.Counters().Evicted)
			_, err := table.Hold(nth(4*MaxEntries), 0)
			assert.NoError(t, err)
		})
	}
}

// Entries of one prefix cannot evict those of others.
func TestUnconfirmedOfOnePrefix(t *testing.T) {
	v6 := func(prefix string, n int) netip.Addr {
		a := netip.MustParseAddr(prefix).As16()
		a[12], a[13], a[14], a[15] = 1, byte(n>>16), byte(n>>8), byte(n)
		return netip.AddrFrom16(a)
	}
	table := newTable(t, func(c *Config) {
		c.Addrs = []netip.Prefix{netip.MustParsePrefix("2001:db8::1/48")}
		c.Gateways = nil
	})
	other := v6("2001:db8:0:7::", 1)
	resolve(t, table, other, 0)
	for i := range 5 * MaxUnconfirmed {
		resolve(t, table, v6("2001:db8::", i), 0)
		require.LessOrEqual(t, table.numUnconfirmed, 1+MaxUnconfirmedPerPrefix)
	}
	assert.True(t, has(table, other))
	assert.False(t, has(table, v6("2001:db8::", 5*MaxUnconfirmed-1-MaxUnconfirmedPerPrefix)),
		"the oldest of the prefix is evicted")
	assert.True(t, has(table, v6("2001:db8::", 5*MaxUnconfirmed-MaxUnconfirmedPerPrefix)))
}

// Known sends nothing and adds no entry.
func TestKnown(t *testing.T) {
	table := newTable(t)
	far, gateway := netip.MustParseAddr("192.0.2.1"), gate4
	for _, ip := range []netip.Addr{peer4, far, peer6, netip.MustParseAddr("224.0.0.1")} {
		_, known := table.Known(ip)
		assert.False(t, known, "%v", ip)
		assert.False(t, has(table, ip))
	}
	assert.False(t, table.Pending())
	mac, known := table.Known(our4)
	assert.True(t, known)
	assert.Equal(t, ourMAC, mac)

	resolve(t, table, gateway, 0)
	_, known = table.Known(far)
	assert.False(t, known, "asked for, not answered")
	require.True(t, table.Receive(arpFrame(t, 2, otherMAC, ourMAC, gateway, our4), 0))
	mac, known = table.Known(far)
	assert.True(t, known)
	assert.Equal(t, otherMAC, mac)
}

// TestIdleLists checks that every entry is in the list of its state, that the counts equal the
// lists' lengths, and that the limits hold.
func TestIdleLists(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := wideTable(t)
		held := map[*Entry]int{}
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			ip := nth(256 * rapid.IntRange(0, 3).Draw(rt, "prefix")).Next()
			for range rapid.IntRange(0, 5).Draw(rt, "host") {
				ip = ip.Next()
			}
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				resolve(t, table, ip, 0)
			case 1:
				held[hold(t, table, ip)]++
			case 2:
				if e := table.entries[ip]; held[e] > 0 {
					held[e]--
					table.Release(e)
				}
			case 3:
				table.Receive(arpFrame(t, 1, peerMAC, broadcastMAC, ip, wide.Addr()), 0)
			case 4:
				table.Receive(arpFrame(t, 2, peerMAC, ourMAC, ip, wide.Addr()), 0)
			}
			if e := table.confirmed.first; e != nil && rapid.IntRange(0, 9).Draw(rt, "evict") == 0 {
				table.evict(e)
			}
			emitted(t, table)
			listed, doubts := map[*Entry]bool{}, map[netip.Prefix]int{}
			for _, l := range []*lruList{&table.confirmed, &table.unconfirmed} {
				for e := l.first; e != nil; e = e.next {
					require.Same(t, table.entries[e.ip], e)
					require.Equal(t, l == &table.confirmed, e.confirmed)
					require.Zero(t, held[e])
					listed[e] = true
					if !e.confirmed {
						doubts[sourcePrefix(e.ip)]++
					}
				}
			}
			require.Equal(t, doubts, table.unconfirmedBy)
			for _, e := range table.entries {
				require.Equal(t, e.state != local && held[e] == 0, listed[e])
			}
			for i, e := range table.timers {
				require.Equal(t, i+1, e.entry.index)
				require.False(t, e.entry.evicted)
			}
		}
	})
}
