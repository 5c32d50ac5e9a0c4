package neigh

import (
	"bytes"
	"net/netip"
	"reflect"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARPReply(t *testing.T) {
	for _, from := range []netip.Addr{peer4, netip.IPv4Unspecified()} { // also an RFC 5227 probe
		table := newTable(t)
		require.True(t, table.Receive(arpFrame(t, 1, peerMAC, broadcastMAC, from, our4), 0))
		p := only(t, table)
		assert.Equal(t, hw(peerMAC), p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC)
		arp := p.Layer(layers.LayerTypeARP).(*layers.ARP)
		assert.EqualValues(t, 2, arp.Operation)
		assert.Equal(t, ourMAC[:], arp.SourceHwAddress)
		assert.Equal(t, our4.AsSlice(), arp.SourceProtAddress)
		assert.Equal(t, peerMAC[:], arp.DstHwAddress)
		assert.Equal(t, from.AsSlice(), arp.DstProtAddress)
	}
}

func TestAdvertisement(t *testing.T) {
	slla := link(layers.ICMPv6OptSourceAddress, peerMAC)
	probe := solicitation()
	probe.from = netip.IPv6Unspecified()
	for _, c := range []struct {
		name  string
		ask   nd
		mac   string
		dst   string
		flags uint8
	}{
		{"solicited", solicitation(slla), "02:00:00:00:00:02", peer6.String(),
			solicited | override},
		{"nonce before", solicitation(layers.ICMPv6Option{Type: 14, Data: make([]byte, 6)}, slla),
			"02:00:00:00:00:02", peer6.String(), solicited | override},
		{"duplicate detection", probe, "33:33:00:00:00:01", "ff02::1", override},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t)
			require.True(t, table.Receive(c.ask.frame(t), 0))
			p := only(t, table)
			validChecksum6(t, p)
			assert.Equal(t, c.mac,
				p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC.String())
			ip := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
			assert.EqualValues(t, 255, ip.HopLimit)
			assert.Equal(t, c.dst, ip.DstIP.String())
			assert.Equal(t, our6.String(), ip.SrcIP.String())
			layer := p.Layer(layers.LayerTypeICMPv6NeighborAdvertisement)
			na := layer.(*layers.ICMPv6NeighborAdvertisement)
			assert.Equal(t, c.flags, na.Flags)
			assert.Equal(t, our6.String(), na.TargetAddress.String())
			assert.Equal(t, layers.ICMPv6Options{link(layers.ICMPv6OptTargetAddress, ourMAC)},
				na.Options)
		})
	}
}

func TestUnicastSolicitationWithoutOption(t *testing.T) {
	ask := solicitation()
	ask.dst, ask.to = ourMAC, our6
	table := newTable(t)
	require.True(t, table.Receive(ask.frame(t), 0))
	assert.Empty(t, emitted(t, table), "the sender's MAC address is unknown")
	known := solicitation(link(layers.ICMPv6OptSourceAddress, peerMAC))
	require.True(t, table.Receive(known.frame(t), 0))
	require.Len(t, emitted(t, table), 1)
	require.True(t, table.Receive(ask.frame(t), 0))
	assert.Len(t, emitted(t, table), 1)
}

func TestEchoReply(t *testing.T) {
	for _, size := range []int{0, 1, 17, 56, 1472, 8972} {
		payload := bytes.Repeat([]byte{0xa5, 1, 2}, size/3+1)[:size]
		table := newTable(t)
		require.True(t, table.Receive(echo4(t, payload), 0))
		p := only(t, table)
		eth := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		assert.Equal(t, hw(peerMAC), eth.DstMAC)
		ip := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		assert.Equal(t, our4.String(), ip.SrcIP.String())
		assert.Equal(t, peer4.String(), ip.DstIP.String())
		assert.EqualValues(t, 64, ip.TTL)
		assert.EqualValues(t, 0x28, ip.TOS)
		require.Zero(t, fold(sum(ip.Contents, 0)))
		icmp := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		assert.Equal(t, layers.CreateICMPv4TypeCode(0, 0), icmp.TypeCode)
		assert.EqualValues(t, 0x1234, icmp.Id)
		assert.EqualValues(t, 5, icmp.Seq)
		assert.True(t, bytes.Equal(payload, icmp.Payload))
		want := serialize(t, &layers.ICMPv4{Id: 0x1234, Seq: 5}, payloadOf(payload))
		assert.Equal(t, want[2:4], icmp.Contents[2:4], "checksum")

		require.True(t, table.Receive(echo6(t, payload, peer6, our6), 0))
		p = only(t, table)
		validChecksum6(t, p)
		assert.Equal(t, hw(peerMAC), p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet).DstMAC)
		ip6 := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
		assert.Equal(t, our6.String(), ip6.SrcIP.String())
		assert.Equal(t, peer6.String(), ip6.DstIP.String())
		icmp6 := p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
		assert.Equal(t, layers.CreateICMPv6TypeCode(129, 0), icmp6.TypeCode)
		assert.True(t, bytes.Equal(append([]byte{0x12, 0x34, 0, 5}, payload...), icmp6.Payload))
	}
}

