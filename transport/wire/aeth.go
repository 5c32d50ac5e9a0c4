package wire

import "fmt"

// AETHLen is the length of an acknowledge extended transport header (IB 9.3.5).
const AETHLen = 4

// AETH is an acknowledge extended transport header (IB 9.3.5).
type AETH []byte

// Syndrome says what happened.
func (h AETH) Syndrome() Syndrome { return Syndrome(h[0]) }

// MSN is the message sequence number: how many messages the responder has completed, 24 bits
// (IB 9.7.7).
func (h AETH) MSN() uint32 { return be24(h) }

// Set writes all fields.
func (h AETH) Set(s Syndrome, msn uint32) { putBE32(h, uint32(s)<<24|msn&(1<<24-1)) }

// Syndrome says in its upper three bits what an acknowledgement is: ACK, RNR NAK or NAK, and in
// its lower five how: credits, a timer, a reason (IB 9.7.5.1.1 table 43).
type Syndrome uint8

// The kinds of a syndrome, in its upper bits (IB table 43).
const (
	syndromeKind Syndrome = 0xe0
	kindACK      Syndrome = 0x00
	kindRNR      Syndrome = 0x20
	kindNAK      Syndrome = 0x60
)

// SyndromeAck is an ACK without credits: the responder does not do end-to-end flow control
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

// AckSyndrome is an ACK with encoded credits (IB 9.7.7.2.2).
func AckSyndrome(credits uint8) Syndrome { return kindACK | Syndrome(credits)&^syndromeKind }

// RNRSyndrome is a receiver-not-ready NAK that asks for a wait of RNRTimer(timer) (IB 9.7.5.2.8
// table 45).
func RNRSyndrome(timer uint8) Syndrome { return kindRNR | Syndrome(timer)&^syndromeKind }

// NakSyndrome is a NAK with its reason (IB table 44).
func NakSyndrome(code uint8) Syndrome { return kindNAK | Syndrome(code)&^syndromeKind }

// IsAck says whether s acknowledges.
func (s Syndrome) IsAck() bool { return s&syndromeKind == kindACK }

// IsRNR says whether s is a receiver-not-ready NAK.
func (s Syndrome) IsRNR() bool { return s&syndromeKind == kindRNR }

// IsNak says whether s is a NAK other than receiver-not-ready.
func (s Syndrome) IsNak() bool { return s&syndromeKind == kindNAK }

// Code is the lower five bits: encoded credits, the RNR timer, or the code of a NAK.
func (s Syndrome) Code() uint8 { return uint8(s &^ syndromeKind) }

var nakNames = [...]string{NakPSNSequence: "PSN_SEQ_ERR", NakInvalidRequest: "INVALID_REQ",
	NakRemoteAccess: "REMOTE_ACCESS", NakRemoteOperational: "REMOTE_OP", NakInvalidRD: "INVALID_RD"}

// String shows s as the captures name it: ACK, RNR NAK 10.24ms, NAK PSN_SEQ_ERR.
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
