package extension

import "encoding/binary"

// GrantLen is the length of a Grant.
const GrantLen = 4

// Grant is the TLV of an XDATA that says by which TOKEN its packet left.
type Grant []byte

// Set writes all of it.
func (g Grant) Set(seq uint16) {
	g[0], g[1] = uint8(TLVGrant), GrantLen/4
	binary.BigEndian.PutUint16(g[2:], seq)
}

// Seq is the number of the TOKEN.
func (g Grant) Seq() uint16 { return binary.BigEndian.Uint16(g[2:]) }
