package bottleneck

import "encoding/binary"

// Offsets in frames (IEEE 802.3, RFC 791, RFC 8200).
const (
	typeAt     = 12
	ethernet   = 14
	vlanTag    = 4
	typeVLAN   = 0x8100
	typeIPv4   = 0x0800
	typeIPv6   = 0x86dd
	tosAt      = 1  // in an IPv4 header
	checksumAt = 10 // same
	ipv4Header = 20
	ecnMask    = 3
)

// MarkCE sets the ECN field of an IP packet to CE (RFC 3168), and reports whether it did: packets
// of transports without ECN, and frames that are not IP, stay as they are. It updates the IPv4
// header checksum (RFC 1624).
func MarkCE(frame []byte) bool {
	if len(frame) < ethernet {
		return false
	}
	kind, at := binary.BigEndian.Uint16(frame[typeAt:]), ethernet
	if kind == typeVLAN && len(frame) >= ethernet+vlanTag {
		kind, at = binary.BigEndian.Uint16(frame[typeAt+vlanTag:]), ethernet+vlanTag
	}
	ip := frame[at:]
	switch {
	case kind == typeIPv4 && len(ip) >= ipv4Header && ip[tosAt]&ecnMask != 0:
		old := binary.BigEndian.Uint16(ip)
		ip[tosAt] |= ecnMask
		sum := uint32(^binary.BigEndian.Uint16(ip[checksumAt:])) + uint32(^old) +
			uint32(binary.BigEndian.Uint16(ip))
		sum = sum>>16 + sum&0xffff
		sum += sum >> 16
		binary.BigEndian.PutUint16(ip[checksumAt:], ^uint16(sum))
		return true
	case kind == typeIPv6 && len(ip) >= 2 && ip[1]>>4&ecnMask != 0:
		ip[1] |= ecnMask << 4
		return true
	}
	return false
}
