package extension

import "encoding/binary"

// ECNEchoLen is the length of an ECNEcho.
const ECNEchoLen = 8

// ECNEcho is the TLV of an XACK that says how many packets of this direction have come with the
// mark "congestion experienced" since the connection began, modulo 2^32: an ACK that is lost loses
// none.
type ECNEcho []byte

// Set writes the whole TLV, ECNEchoLen bytes.
func (t ECNEcho) Set(marked uint32) {
	binary.BigEndian.PutUint32(t, uint32(TLVECNEcho)<<24|ECNEchoLen/4<<16)
	binary.BigEndian.PutUint32(t[4:], marked)
}

// Marked is the number of marked packets.
func (t ECNEcho) Marked() uint32 { return binary.BigEndian.Uint32(t[4:]) }
