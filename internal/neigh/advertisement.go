package neigh

import "encoding/binary"

// IsAdvertisement reports whether a frame contains a neighbour's MAC without requesting ours: an
// ARP reply, a gratuitous ARP (RFC 5227 section 3) or a neighbour advertisement.
func IsAdvertisement(frame []byte) bool {
	if len(frame) < etherLen+tagLen {
		return false
	}
	etherType, payload := binary.BigEndian.Uint16(frame[12:]), frame[etherLen:]
	if etherType == etherVLAN {
		etherType, payload = binary.BigEndian.Uint16(payload[2:]), payload[tagLen:]
	}
	switch etherType {
	case etherARP:
		p := arp(payload)
		return p.valid() && (p.operation() == arpReply || p.senderIP() == p.targetIP())
	case etherIPv6:
		return len(payload) > ipv6Len && payload[6] == protocolICMPv6 &&
			payload[ipv6Len] == icmp6Advertisement
	}
	return false
}
