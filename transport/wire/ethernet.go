package wire

// EthernetLen is the length of an Ethernet header without a VLAN tag (IEEE 802.3 3.1.1).
const EthernetLen = 14

// VLANLen is the length of an 802.1Q tag (IEEE 802.1Q 9.5).
const VLANLen = 4

// The EtherTypes that RoCEv2 frames carry (A17.3.1; IEEE 802.1Q table 9-1 for the tag).
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeVLAN = 0x8100
	EtherTypeIPv6 = 0x86dd
)

// Ethernet is an Ethernet header (A17.3.1).
type Ethernet []byte

// Dst is the destination MAC address.
func (h Ethernet) Dst() [6]byte { return [6]byte(h[0:6]) }

// Src is the source MAC address.
func (h Ethernet) Src() [6]byte { return [6]byte(h[6:12]) }

// EtherType says what follows the header: a VLAN tag or an IP header.
func (h Ethernet) EtherType() uint16 { return be16(h[12:]) }

// SetDst writes the destination MAC address.
func (h Ethernet) SetDst(mac [6]byte) { copy(h[0:6], mac[:]) }

// SetSrc writes the source MAC address.
func (h Ethernet) SetSrc(mac [6]byte) { copy(h[6:12], mac[:]) }

// SetEtherType writes what follows.
func (h Ethernet) SetEtherType(t uint16) { putBE16(h[12:], t) }

// VLAN is an 802.1Q tag as it stands between the Ethernet header and what it announces: the tag
// control information, then the EtherType of the rest (IEEE 802.1Q 9.6).
type VLAN []byte

// TCI is priority (3 bits), drop eligibility (1 bit) and VLAN identifier (12 bits).
func (h VLAN) TCI() uint16 { return be16(h) }

// ID is the VLAN identifier.
func (h VLAN) ID() uint16 { return be16(h) & 0xfff }

// Priority is the priority code point: the class that priority flow control knows.
func (h VLAN) Priority() uint8 { return h[0] >> 5 }

// EtherType says what follows the tag.
func (h VLAN) EtherType() uint16 { return be16(h[2:]) }

// SetTCI writes priority, drop eligibility and VLAN identifier.
func (h VLAN) SetTCI(tci uint16) { putBE16(h, tci) }

// SetEtherType writes what follows.
func (h VLAN) SetEtherType(t uint16) { putBE16(h[2:], t) }
