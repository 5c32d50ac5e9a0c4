package neigh

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

var (
	ourMAC   = [6]byte{0x02, 0, 0, 0, 0, 0x01}
	peerMAC  = [6]byte{0x02, 0, 0, 0, 0, 0x02}
	otherMAC = [6]byte{0x02, 0, 0, 0, 0, 0x03}

	our4  = netip.MustParseAddr("10.0.0.1")
	peer4 = netip.MustParseAddr("10.0.0.2")
	gate4 = netip.MustParseAddr("10.0.0.254")
	our6  = netip.MustParseAddr("2001:db8::1")
	peer6 = netip.MustParseAddr("2001:db8::aa:bbcc")
	gate6 = netip.MustParseAddr("2001:db8::fe")
)

func config() Config {
	return Config{
		MAC: ourMAC,
		Addrs: []netip.Prefix{
			netip.PrefixFrom(our4, 24), netip.PrefixFrom(our6, 64), LinkLocal(ourMAC),
		},
		Gateways: []netip.Addr{gate4, gate6},
	}
}

func newTable(t testing.TB, change ...func(*Config)) *Table {
	t.Helper()
	c := config()
	for _, f := range change {
		f(&c)
	}
	table, err := New(c)
	require.NoError(t, err)
	return table
}

// emitted returns the frames that the table sends.
func emitted(t testing.TB, table *Table) (frames [][]byte) {
	t.Helper()
	room := make([]byte, maxFrame)
	for table.Pending() {
		n := table.Emit(room)
		require.GreaterOrEqual(t, n, minFrame)
		frames = append(frames, append([]byte(nil), room[:n]...))
	}
	require.Zero(t, table.Emit(room))
	return frames
}

// only returns the single frame that the table sends, decoded by gopacket without an error.
func only(t testing.TB, table *Table) gopacket.Packet {
	t.Helper()
	frames := emitted(t, table)
	require.Len(t, frames, 1)
	return decode(t, frames[0])
}

func decode(t testing.TB, frame []byte) gopacket.Packet {
	t.Helper()
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	require.Nil(t, p.ErrorLayer(), "%v", p)
	return p
}

// serialize builds a frame as gopacket does, with lengths and checksums.
func serialize(t testing.TB, ls ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	o := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	require.NoError(t, gopacket.SerializeLayers(b, o, ls...))
	return b.Bytes()
}

func hw(mac [6]byte) net.HardwareAddr { return mac[:] }

func ether(src, dst [6]byte, kind layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: hw(src), DstMAC: hw(dst), EthernetType: kind}
}

func arpFrame(t testing.TB, op uint16, src, dst [6]byte, from, to netip.Addr) []byte {
	return serialize(t, ether(src, dst, layers.EthernetTypeARP), &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4,
		HwAddressSize: 6, ProtAddressSize: 4, Operation: op,
		SourceHwAddress: src[:], SourceProtAddress: from.AsSlice(),
		DstHwAddress: make([]byte, 6), DstProtAddress: to.AsSlice(),
	})
}

func ip6(from, to netip.Addr, hops uint8) *layers.IPv6 {
	return &layers.IPv6{Version: 6, NextHeader: layers.IPProtocolICMPv6, HopLimit: hops,
		SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
}

// nd holds the fields of a solicitation or an advertisement.
type nd struct {
	kind     uint8
	code     uint8
	src, dst [6]byte
	from, to netip.Addr
	target   netip.Addr
	hops     uint8
	flags    uint8
	options  layers.ICMPv6Options
}

func solicitation(options ...layers.ICMPv6Option) nd {
	return nd{kind: icmp6Solicitation, src: peerMAC, dst: groupMAC(solicitedNode(our6)),
		from: peer6, to: solicitedNode(our6), target: our6, hops: 255, options: options}
}

func advertisement(flags uint8, options ...layers.ICMPv6Option) nd {
	return nd{kind: icmp6Advertisement, src: peerMAC, dst: ourMAC,
		from: peer6, to: our6, target: peer6, hops: 255, flags: flags, options: options}
}

const (
	router    = 0x80
	solicited = 0x40
	override  = 0x20
)

func link(option layers.ICMPv6Opt, mac [6]byte) layers.ICMPv6Option {
	return layers.ICMPv6Option{Type: option, Data: mac[:]}
}

func (m nd) frame(t testing.TB) []byte {
	ip := ip6(m.from, m.to, m.hops)
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(m.kind, m.code)}
	require.NoError(t, icmp.SetNetworkLayerForChecksum(ip))
	var body gopacket.SerializableLayer = &layers.ICMPv6NeighborSolicitation{
		TargetAddress: m.target.AsSlice(), Options: m.options}
	if m.kind == icmp6Advertisement {
		body = &layers.ICMPv6NeighborAdvertisement{
			Flags: m.flags, TargetAddress: m.target.AsSlice(), Options: m.options}
	}
	return serialize(t, ether(m.src, m.dst, layers.EthernetTypeIPv6), ip, icmp, body)
}

func echo4(t testing.TB, payload []byte, change ...func(*layers.IPv4)) []byte {
	ip := &layers.IPv4{Version: 4, IHL: 5, TTL: 7, TOS: 0x28, Id: 4711,
		Protocol: layers.IPProtocolICMPv4,
		SrcIP:    peer4.AsSlice(), DstIP: our4.AsSlice()}
	for _, f := range change {
		f(ip)
	}
	return serialize(t, ether(peerMAC, ourMAC, layers.EthernetTypeIPv4), ip,
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 0x1234, Seq: 5},
		gopacket.Payload(payload))
}

func echo6(t testing.TB, payload []byte, from, to netip.Addr) []byte {
	ip := ip6(from, to, 7)
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)}
	require.NoError(t, icmp.SetNetworkLayerForChecksum(ip))
	return serialize(t, ether(peerMAC, ourMAC, layers.EthernetTypeIPv6), ip, icmp,
		&layers.ICMPv6Echo{Identifier: 0x1234, SeqNumber: 5}, gopacket.Payload(payload))
}

// validChecksum6 reports whether an ICMPv6 message has the checksum that gopacket computes.
func validChecksum6(t testing.TB, p gopacket.Packet) {
	t.Helper()
	ip := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
	icmp := *p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6)
	want := icmp.Checksum
	require.NoError(t, icmp.SetNetworkLayerForChecksum(ip))
	b := gopacket.NewSerializeBuffer()
	require.NoError(t,
		gopacket.SerializeLayers(b, gopacket.SerializeOptions{ComputeChecksums: true},
			&icmp, gopacket.Payload(icmp.Payload)))
	require.Equal(t, icmp.Checksum, want)
}

func at(d units.Duration) units.Time { return units.Time(0).Add(d) }
