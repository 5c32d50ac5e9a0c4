package wire

// UDPLen is the length of a UDP header.
const UDPLen = 8

// UDPPort is the destination port of every RoCEv2 packet (A17.3.1.3).
const UDPPort = 4791

// UDP is a UDP header (RFC 768, A17.3.1.3).
type UDP struct {
	SrcPort  BE16 // an entropy value that spreads flows over equal-cost paths
	DstPort  BE16
	Len      BE16 // of header and payload
	Checksum BE16 // 0 in RoCEv2: the ICRC protects more
}
