package wire

import "errors"

// What Packet.Parse answers for a frame that is not a RoCEv2 packet, or not a well-formed one
// (IB 9.6 and A17.4 ask to drop these silently). They come as they are, without details, because
// a flood of bad frames must not cost allocations: count them.
var (
	// ErrNotRoCE is a frame of another protocol: ARP, ICMP, another UDP port.
	ErrNotRoCE = errors.New("wire: not a RoCEv2 packet")
	// ErrTruncated is a frame shorter than its headers say.
	ErrTruncated = errors.New("wire: frame cut short")
	// ErrIPHeader is an IP header with a wrong version, options, a wrong checksum, or of a
	// fragment.
	ErrIPHeader = errors.New("wire: bad IP header")
	// ErrUDPLength is a UDP length that is not the rest of the IP packet.
	ErrUDPLength = errors.New("wire: bad UDP length")
	// ErrBTH is a transport header of an unknown version.
	ErrBTH = errors.New("wire: bad BTH version")
	// ErrOpcode is an opcode that is reserved or that this package does not handle.
	ErrOpcode = errors.New("wire: unknown opcode")
	// ErrLength is a packet whose length does not suit its opcode.
	ErrLength = errors.New("wire: bad length for opcode")
	// ErrExtension is a packet of goroce's extension with a version, length or TLV that cannot be.
	ErrExtension = errors.New("wire: bad extension header")
)

// What Template.Set and ParseOffer answer.
var (
	// ErrAddress is an address that no RoCEv2 packet can have.
	ErrAddress = errors.New("wire: bad address")
	// ErrOffer is no offer of the extension.
	ErrOffer = errors.New("wire: bad offer of the extension")
)
