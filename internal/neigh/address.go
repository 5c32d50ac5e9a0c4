package neigh

import (
	"encoding/binary"
	"net/netip"
)

var (
	broadcastMAC = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	allNodes     = netip.MustParseAddr("ff02::1") // RFC 4291 section 2.7.1
	broadcast4   = netip.AddrFrom4([4]byte{255, 255, 255, 255})
)

// LinkLocal returns the IPv6 link-local address of an Ethernet address (RFC 4291 section 2.5.6 and
// appendix A: modified EUI-64), with its prefix length.
func LinkLocal(mac [6]byte) netip.Prefix {
	ip := [16]byte{0: 0xfe, 1: 0x80, 11: 0xff, 12: 0xfe}
	copy(ip[8:], mac[:3])
	copy(ip[13:], mac[3:])
	ip[8] ^= 2
	return netip.PrefixFrom(netip.AddrFrom16(ip), 64)
}

// solicitedNode returns the solicited-node multicast address of ip (RFC 4291 section 2.7.1).
func solicitedNode(ip netip.Addr) netip.Addr {
	a := ip.As16()
	group := [16]byte{0: 0xff, 1: 0x02, 11: 1, 12: 0xff}
	copy(group[13:], a[13:])
	return netip.AddrFrom16(group)
}

// groupMAC returns the Ethernet address of an IPv6 multicast group (RFC 2464 section 7).
func groupMAC(group netip.Addr) [6]byte {
	a := group.As16()
	return [6]byte{0x33, 0x33, a[12], a[13], a[14], a[15]}
}

// normalize returns the form of an address that is used as a key: no IPv4 in IPv6, and no zone,
// because a Table has only one link.
func normalize(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

func isUnicast(ip netip.Addr) bool {
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsMulticast() && !ip.IsLoopback() &&
		ip != broadcast4
}

func isUnicastMAC(mac [6]byte) bool { return mac[0]&1 == 0 && mac != [6]byte{} }

// isBroadcastOf reports whether ip is the first or last address of an IPv4 prefix of at most 30
// bits (RFC 1122 section 3.2.1.3; RFC 3021 for /31).
func isBroadcastOf(p netip.Prefix, ip netip.Addr) bool {
	if !ip.Is4() || p.Bits() > 30 {
		return false
	}
	a := ip.As4()
	host := binary.BigEndian.Uint32(a[:]) << p.Bits() >> p.Bits()
	return host == 0 || host == 1<<(32-p.Bits())-1
}
