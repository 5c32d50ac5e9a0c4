package neigh

// Counters say what happened, each drop under its own name.
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
	MACChanges  uint64 // entries whose MAC address became another
	Unconfirmed uint64 // entries that left all unicast probes unanswered
	Evicted     uint64 // entries that nobody held, and that made room for others

	AddressConflicts uint64 // someone else claims an address of ours
	Ignored          uint64 // ARP and neighbour discovery that does not concern us

	DropARPMalformed    uint64 // short, or not Ethernet and IPv4, or a sender that cannot be
	DropIPv4Malformed   uint64 // version, header length, total length
	DropIPv4Checksum    uint64 // of the header
	DropICMPMalformed   uint64 // too short for an echo, or a code it does not have
	DropICMPChecksum    uint64
	DropICMPFragment    uint64 // ICMP in pieces is not put together
	DropIPv6Malformed   uint64 // version, payload length
	DropICMPv6Malformed uint64
	DropICMPv6Checksum  uint64
	DropNDHopLimit      uint64 // not 255: came through a router, RFC 4861 section 7.1
	DropNDMalformed     uint64 // a rule of RFC 4861 section 7.1.1 or 7.1.2
	DropNDOption        uint64 // an option of length 0, or longer than the message
	DropEchoSource      uint64 // an echo request from no unicast address
	DropEchoTooLong     uint64 // longer than any frame we build
	DropQueueFull       uint64 // a frame to send found QueueDepth others waiting
	DropNoRoom          uint64 // a frame to send was longer than the room Emit had
	DropLearnFull       uint64 // a neighbour made itself known, and all others are held
}
