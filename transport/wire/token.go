package wire

// A TOKEN has TokenLen bytes behind its XCH, and RangeLen for each of its ranges, at most
// MaxRanges.
const (
	TokenLen  = 8
	RangeLen  = 4
	MaxRanges = 32
)

// TokenField is what a receiver of data lets its sender send (ToCC; docs/wire.md), and which
// packets it misses.
type TokenField []byte

// TokenFlags say more.
type TokenFlags uint8

// The flags; others are ignored. The priority of the data has the upper three bits of their byte.
const (
	TokenRepeat TokenFlags = 1 // said before
	TokenAsks   TokenFlags = 4 // it wants an RTS that answers it
	// its ranges are packets whose headers came, and are listed this once
	TokenTrimmed TokenFlags = 8
	TokenSingle  TokenFlags = 16 // worth Limit bytes once
	tokenFlags              = TokenRepeat | TokenAsks | TokenTrimmed | TokenSingle

	tokenPriorityShift = 5
)

// Range is packets in a row that are missing.
type Range struct {
	First PSN
	Count uint8 // 1 at least
}

// Set writes all but the ranges, and that there are n of them.
func (t TokenField) Set(limit uint32, seq uint16, n int, f TokenFlags, priority uint8) {
	putBE32(t, limit)
	putBE16(t[4:], seq)
	t[6], t[7] = uint8(n), uint8(f)|priority<<tokenPriorityShift
}

// SetRange writes range i.
func (t TokenField) SetRange(i int, r Range) {
	putBE32(t[TokenLen+RangeLen*i:], uint32(r.First)<<8|uint32(r.Count))
}

// Limit is the bytes granted since the connection began; of a TokenSingle, by it.
func (t TokenField) Limit() uint32 { return be32(t) }

// Seq numbers TOKENs.
func (t TokenField) Seq() uint16 { return be16(t[4:]) }

// Ranges is how many there are.
func (t TokenField) Ranges() int { return int(t[6]) }

// Range is range i.
func (t TokenField) Range(i int) Range {
	v := be32(t[TokenLen+RangeLen*i:])
	return Range{PSN(v >> 8), uint8(v)}
}

// Flags are those of this version.
func (t TokenField) Flags() TokenFlags { return TokenFlags(t[7]) & tokenFlags }

// Priority is that of the data.
func (t TokenField) Priority() uint8 { return t[7] >> tokenPriorityShift }

// valid says whether the length is right, and no range is empty.
func (t TokenField) valid() bool {
	if len(t) < TokenLen || t.Ranges() > MaxRanges || len(t) != TokenLen+RangeLen*t.Ranges() {
		return false
	}
	for i := range t.Ranges() {
		if t.Range(i).Count == 0 {
			return false
		}
	}
	return true
}

// Token is what a TOKEN says.
func (p *Packet) Token() TokenField { return TokenField(p.Ext()[XCHLen:]) }
