package extension

import "encoding/binary"

// A TOKEN has TokenLen bytes behind its XCH, and RangeLen for each of its ranges, at most
// MaxRanges.
const (
	TokenLen  = 8
	RangeLen  = 4
	MaxRanges = 32
)

// Token is what a receiver of data lets its sender send (ToCC; docs/wire.md), and which
// packets it misses.
type Token []byte

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
	First uint32 // PSN
	Count uint8  // 1 at least
}

// Set writes all but the ranges, and that there are n of them.
func (t Token) Set(limit uint32, seq uint16, n int, f TokenFlags, priority uint8) {
	binary.BigEndian.PutUint32(t, limit)
	binary.BigEndian.PutUint16(t[4:], seq)
	t[6], t[7] = uint8(n), uint8(f)|priority<<tokenPriorityShift
}

// SetRange writes range i.
func (t Token) SetRange(i int, r Range) {
	binary.BigEndian.PutUint32(t[TokenLen+RangeLen*i:], r.First<<8|uint32(r.Count))
}

// Limit is the bytes granted since the connection began; of a TokenSingle, by it.
func (t Token) Limit() uint32 { return binary.BigEndian.Uint32(t) }

// Seq numbers TOKENs.
func (t Token) Seq() uint16 { return binary.BigEndian.Uint16(t[4:]) }

// Ranges is how many there are.
func (t Token) Ranges() int { return int(t[6]) }

// Range is range i.
func (t Token) Range(i int) Range {
	v := binary.BigEndian.Uint32(t[TokenLen+RangeLen*i:])
	return Range{v >> 8, uint8(v)}
}

// Flags are those of this version.
func (t Token) Flags() TokenFlags { return TokenFlags(t[7]) & tokenFlags }

// Priority is that of the data.
func (t Token) Priority() uint8 { return t[7] >> tokenPriorityShift }

// Valid reports whether the length is right and no range is empty.
func (t Token) Valid() bool {
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
