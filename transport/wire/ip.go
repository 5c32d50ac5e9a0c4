package wire

import "encoding/binary"

// IPv4Len is the length of an IPv4 header; RoCEv2 allows no options (A17.3.1.1).
const IPv4Len = 20

// IPv6Len is the length of an IPv6 header (RFC 8200 section 3).
const IPv6Len = 40

// ProtocolUDP is the IP protocol number of UDP, in the IP header of every RoCEv2 packet (A17.3.1).
const ProtocolUDP = 17

// The ECN field of an IP header (RFC 3168 section 5), the congestion signal of RoCEv2 (A17.9.1).
const (
	ECNNotECT = 0 // the transport is not ECN capable
	ECNECT0   = 2 // ECN capable, as RoCEv2 senders write it
	ECNCE     = 3 // congestion experienced: a switch on the path was congested

	ECNMask = 3 // of a TOS or traffic class; the other six bits are DSCP
)

// IPv4 is an IPv4 header (RFC 791, A17.3.1.1).
type IPv4 struct {
	VersionIHL uint8 // 0x45: version 4, no options
	TOS        uint8 // DSCP (6 bits) and ECN (2 bits)
	TotalLen   BE16  // of header and payload
	ID         BE16  // identification that fragments share
	Fragment   BE16  // reserved, don't fragment, more fragments (1 bit each) and offset (13 bits)
	TTL        uint8 // time to live
	Protocol   uint8 // of what follows the header
	Checksum   BE16  // of the header: UpdateChecksum must follow every change
	Src, Dst   [4]byte
}

// isFragment reports whether the packet is a part of another: more fragments, or an offset.
func (h *IPv4) isFragment() bool { return h.Fragment.Get()&0x3fff != 0 }

// UpdateChecksum computes the header checksum and writes it.
func (h *IPv4) UpdateChecksum() {
	h.Checksum = BE16{}
	binary.LittleEndian.PutUint16(h.Checksum[:], ^fold16(h.sum()))
}

// checksumOK reports whether the header checksum is right.
func (h *IPv4) checksumOK() bool { return fold16(h.sum()) == 0xffff }

// fold16 reduces a ones' complement sum of a few 32-bit words to 16 bits.
func fold16(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff // ≤ 33 bits
	sum = sum>>16 + sum&0xffff     // ≤ 18 bits
	sum = sum>>16 + sum&0xffff
	return uint16(sum>>16 + sum)
}

// IPv6 is an IPv6 header (RFC 8200 section 3, A17.3.1.2).
type IPv6 struct {
	VersionClassFlow BE32  // version (4 bits), traffic class (8 bits), flow label (20 bits)
	PayloadLen       BE16  // of what follows the header
	NextHeader       uint8 // protocol of what follows the header
	HopLimit         uint8
	Src, Dst         [16]byte
}

// version returns the IP version, 6.
func (h *IPv6) version() uint8 { return h.VersionClassFlow[0] >> 4 }

// flowLabel returns the flow label.
func (h *IPv6) flowLabel() uint32 { return h.VersionClassFlow.Get() & 0xfffff }

// TrafficClass returns DSCP (6 bits) and ECN (2 bits).
func (h *IPv6) TrafficClass() uint8 { return uint8(h.VersionClassFlow.Get() >> 20) }

// SetTrafficClass writes DSCP and ECN.
func (h *IPv6) SetTrafficClass(tc uint8) {
	h.VersionClassFlow.Set(h.VersionClassFlow.Get()&^(0xff<<20) | uint32(tc)<<20)
}
