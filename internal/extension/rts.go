package extension

import "encoding/binary"

// RTSLen is the length of what an RTS has behind its XCH.
const RTSLen = 16

// RTS is what a sender of data tells its receiver of what waits for tokens (ToCC;
// docs/wire.md). Numbers are cumulative since the connection began.
type RTS []byte

// RTSFlags say more.
type RTSFlags uint8

// The flags; others are ignored.
const (
	RTSRepeat      RTSFlags = 1  // said before
	RTSUnscheduled RTSFlags = 2  // packets without a token left before it
	RTSAnswers     RTSFlags = 8  // Seq is of the TOKEN that asked for it
	RTSEnds        RTSFlags = 32 // nothing waits any more
	// it took the way of the data: what has a PSN before its own left before it
	RTSBehind RTSFlags = 64
	rtsFlags           = RTSRepeat | RTSUnscheduled | RTSAnswers | RTSEnds | RTSBehind
)

// Set writes all of it.
func (h RTS) Set(demand, spent uint32, ce, seq uint16, f RTSFlags) {
	binary.BigEndian.PutUint32(h, demand)
	binary.BigEndian.PutUint32(h[4:], spent)
	binary.BigEndian.PutUint16(h[8:], ce)
	binary.BigEndian.PutUint16(h[10:], seq)
	binary.BigEndian.PutUint32(h[12:], uint32(f)<<24)
}

// SetDiscarded writes what of Spent was discarded, after Set.
func (h RTS) SetDiscarded(bytes uint32) {
	binary.BigEndian.PutUint32(h[12:], uint32(h[12])<<24|bytes&0xffffff)
}

// Demand is Spent and the bytes that wait for tokens.
func (h RTS) Demand() uint32 { return binary.BigEndian.Uint32(h) }

// Spent is the bytes of tokens that were used or discarded.
func (h RTS) Spent() uint32 { return binary.BigEndian.Uint32(h[4:]) }

// CE is how many tokens came with congestion experienced.
func (h RTS) CE() uint16 { return binary.BigEndian.Uint16(h[8:]) }

// Seq is the number of the TOKEN that this answers, with RTSAnswers.
func (h RTS) Seq() uint16 { return binary.BigEndian.Uint16(h[10:]) }

// Discarded is the bytes of tokens that were discarded, modulo 2^24.
func (h RTS) Discarded() uint32 { return binary.BigEndian.Uint32(h[12:]) & 0xffffff }

// Flags are those of this version.
func (h RTS) Flags() RTSFlags { return RTSFlags(h[12]) & rtsFlags }
