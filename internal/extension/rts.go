package extension

import "encoding/binary"

// RTSLen is the length of an RTS.
const RTSLen = 16

// RTS is the body of an RTS packet: the demand for tokens of a sender of data (ToCC; docs/wire.md).
// Numbers are cumulative since the connection began.
type RTS []byte

// RTSFlags has the flags of an RTS.
type RTSFlags uint8

// The flags; others are ignored.
const (
	RTSRepeat      RTSFlags = 1  // repeats an earlier RTS
	RTSUnscheduled RTSFlags = 2  // packets without a token were sent before it
	RTSAnswers     RTSFlags = 8  // Seq is the number of the TOKEN that requested it
	RTSEnds        RTSFlags = 32 // no data waits
	// sent on the path of the data: every packet with an earlier PSN was sent before it
	RTSBehind RTSFlags = 64
	RTSAgain  RTSFlags = 128 // packets were retransmitted since the RTS before it
	rtsFlags           = RTSRepeat | RTSUnscheduled | RTSAnswers | RTSEnds | RTSBehind | RTSAgain
)

// Set writes everything but Discarded, which is 0.
func (h RTS) Set(demand, spent uint32, ce, seq uint16, f RTSFlags) {
	binary.BigEndian.PutUint32(h, demand)
	binary.BigEndian.PutUint32(h[4:], spent)
	binary.BigEndian.PutUint16(h[8:], ce)
	binary.BigEndian.PutUint16(h[10:], seq)
	binary.BigEndian.PutUint32(h[12:], uint32(f)<<24)
}

// SetDiscarded writes the part of Spent that was discarded, after Set.
func (h RTS) SetDiscarded(bytes uint32) {
	binary.BigEndian.PutUint32(h[12:], uint32(h[12])<<24|bytes&0xffffff)
}

// Demand returns Spent and the bytes that wait for tokens.
func (h RTS) Demand() uint32 { return binary.BigEndian.Uint32(h) }

// Spent returns the bytes of tokens that were used or discarded.
func (h RTS) Spent() uint32 { return binary.BigEndian.Uint32(h[4:]) }

// CE returns the number of tokens that arrived with congestion experienced.
func (h RTS) CE() uint16 { return binary.BigEndian.Uint16(h[8:]) }

// Seq returns the number of the TOKEN that requested the RTS. It is valid with RTSAnswers.
func (h RTS) Seq() uint16 { return binary.BigEndian.Uint16(h[10:]) }

// Discarded returns the bytes of tokens that were discarded, modulo 2^24.
func (h RTS) Discarded() uint32 { return binary.BigEndian.Uint32(h[12:]) & 0xffffff }

// Flags returns the flags of this version.
func (h RTS) Flags() RTSFlags { return RTSFlags(h[12]) & rtsFlags }
