package wire

import "unsafe"

// header is a struct of bytes and arrays of bytes, without padding and without pointers: every
// sequence of bytes is a valid value of it, at every address.
type header interface {
	Ethernet | VLAN | IPv4 | IPv6 | UDP | BTH | RETH | AETH | AtomicETH | DETH | BE32 | BE64
}

// View returns the header at the start of b as a view: what is written to it is written to b. It
// panics if b is shorter than the header.
func View[H header](b []byte) *H {
	var h H
	_ = b[unsafe.Sizeof(h)-1]
	return (*H)(unsafe.Pointer(unsafe.SliceData(b)))
}

// bytes returns the bytes of the header.
func (h *IPv4) bytes() *[IPv4Len]byte { return (*[IPv4Len]byte)(unsafe.Pointer(h)) }
