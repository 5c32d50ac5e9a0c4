package wire

// BTHLen is the length of a base transport header.
const BTHLen = 12

// BTH is a base transport header, at the start of every RoCEv2 packet's UDP payload (IB 9.2.1
// figure 79).
type BTH struct {
	Opcode     Opcode
	Flags      uint8 // SE, M, pad count and TVer, as the constants below
	PKey       BE16  // partition (IB 9.2.7)
	Congestion uint8 // FECN, BECN and six reserved bits, none of which the ICRC covers
	DestQP     BE24  // the queue pair that the packet is for (IB 9.2.2)
	Ack        uint8 // A and seven reserved bits; the extension uses four of these, see Marks
	PSN        BE24  // packet sequence number (IB 9.2.9)
}

// The bits of a BTH's Flags, Congestion and Ack.
const (
	BTHSolicited = 0x80 // of Flags, SE: the responder raises an event for the message (IB 9.2.3)
	BTHMigReq    = 0x40 // of Flags, M: migration state, unused over UDP (IB 9.2.4)
	BTHPad       = 0x30 // of Flags: bytes that pad the payload to a multiple of 4 (IB 9.2.5)
	BTHTVer      = 0x0f // of Flags: version of the transport headers, 0 (IB 9.2.6)
	BTHFECN      = 0x80 // of Congestion: forward mark; RoCEv2 uses IP's ECN instead (A17.9.1)
	BTHBECN      = 0x40 // of Congestion: backward mark, set in a CNP (A17.9.3)
	BTHAckReq    = 0x80 // of Ack, A: the responder acknowledges the packet (IB 9.2.8)

	bthPadShift  = 4
	bthMarks     = 0x70 // of Ack, in the extension: see Marks
	bthAskTiming = 0x08 // of Ack, in the extension: see AskTiming
)

// AskTiming reports whether the sender requests the time that the receiver had the packet, in the
// next ACK. The bit has this meaning between endpoints that agreed to FeatureTiming; to others it
// is reserved, and 0.
func (h *BTH) AskTiming() bool { return h.Ack&bthAskTiming != 0 }

// Marks returns the Mark flags of ToCC. The bits have this meaning between endpoints that agreed to
// FeatureToken.
func (h *BTH) Marks() Flags { return Flags(h.Ack) & bthMarks }
