package wire

import (
	"encoding/binary"
	"net/netip"
)

// IPv4Len is the length of an IPv4 header without options: RoCEv2 allows none (A17.3.1.1).
const IPv4Len = 20

// IPv6Len is the length of an IPv6 header (RFC 8200 section 3).
const IPv6Len = 40

// ProtocolUDP is the IP protocol number of UDP, in RoCEv2's every IP header (A17.3.1).
const ProtocolUDP = 17

// The ECN field of an IP header (RFC 3168 section 5), which RoCEv2 congestion management reads
// (A17.9.1).
const (
	ECNNotECT = 0 // the sender does not take part
	ECNECT1   = 1 // it does
	ECNECT0   = 2 // it does: what RoCEv2 senders write
	ECNCE     = 3 // a switch on the way was congested

	ECNMask = 3 // of a traffic class; the rest is DSCP
)

// IPv4 is an IPv4 header (RFC 791, A17.3.1.1).
type IPv4 []byte

// VersionIHL is the first byte: 0x45 for a header without options.
func (h IPv4) VersionIHL() uint8 { return h[0] }

// TOS is DSCP (6 bits) and ECN (2 bits).
func (h IPv4) TOS() uint8 { return h[1] }

// TotalLen is the length of header and payload.
func (h IPv4) TotalLen() uint16 { return be16(h[2:]) }

// ID is the identification that fragments share.
func (h IPv4) ID() uint16 { return be16(h[4:]) }

// Fragment says whether the packet is a part of another: more fragments, or an offset.
func (h IPv4) Fragment() bool { return be16(h[6:])&0x3fff != 0 }

// TTL is the time to live.
func (h IPv4) TTL() uint8 { return h[8] }

// Protocol says what follows the header.
func (h IPv4) Protocol() uint8 { return h[9] }

// Checksum is the header checksum.
func (h IPv4) Checksum() uint16 { return be16(h[10:]) }

// Src is the source address.
func (h IPv4) Src() netip.Addr { return netip.AddrFrom4([4]byte(h[12:16])) }

// Dst is the destination address.
func (h IPv4) Dst() netip.Addr { return netip.AddrFrom4([4]byte(h[16:20])) }

// SetTOS writes DSCP and ECN; UpdateChecksum must follow.
func (h IPv4) SetTOS(tos uint8) { h[1] = tos }

// SetTotalLen writes the length of header and payload; UpdateChecksum must follow.
func (h IPv4) SetTotalLen(n uint16) { putBE16(h[2:], n) }

// SetID writes the identification; UpdateChecksum must follow.
func (h IPv4) SetID(id uint16) { putBE16(h[4:], id) }

// SetTTL writes the time to live; UpdateChecksum must follow.
func (h IPv4) SetTTL(ttl uint8) { h[8] = ttl }

// UpdateChecksum computes the header checksum and writes it.
func (h IPv4) UpdateChecksum() {
	h[10], h[11] = 0, 0
	binary.LittleEndian.PutUint16(h[10:], ^fold16(h.sum()))
}

// ChecksumOK says whether the header checksum is right.
func (h IPv4) ChecksumOK() bool { return fold16(h.sum()) == 0xffff }

// sum adds the header as five little-endian words. Ones' complement sums do not depend on the
// byte order except for the order of the result (RFC 1071 section 2 B), so the host's is taken.
func (h IPv4) sum() uint64 {
	_ = h[19]
	return uint64(binary.LittleEndian.Uint32(h)) + uint64(binary.LittleEndian.Uint32(h[4:])) +
		uint64(binary.LittleEndian.Uint32(h[8:])) + uint64(binary.LittleEndian.Uint32(h[12:])) +
		uint64(binary.LittleEndian.Uint32(h[16:]))
}

// fold16 brings a ones' complement sum of a few 32-bit words down to 16 bits.
func fold16(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff // ≤ 33 bits
	sum = sum>>16 + sum&0xffff     // ≤ 18 bits
	sum = sum>>16 + sum&0xffff
	return uint16(sum>>16 + sum)
}

// IPv6 is an IPv6 header (RFC 8200 section 3, A17.3.1.2).
type IPv6 []byte

// Version is 6.
func (h IPv6) Version() uint8 { return h[0] >> 4 }

// TrafficClass is DSCP (6 bits) and ECN (2 bits).
func (h IPv6) TrafficClass() uint8 { return uint8(be16(h) >> 4) }

// FlowLabel is 20 bits that are the same in a flow.
func (h IPv6) FlowLabel() uint32 { return be32(h) & 0xfffff }

// PayloadLen is the length of what follows the header.
func (h IPv6) PayloadLen() uint16 { return be16(h[4:]) }

// NextHeader says what follows the header.
func (h IPv6) NextHeader() uint8 { return h[6] }

// HopLimit is what IPv4 calls time to live.
func (h IPv6) HopLimit() uint8 { return h[7] }

// Src is the source address.
func (h IPv6) Src() netip.Addr { return netip.AddrFrom16([16]byte(h[8:24])) }

// Dst is the destination address.
func (h IPv6) Dst() netip.Addr { return netip.AddrFrom16([16]byte(h[24:40])) }

// SetTrafficClass writes DSCP and ECN.
func (h IPv6) SetTrafficClass(tc uint8) { putBE16(h, be16(h)&0xf00f|uint16(tc)<<4) }

// SetPayloadLen writes the length of what follows the header.
func (h IPv6) SetPayloadLen(n uint16) { putBE16(h[4:], n) }

// SetHopLimit writes the hop limit.
func (h IPv6) SetHopLimit(n uint8) { h[7] = n }