func TestEchoFloodLeavesRoomForResolution(t *testing.T) {
	table := newTable(t)
	ping := echo4(t, make([]byte, 56))
	for range 2 * QueueDepth {
		require.True(t, table.Receive(ping, 0))
	}
	resolve(t, table, netip.MustParseAddr("10.0.0.7"), 0)
	frames := emitted(t, table)
	require.Len(t, frames, echoDepth+1)
	decoded := decode(t, frames[echoDepth])
	assert.NotNil(t, decoded.Layer(layers.LayerTypeARP))
	assert.EqualValues(t, 2*QueueDepth-echoDepth, table.Counters().DropQueueFull)
}

func TestEmitNeedsRoom(t *testing.T) {
	table := newTable(t)
	require.True(t, table.Receive(echo4(t, make([]byte, 1000)), 0))
	resolve(t, table, netip.MustParseAddr("10.0.0.7"), 0)
	assert.Equal(t, 60, table.Emit(make([]byte, 100)))
	assert.EqualValues(t, 1, table.Counters().DropNoRoom)
	assert.Zero(t, table.Emit(make([]byte, 100)))
}

func TestPaddingIsZero(t *testing.T) {
	table := newTable(t)
	table.Receive(echo4(t, bytes.Repeat([]byte{0xff}, 100)), 0)
	emitted(t, table)
	resolve(t, table, peer4, 0) // into the same slot
	assert.Equal(t, make([]byte, 60-42), emitted(t, table)[0][42:])
}

func TestVLAN(t *testing.T) {
	tag := func(frame []byte, tci uint16) []byte {
		tagged := append([]byte(nil), frame[:12]...)
		tagged = append(tagged, 0x81, 0, byte(tci>>8), byte(tci))
		return append(tagged, frame[12:]...)
	}
	request := arpFrame(t, 1, peerMAC, broadcastMAC, peer4, our4)
	for _, c := range []struct {
		name  string
		vlan  uint16
		frame []byte
		want  bool
	}{
		{"untagged", 0, request, true},
		{"priority tag", 0, tag(request, 0x6000), true},
		{"tagged, none expected", 0, tag(request, 7), false},
		{"tagged", 7, tag(request, 0x6007), true},
		{"other VLAN", 7, tag(request, 8), false},
		{"untagged, tag expected", 7, request, false},
		{"tag cut off", 7, tag(request, 7)[:16], false},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t, func(config *Config) { config.VLAN = c.vlan })
			require.Equal(t, c.want, table.Receive(c.frame, 0))
			if !c.want {
				assert.False(t, table.Pending())
				return
			}
			p := only(t, table)
			require.NotNil(t, p.Layer(layers.LayerTypeARP))
			tag, ok := p.Layer(layers.LayerTypeDot1Q).(*layers.Dot1Q)
			require.Equal(t, c.vlan != 0, ok)
			if ok {
				assert.Equal(t, c.vlan, tag.VLANIdentifier)
			}
		})
	}
}

// counted returns the names of the counters that are not zero.
func counted(c Counters) map[string]uint64 {
	m := map[string]uint64{}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if n := v.Field(i).Uint(); n != 0 {
			m[v.Type().Field(i).Name] = n
		}
	}
	return m
}

