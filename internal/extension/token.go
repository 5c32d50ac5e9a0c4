package extension

import "encoding/binary"

// The lengths of a Token without its ranges and of each range, and the greatest number of ranges.
const (
	TokenLen  = 8
	RangeLen  = 4
	MaxRanges = 32
)

// Token is the body of a TOKEN packet: the bytes that a receiver of data grants its sender, and the
// packets that are missing (ToCC; docs/wire.md).
type Token []byte

// TokenFlags has the flags of a Token.
type TokenFlags uint8

// The flags; others are ignored. The upper three bits of the byte are the priority of the data.
const (
	TokenRepeat TokenFlags = 1 // repeats an earlier TOKEN
	TokenAsks   TokenFlags = 4 // requests an RTS in answer
	// the ranges are trimmed packets, whose headers arrived since they were last listed
	TokenTrimmed TokenFlags = 8
	TokenSingle  TokenFlags = 16 // a credit for Limit bytes, lost if the TOKEN is lost
	tokenFlags              = TokenRepeat | TokenAsks | TokenTrimmed | TokenSingle

	tokenPriorityShift = 5
)

// Range is a sequence of missing packets.
type Range struct {
	First uint32 // PSN
	Count uint8  // at least 1
}

// Set writes everything but the n ranges.
func (t Token) Set(limit uint32, seq uint16, n int, f TokenFlags, priority uint8) {
	binary.BigEndian.PutUint32(t, limit)
	binary.BigEndian.PutUint16(t[4:], seq)
	t[6], t[7] = uint8(n), uint8(f)|priority<<tokenPriorityShift
}

// SetRange writes range i.
func (t Token) SetRange(i int, r Range) {
	binary.BigEndian.PutUint32(t[TokenLen+RangeLen*i:], r.First<<8|uint32(r.Count))
}

// Limit returns the bytes granted since the connection began, or by this TOKEN if it is a
// TokenSingle.
func (t Token) Limit() uint32 { return binary.BigEndian.Uint32(t) }

// Seq returns the number of the TOKEN.
func (t Token) Seq() uint16 { return binary.BigEndian.Uint16(t[4:]) }

// Ranges returns the number of ranges.
func (t Token) Ranges() int { return int(t[6]) }

// Range returns range i.
func (t Token) Range(i int) Range {
	v := binary.BigEndian.Uint32(t[TokenLen+RangeLen*i:])
	return Range{v >> 8, uint8(v)}
}

// Flags returns the flags of this version.
func (t Token) Flags() TokenFlags { return TokenFlags(t[7]) & tokenFlags }

// Priority returns the priority of the data.
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
