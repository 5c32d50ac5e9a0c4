package neigh

// Counters counts events and drops, each drop by its reason.
type Counters struct {
	ARPRequestsIn  uint64 // valid ones
	ARPRepliesIn   uint64
	ARPRequestsOut uint64
	ARPRepliesOut  uint64

	SolicitationsIn   uint64 // IPv6 neighbour solicitations, valid ones
	AdvertisementsIn  uint64
	SolicitationsOut  uint64
	AdvertisementsOut uint64

	EchoReplies4 uint64
	EchoReplies6 uint64

	Resolved    uint64 // entries whose MAC address became known
	MACChanges  uint64 // entries whose MAC address changed
	Unconfirmed uint64 // entries that did not answer their unicast probes
	Evicted     uint64 // unheld entries removed to make room for others

	AddressConflicts uint64 // another host claims an address of ours
	Ignored          uint64 // ARP and neighbour discovery for others

	DropARPMalformed    uint64 // short, or not Ethernet and IPv4, or an invalid sender
	DropIPv4Malformed   uint64 // version, header length, total length
	DropIPv4Checksum    uint64 // of the header
	DropICMPMalformed   uint64 // too short for an echo, or a code other than 0
	DropICMPChecksum    uint64
	DropICMPFragment    uint64 // ICMP fragments are not reassembled
	DropIPv6Malformed   uint64 // version, payload length
	DropICMPv6Malformed uint64
	DropICMPv6Checksum  uint64
	DropNDHopLimit      uint64 // not 255: forwarded by a router, RFC 4861 section 7.1
	DropNDMalformed     uint64 // violates RFC 4861 section 7.1.1 or 7.1.2
	DropNDOption        uint64 // an option of length 0, or longer than the message
	DropEchoSource      uint64 // echo request from a non-unicast address
	DropEchoTooLong     uint64 // longer than maxPacket
	DropQueueFull       uint64 // outgoing frames that found the queue full
	DropNoRoom          uint64 // outgoing frames longer than Emit's buffer
	DropLearnFull       uint64 // neighbours not learned because all entries are held
}