func fix4(frame []byte) []byte { // the header checksum
	h := frame[14 : 14+int(frame[14]&0xf)*4]
	h[10], h[11] = 0, 0
	c := fold(sum(h, 0))
	h[10], h[11] = byte(c>>8), byte(c)
	return frame
}

func fix6(frame []byte) []byte { // the checksum of ICMPv6
	h := ipv6(frame[14:])
	m := frame[54:min(len(frame), 54+h.payloadLen())]
	m[2], m[3] = 0, 0
	c := fold(sum6(h, m))
	m[2], m[3] = byte(c>>8), byte(c)
	return frame
}

func with(frame []byte, at int, b ...byte) []byte {
	copy(frame[at:], b)
	return frame
}

func TestReceiveCounts(t *testing.T) {
	slla, tlla := layers.ICMPv6OptSourceAddress, layers.ICMPv6OptTargetAddress
	request := func() []byte { return arpFrame(t, 1, peerMAC, broadcastMAC, peer4, our4) }
	ping := func() []byte { return echo4(t, make([]byte, 56)) }
	ping6 := func() []byte { return echo6(t, make([]byte, 56), peer6, our6) }
	ns := func(f func(*nd)) []byte {
		m := solicitation(link(slla, peerMAC))
		f(&m)
		return m.frame(t)
	}
	na := func(f func(*nd)) []byte {
		m := advertisement(solicited|override, link(tlla, peerMAC))
		f(&m)
		return m.frame(t)
	}
	short6 := func(frame []byte, payload int) []byte {
		frame[19] = byte(payload)
		return fix6(frame[:54+payload])
	}
	for _, c := range []struct {
		name  string
		frame []byte
		want  string // the counter; "" if Receive returns false
	}{
		{"ARP short", request()[:41], "DropARPMalformed"},
		{"ARP hardware", with(request(), 15, 6), "DropARPMalformed"},
		{"ARP protocol", with(request(), 16, 0x86), "DropARPMalformed"},
		{"ARP operation", with(request(), 21, 9), "DropARPMalformed"},
		{"ARP group sender", with(request(), 22, 1), "DropARPMalformed"},
		{"ARP for another", arpFrame(t, 1, peerMAC, broadcastMAC, peer4, gate4), "Ignored"},
		{"ARP from off link",
			arpFrame(t, 1, peerMAC, broadcastMAC, netip.MustParseAddr("192.0.2.1"), our4),
			"Ignored"},
		{"ARP from broadcast",
			arpFrame(t, 1, peerMAC, broadcastMAC, netip.MustParseAddr("10.0.0.255"), our4),
			"Ignored"},
		{"ARP of our own", arpFrame(t, 1, ourMAC, broadcastMAC, our4, peer4), "Ignored"},
		{"ARP reply unasked", answer4(t, peerMAC), "Ignored"},
		{"ARP conflict", arpFrame(t, 1, peerMAC, broadcastMAC, our4, our4), "AddressConflicts"},
		{"ARP reply conflict", arpFrame(t, 2, peerMAC, ourMAC, our4, our4), "AddressConflicts"},
		{"ARP to another MAC", arpFrame(t, 1, peerMAC, otherMAC, peer4, our4), ""},
		{"group source", with(request(), 6, 1), ""},

		{"ping version", fix4(with(ping(), 14, 0x65)), "DropIPv4Malformed"},
		{"ping header length", with(ping(), 14, 0x44), "DropIPv4Malformed"},
		{"ping total length", with(ping(), 16, 0xff), "DropIPv4Malformed"},
		{"ping short of its header", with(ping(), 16, 0, 19), "DropIPv4Malformed"},
		{"ping header checksum", with(ping(), 24, 0xbe, 0xef), "DropIPv4Checksum"},
		{"ping checksum", with(ping(), 36, 0xbe, 0xef), "DropICMPChecksum"},
		{"ping code", with(ping(), 35, 1), "DropICMPMalformed"},
		{"ping short", fix4(with(ping(), 16, 0, 27))[:41], "DropICMPMalformed"},
		{"ping fragment", fix4(with(ping(), 20, 0x20)), "DropICMPFragment"},
		{"ping from group", echo4(t, nil, func(h *layers.IPv4) {
			h.SrcIP = []byte{224, 0, 0, 1}
		}), "DropEchoSource"},
		{"ping from the unspecified address", echo4(t, nil, func(h *layers.IPv4) {
			h.SrcIP = []byte{0, 0, 0, 0}
		}), "DropEchoSource"},
		{"ping too long", echo4(t, make([]byte, maxFrame)), "DropEchoTooLong"},
		{"ping with options", echo4(t, nil, func(h *layers.IPv4) {
			h.Options = []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1},
				{OptionType: 0}}
		}), "EchoReplies4"},
		{"ping to another", echo4(t, nil, func(h *layers.IPv4) { h.DstIP = gate4.AsSlice() }), ""},
		{"ping reply", fix4(with(ping(), 34, 0)), ""},
		{"UDP", with(ping(), 23, 17), ""},
		{"IPv4 cut off", ping()[:33], ""},

		{"ping6 version", with(ping6(), 14, 0x50), "DropIPv6Malformed"},
		{"ping6 payload length", with(ping6(), 18, 0xff), "DropIPv6Malformed"},
		{"ping6 checksum", with(ping6(), 56, 0xbe, 0xef), "DropICMPv6Checksum"},
		{"ping6 code", fix6(with(ping6(), 55, 1)), "DropICMPv6Malformed"},
		{"ping6 short", short6(ping6(), 7), "DropICMPv6Malformed"},
		{"ping6 of nothing", with(ping6(), 18, 0, 0), "DropICMPv6Malformed"},
		{"ping6 from group", echo6(t, nil, allNodes, our6), "DropEchoSource"},
		{"ping6 too long", echo6(t, make([]byte, maxFrame), peer6, our6), "DropEchoTooLong"},
		{"ping6 to another", echo6(t, nil, peer6, gate6), ""},
		{"ping6 to all nodes", with(echo6(t, nil, peer6, allNodes), 0, 0x33, 0x33, 0, 0, 0, 1), ""},
		{"ping6 reply", fix6(with(ping6(), 54, 129)), ""},
		{"UDP6", with(ping6(), 20, 17), ""},
		{"IPv6 cut off", ping6()[:54], ""},

		{"NS hop limit", ns(func(m *nd) { m.hops = 254 }), "DropNDHopLimit"},
		{"NS checksum", with(ns(func(*nd) {}), 56, 0xbe, 0xef), "DropICMPv6Checksum"},
		{"NS code", ns(func(m *nd) { m.code = 1 }), "DropICMPv6Malformed"},
		{"NS short", short6(ns(func(*nd) {}), 23), "DropNDMalformed"},
		{"NS for a group", ns(func(m *nd) { m.target = allNodes }), "DropNDMalformed"},
		{"NS from a group", ns(func(m *nd) { m.from = allNodes }), "DropNDMalformed"},
		{"NS probe with option", ns(func(m *nd) {
			m.from = netip.IPv6Unspecified()
		}), "DropNDMalformed"},
		{"NS probe by unicast", ns(func(m *nd) {
			m.from, m.to, m.options = netip.IPv6Unspecified(), our6, nil
		}), "DropNDMalformed"},
		{"NS option of length 0", fix6(with(ns(func(*nd) {}), 79, 0)), "DropNDOption"},
		{"NS option too long", fix6(with(ns(func(*nd) {}), 79, 2)), "DropNDOption"},
		{"NS option cut off", short6(ns(func(*nd) {}), 25), "DropNDOption"},
		{"NS option of a group", ns(func(m *nd) {
			m.options[0].Data = broadcastMAC[:]
		}), "DropNDOption"},
		{"NS for another", ns(func(m *nd) { m.target = gate6 }), "Ignored"},
		{"NS of our own", ns(func(m *nd) { m.options[0].Data = ourMAC[:] }), "Ignored"},
		{"NS from off link", ns(func(m *nd) {
			m.from = netip.MustParseAddr("2001:db8:9::9")
		}), "Ignored"},
		{"NS conflict", ns(func(m *nd) { m.from = our6 }), "AddressConflicts"},
		{"NS", ns(func(*nd) {}), "AdvertisementsOut"},

		{"NA hop limit", na(func(m *nd) { m.hops = 64 }), "DropNDHopLimit"},
		{"NA short", short6(na(func(*nd) {}), 16), "DropNDMalformed"},
		{"NA for a group", na(func(m *nd) { m.target = allNodes }), "DropNDMalformed"},
		{"NA solicited to a group", na(func(m *nd) { m.to = allNodes }), "DropNDMalformed"},
		{"NA option of length 0", fix6(with(na(func(*nd) {}), 79, 0)), "DropNDOption"},
		{"NA unasked", na(func(*nd) {}), "Ignored"},
		{"NA to another", na(func(m *nd) { m.to = gate6 }), "Ignored"},
		{"NA conflict", na(func(m *nd) { m.target = our6 }), "AddressConflicts"},
		{"NA of our own", na(func(m *nd) { m.options[0].Data = ourMAC[:] }), "Ignored"},

		{"empty", nil, ""},
		{"short", make([]byte, 13), ""},
		{"unknown", with(request(), 12, 0x88, 0xcc), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t)
			before := append([]byte(nil), c.frame...)
			require.Equal(t, c.want != "", table.Receive(c.frame, 0), "%v",
				counted(table.Counters()))
			require.Equal(t, before, append([]byte(nil), c.frame...), "only read")
			counts := counted(table.Counters())
			if c.want == "" {
				assert.Empty(t, counts)
				return
			}
			assert.Contains(t, counts, c.want)
			if c.want[:4] == "Drop" {
				assert.Len(t, counts, 1)
				assert.False(t, table.Pending())
			}
			for _, local := range []netip.Addr{our4, our6} {
				assert.Equal(t, ourMAC, macOf(t, resolve(t, table, local, 0)))
			}
		})
	}
}

