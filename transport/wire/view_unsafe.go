package wire

import (
	"encoding/binary"
	"unsafe"
)

// header is a struct of bytes and arrays of bytes, without padding and without pointers: every
// sequence of bytes is a valid value of it, at every address.
type header interface {
	Ethernet | VLAN | IPv4 | IPv6 | UDP | BTH | RETH | AETH | AtomicETH | DETH | XCH | BE32 | BE64
}

// View returns the header at the start of b as a view: what is written to it is written to b. It
// panics if b is shorter than the header.
func View[H header](b []byte) *H {
	var h H
	_ = b[unsafe.Sizeof(h)-1]
	return (*H)(unsafe.Pointer(unsafe.SliceData(b)))
}

// sum adds the header as five little-endian words: ones' complement sums do not depend on the byte
// order, except for the order of the result (RFC 1071 section 2 B).
func (h *IPv4) sum() uint64 {
	b := (*[IPv4Len]byte)(unsafe.Pointer(h))
	return uint64(binary.LittleEndian.Uint32(b[:])) + uint64(binary.LittleEndian.Uint32(b[4:])) +
		uint64(binary.LittleEndian.Uint32(b[8:])) + uint64(binary.LittleEndian.Uint32(b[12:])) +
		uint64(binary.LittleEndian.Uint32(b[16:]))
}
