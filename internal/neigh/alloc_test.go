package neigh

import (
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func payloadOf(b []byte) gopacket.Payload { return gopacket.Payload(b) }

func TestSteadyPathsDoNotAllocate(t *testing.T) {
	table := newTable(t)
	room := make([]byte, maxFrame)
	frames := map[string][]byte{
		"ping":  echo4(t, make([]byte, 1400)),
		"ping6": echo6(t, make([]byte, 1400), peer6, our6),
		"ARP":   arpFrame(t, 1, peerMAC, broadcastMAC, peer4, our4),
		"NS":    solicitation(link(layers.ICMPv6OptSourceAddress, peerMAC)).frame(t),
	}
	for name, frame := range frames {
		require.True(t, table.Receive(frame, 0)) // the first one adds an entry or grows a slot
		table.Emit(room)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			table.Receive(frame, 0)
			table.Emit(room)
		}), name)
	}
	now := at(0)
	e := resolve(t, table, peer4, now)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = table.Resolve(peer4, now)
		_, _ = table.Resolve(our6, now)
		_, _ = table.Source(peer6)
		_, _ = e.MAC()
	}), "Resolve")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		now = now.Add(units.Second)
		table.Poll(now)
		table.Emit(room)
	}), "Poll")
}

func BenchmarkEcho(b *testing.B) {
	table := newTable(b)
	room, ping := make([]byte, maxFrame), echo4(b, make([]byte, 56))
	b.ReportAllocs()
	for b.Loop() {
		table.Receive(ping, 0)
		table.Emit(room)
	}
}

func BenchmarkResolve(b *testing.B) {
	table := newTable(b)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = table.Resolve(peer4, 0)
	}
}

func BenchmarkPollIdle(b *testing.B) {
	table := newTable(b)
	resolve(b, table, peer4, 0)
	b.ReportAllocs()
	for b.Loop() {
		table.Poll(0)
	}
}