// TestAdvertisementRules covers the rules of RFC 4861 section 7.2.5 (a table in appendix C).
func TestAdvertisementRules(t *testing.T) {
	for _, c := range []struct {
		name  string
		known bool
		flags uint8
		mac   *[6]byte
		want  *[6]byte
		asks  bool // probes at once
	}{
		{"incomplete, no option", false, solicited | override, nil, nil, false},
		{"incomplete, solicited", false, solicited, &otherMAC, &otherMAC, false},
		{"incomplete, unsolicited", false, 0, &otherMAC, &otherMAC, true},
		{"same", true, 0, &peerMAC, &peerMAC, false},
		{"other, no override", true, solicited, &otherMAC, &peerMAC, true},
		{"other, override, solicited", true, solicited | override, &otherMAC, &otherMAC, false},
		{"other, override, unsolicited", true, override, &otherMAC, &otherMAC, true},
		{"no option", true, solicited | override, nil, &peerMAC, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t)
			e := resolve(t, table, peer6, 0)
			if c.known {
				first := advertisement(solicited, link(layers.ICMPv6OptTargetAddress, peerMAC))
				require.True(t, table.Receive(first.frame(t), 0))
			}
			emitted(t, table)
			m := advertisement(c.flags)
			if c.flags&solicited == 0 {
				m.to = allNodes
			}
			if c.mac != nil {
				m.options = layers.ICMPv6Options{link(layers.ICMPv6OptTargetAddress, *c.mac)}
			}
			require.True(t, table.Receive(m.frame(t), 0))
			mac, known := e.MAC()
			require.Equal(t, c.want != nil, known)
			if known {
				assert.Equal(t, *c.want, mac)
			}
			assert.Equal(t, c.asks, table.Pending())
		})
	}
}

func TestRepliesBetweenOthersUpdateOnlyKnownEntries(t *testing.T) {
	table := newTable(t)
	announce := arpFrame(t, 1, otherMAC, broadcastMAC, peer4, peer4)
	require.True(t, table.Receive(announce, 0))
	e := resolve(t, table, peer4, 0)
	_, known := e.MAC()
	require.False(t, known, "not learned from an announcement")
	require.True(t, table.Receive(answer4(t, peerMAC), 0))
	emitted(t, table)
	require.True(t, table.Receive(announce, 0))
	assert.Equal(t, otherMAC, macOf(t, e))
	assert.True(t, table.Pending(), "believed, and checked")
}
