package wire

// RTSLen is the length of what an RTS has behind its XCH.
const RTSLen = 16

// RTSField is what a sender of data tells its receiver of what waits for tokens (ToCC;
// docs/wire.md). Numbers are cumulative since the connection began.
type RTSField []byte

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
func (h RTSField) Set(demand, spent uint32, ce, seq uint16, f RTSFlags) {
	putBE32(h, demand)
	putBE32(h[4:], spent)
	putBE16(h[8:], ce)
	putBE16(h[10:], seq)
	putBE32(h[12:], uint32(f)<<24)
}

// SetDiscarded writes what of Spent was discarded, after Set.
func (h RTSField) SetDiscarded(bytes uint32) { putBE32(h[12:], uint32(h[12])<<24|bytes&0xffffff) }

// Demand is Spent and the bytes that wait for tokens.
func (h RTSField) Demand() uint32 { return be32(h) }

// Spent is the bytes of tokens that were used or discarded.
func (h RTSField) Spent() uint32 { return be32(h[4:]) }

// CE is how many tokens came with congestion experienced.
func (h RTSField) CE() uint16 { return be16(h[8:]) }

// Seq is the number of the TOKEN that this answers, with RTSAnswers.
func (h RTSField) Seq() uint16 { return be16(h[10:]) }

// Discarded is the bytes of tokens that were discarded, modulo 2^24.
func (h RTSField) Discarded() uint32 { return be32(h[12:]) & 0xffffff }

// Flags are those of this version.
func (h RTSField) Flags() RTSFlags { return RTSFlags(h[12]) & rtsFlags }

// RTS is what an RTS says.
func (p *Packet) RTS() RTSField { return RTSField(p.Ext()[XCHLen:]) }
