package wire

// BTHLen is the length of a base transport header (IB 9.2).
const BTHLen = 12

// The bits of BTH's bytes 1, 4 and 8 (IB 9.2.1, figure 79).
const (
	bthSolicited = 0x80 // byte 1
	bthMigReq    = 0x40
	bthPad       = 0x30
	bthPadShift  = 4
	bthTVer      = 0x0f
	bthFECN      = 0x80 // byte 4, which the ICRC does not cover
	bthBECN      = 0x40
	bthReserved6 = 0x3f
	bthAckReq    = 0x80 // byte 8
	bthReserved7 = 0x7f
	bthMarks     = 0x70 // of these, between ours: see Marks
	bthAskTiming = 0x08 // see AskTiming
)

// BTH is a base transport header, at the start of every RoCEv2 packet's UDP payload (IB 9.2).
type BTH []byte

// Opcode is the operation (IB 9.2.1).
func (h BTH) Opcode() Opcode { return Opcode(h[0]) }

// Solicited asks the responder to raise an event for this message (IB 9.2.3).
func (h BTH) Solicited() bool { return h[1]&bthSolicited != 0 }

// MigReq is the migration state, unused over UDP (IB 9.2.4).
func (h BTH) MigReq() bool { return h[1]&bthMigReq != 0 }

// Pad is how many bytes fill the payload up to a multiple of 4 (IB 9.2.5).
func (h BTH) Pad() uint8 { return h[1] & bthPad >> bthPadShift }

// TVer is the version of the transport headers, 0 (IB 9.2.6).
func (h BTH) TVer() uint8 { return h[1] & bthTVer }

// PKey is the partition key (IB 9.2.7).
func (h BTH) PKey() uint16 { return be16(h[2:]) }

// FECN is the forward congestion mark of InfiniBand; RoCEv2 uses IP's ECN instead (A17.9.1).
func (h BTH) FECN() bool { return h[4]&bthFECN != 0 }

// BECN is the backward congestion mark, set in a CNP (A17.9.3).
func (h BTH) BECN() bool { return h[4]&bthBECN != 0 }

// Reserved6 is the six reserved bits beside FECN and BECN, which the ICRC does not cover
// (IB 9.2.1 "resv8a").
func (h BTH) Reserved6() uint8 { return h[4] & bthReserved6 }

// DestQP is the queue pair that the packet is for (IB 9.2.2).
func (h BTH) DestQP() QPN { return QPN(be24(h[4:])) }

// AckReq asks the responder for an acknowledgement (IB 9.2.8).
func (h BTH) AckReq() bool { return h[8]&bthAckReq != 0 }

// Reserved7 is the seven reserved bits beside AckReq, which the ICRC covers (IB 9.2.1 "resv7").
func (h BTH) Reserved7() uint8 { return h[8] & bthReserved7 }

// AskTiming asks a receiver of ours, who agreed to FeatureTiming, to tell in its ACK how long it
// had the packet. To anybody else the bit is reserved, and 0.
func (h BTH) AskTiming() bool { return h[8]&bthAskTiming != 0 }

// Marks are those of ToCC, between ours who agreed to FeatureToken.
func (h BTH) Marks() Flags { return Flags(h[8]) & bthMarks }

// PSN is the packet sequence number (IB 9.2.9).
func (h BTH) PSN() PSN { return PSN(be24(h[8:])) }

// SetOpcode writes the operation.
func (h BTH) SetOpcode(op Opcode) { h[0] = uint8(op) }

// SetSolicited writes whether the responder raises an event.
func (h BTH) SetSolicited(on bool) { setBit(h, 1, bthSolicited, on) }

// SetMigReq writes the migration state.
func (h BTH) SetMigReq(on bool) { setBit(h, 1, bthMigReq, on) }

// SetPad writes the number of pad bytes, 0 … 3.
func (h BTH) SetPad(n uint8) { h[1] = h[1]&^bthPad | n<<bthPadShift&bthPad }

// SetTVer writes the version of the transport headers.
func (h BTH) SetTVer(v uint8) { h[1] = h[1]&^bthTVer | v&bthTVer }

// SetPKey writes the partition key.
func (h BTH) SetPKey(key uint16) { putBE16(h[2:], key) }

// SetFECN writes the forward congestion mark.
func (h BTH) SetFECN(on bool) { setBit(h, 4, bthFECN, on) }

// SetBECN writes the backward congestion mark.
func (h BTH) SetBECN(on bool) { setBit(h, 4, bthBECN, on) }

// SetReserved6 writes the six bits beside FECN and BECN.
func (h BTH) SetReserved6(v uint8) { h[4] = h[4]&^bthReserved6 | v&bthReserved6 }

// SetDestQP writes the queue pair that the packet is for.
func (h BTH) SetDestQP(qp QPN) { putBE24(h[4:], uint32(qp)) }

// SetAckReq writes whether an acknowledgement is wanted.
func (h BTH) SetAckReq(on bool) { setBit(h, 8, bthAckReq, on) }

// SetReserved7 writes the seven bits beside AckReq.
func (h BTH) SetReserved7(v uint8) { h[8] = h[8]&^bthReserved7 | v&bthReserved7 }

// SetPSN writes the packet sequence number.
func (h BTH) SetPSN(psn PSN) { putBE24(h[8:], uint32(psn)) }

func setBit(h []byte, at int, mask uint8, on bool) {
	h[at] &^= mask
	if on {
		h[at] |= mask
	}
}
