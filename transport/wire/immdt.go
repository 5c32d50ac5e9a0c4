package wire

// ImmDtLen is the length of the immediate data (IB 9.3.8).
const ImmDtLen = 4

// IETHLen is the length of an invalidate extended transport header (IB 9.3.7).
const IETHLen = 4

// CNPLen is the length of the reserved bytes that a congestion notification packet has behind its
// BTH, all zero (A17.9.3).
const CNPLen = 16

// ImmDt is the immediate data of SEND and WRITE, last of the extended headers (IB 9.3.8).
type ImmDt []byte

// Imm is the immediate data.
func (h ImmDt) Imm() uint32 { return be32(h) }

// SetImm writes the immediate data.
func (h ImmDt) SetImm(v uint32) { putBE32(h, v) }

// IETH is an invalidate extended transport header, last of the extended headers (IB 9.3.7).
type IETH []byte

// RKey is the key that the responder invalidates.
func (h IETH) RKey() uint32 { return be32(h) }

// SetRKey writes the key to invalidate.
func (h IETH) SetRKey(key uint32) { putBE32(h, key) }
