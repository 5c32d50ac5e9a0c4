package wire

// EthernetLen is the length of an Ethernet header without a VLAN tag.
const EthernetLen = 14

// vlanLen is the length of an 802.1Q tag.
const vlanLen = 4

// The EtherTypes that RoCEv2 frames carry (A17.3.1; IEEE 802.1Q table 9-1 for the tag).
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeVLAN = 0x8100
	EtherTypeIPv6 = 0x86dd
)

// Ethernet is an Ethernet header (IEEE 802.3 3.1.1, A17.3.1).
type Ethernet struct {
	Dst, Src  [6]byte
	EtherType BE16 // of what follows the header: a VLAN tag or an IP header
}

// VLAN is an 802.1Q tag without its own EtherType, which is the one of the Ethernet header
// (IEEE 802.1Q 9.6).
type VLAN struct {
	TCI       BE16 // priority (3 bits), drop eligibility (1 bit) and VLAN identifier (12 bits)
	EtherType BE16 // of what follows the tag
}
