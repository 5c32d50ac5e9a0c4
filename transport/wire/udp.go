package wire

// UDPLen is the length of a UDP header (RFC 768).
const UDPLen = 8

// UDPPort is the destination port of every RoCEv2 packet (A17.3.1.3).
const UDPPort = 4791

// UDP is a UDP header (RFC 768, A17.3.1.3).
type UDP []byte

// SrcPort is the source port: an entropy value that spreads flows over equal-cost paths.
func (h UDP) SrcPort() uint16 { return be16(h) }

// DstPort is the destination port.
func (h UDP) DstPort() uint16 { return be16(h[2:]) }

// Len is the length of header and payload.
func (h UDP) Len() uint16 { return be16(h[4:]) }

// Checksum is 0 in RoCEv2: the ICRC protects more (A17.3.1.3).
func (h UDP) Checksum() uint16 { return be16(h[6:]) }

// SetSrcPort writes the source port.
func (h UDP) SetSrcPort(port uint16) { putBE16(h, port) }

// SetDstPort writes the destination port.
func (h UDP) SetDstPort(port uint16) { putBE16(h[2:], port) }

// SetLen writes the length of header and payload.
func (h UDP) SetLen(n uint16) { putBE16(h[4:], n) }

// SetChecksum writes the checksum.
func (h UDP) SetChecksum(v uint16) { putBE16(h[6:], v) }
