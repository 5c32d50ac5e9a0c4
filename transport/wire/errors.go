package wire

import "errors"

// The errors of Packet.Parse, for a frame that is not a well-formed RoCEv2 packet. IB 9.6 and A17.4
// require that such frames are dropped silently. The errors have no details, because a flood of bad
// frames must not cause allocations.
var (
	// ErrNotRoCE reports a frame of another protocol: ARP, ICMP, another UDP port.
	ErrNotRoCE = errors.New("wire: not a RoCEv2 packet")
	// ErrTruncated reports a frame shorter than its headers say.
	ErrTruncated = errors.New("wire: frame cut short")
	// ErrIPHeader reports an IP header with a wrong version, options, a wrong checksum, or of a
	// fragment.
	ErrIPHeader = errors.New("wire: bad IP header")
	// ErrUDPLength reports a UDP length that differs from the length of the IP payload.
	ErrUDPLength = errors.New("wire: bad UDP length")
	// ErrBTH reports a transport header of an unknown version.
	ErrBTH = errors.New("wire: bad BTH version")
	// ErrOpcode reports an opcode that is reserved or that this package does not implement.
	ErrOpcode = errors.New("wire: unknown opcode")
	// ErrLength reports a packet whose length does not match its opcode.
	ErrLength = errors.New("wire: bad length for opcode")
	// ErrExtension reports a packet of goroce's extension with an invalid version, length or TLV.
	ErrExtension = errors.New("wire: bad extension header")
)

// The errors of Template.Set and ParseOffer.
var (
	// ErrAddress reports an address that a RoCEv2 packet cannot have.
	ErrAddress = errors.New("wire: bad address")
	// ErrOffer reports bytes that are not a valid offer of the extension.
	ErrOffer = errors.New("wire: bad offer of the extension")
)
