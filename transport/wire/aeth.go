package wire

import "fmt"

// AETHLen is the length of an acknowledge extended transport header.
const AETHLen = 4

// AETH is an acknowledge extended transport header (IB 9.3.5).
type AETH struct {
	Syndrome Syndrome
	MSN      BE24 // message sequence number: messages that the responder has completed (IB 9.7.7)
}

// Set writes all fields; msn wraps at 24 bits.
func (h *AETH) Set(s Syndrome, msn uint32) {
	h.Syndrome = s
	h.MSN.Set(msn)
}

// Syndrome is the kind of an acknowledgement, ACK, RNR NAK or NAK, in the upper three bits, and its
// parameter, credits, timer or NAK code, in the lower five (IB 9.7.5.1.1 table 43).
type Syndrome uint8

// The kinds of a syndrome, in its upper bits (IB table 43).
const (
	syndromeKind Syndrome = 0xe0
	kindACK      Syndrome = 0x00
	kindRNR      Syndrome = 0x20
	kindNAK      Syndrome = 0x60
)

// SyndromeAck is an ACK without credits, from a responder without end-to-end flow control
// (IB 9.7.7.2.2).
const SyndromeAck Syndrome = 0x1f

// The codes of a NAK (IB 9.7.5.2 table 44).
const (
	NakPSNSequence       uint8 = 0
	NakInvalidRequest    uint8 = 1
	NakRemoteAccess      uint8 = 2
	NakRemoteOperational uint8 = 3
	NakInvalidRD         uint8 = 4
)

// ackSyndrome returns an ACK with encoded credits (IB 9.7.7.2.2).
func ackSyndrome(credits uint8) Syndrome { return kindACK | Syndrome(credits)&^syndromeKind }

// RNRSyndrome returns a receiver-not-ready NAK that requests a wait of RNRTimer(timer)
// (IB 9.7.5.2.8 table 45).
func RNRSyndrome(timer uint8) Syndrome { return kindRNR | Syndrome(timer)&^syndromeKind }

// NakSyndrome returns a NAK with one of the Nak codes (IB table 44).
func NakSyndrome(code uint8) Syndrome { return kindNAK | Syndrome(code)&^syndromeKind }

// IsAck reports whether s is an ACK.
func (s Syndrome) IsAck() bool { return s&syndromeKind == kindACK }

// IsRNR reports whether s is a receiver-not-ready NAK.
func (s Syndrome) IsRNR() bool { return s&syndromeKind == kindRNR }

// IsNak reports whether s is a NAK other than receiver-not-ready.
func (s Syndrome) IsNak() bool { return s&syndromeKind == kindNAK }

// Code returns the lower five bits: encoded credits, the RNR timer, or the code of a NAK.
func (s Syndrome) Code() uint8 { return uint8(s &^ syndromeKind) }

var nakNames = [...]string{NakPSNSequence: "PSN_SEQ_ERR", NakInvalidRequest: "INVALID_REQ",
	NakRemoteAccess: "REMOTE_ACCESS", NakRemoteOperational: "REMOTE_OP", NakInvalidRD: "INVALID_RD"}

// String returns s as in ACK, RNR NAK 10.24ms or NAK PSN_SEQ_ERR.
func (s Syndrome) String() string {
	switch {
	case s == SyndromeAck:
		return "ACK"
	case s.IsAck():
		return fmt.Sprintf("ACK credits %d", s.Code())
	case s.IsRNR():
		return "RNR NAK " + RNRTimer(s.Code()).String()
	case s.IsNak() && int(s.Code()) < len(nakNames):
		return "NAK " + nakNames[s.Code()]
	}
	return fmt.Sprintf("syndrome 0x%02x", uint8(s))
}
