package neigh

import "encoding/binary"

// sum adds b to a ones' complement sum in 32-bit words, an odd last byte padded with zero
// (RFC 1071 section 1).
func sum(b []byte, acc uint64) uint64 {
	for len(b) >= 8 {
		v := binary.BigEndian.Uint64(b)
		acc += v>>32 + v&0xffffffff
		b = b[8:]
	}
	if len(b) >= 4 {
		acc += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		acc += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		acc += uint64(b[0]) << 8
	}
	return acc
}

// fold reduces a sum of words to the 16 bits of a checksum. Over data with a correct checksum the
// result is 0.
func fold(acc uint64) uint16 {
	for acc > 0xffff {
		acc = acc>>16 + acc&0xffff
	}
	return ^uint16(acc)
}

// sum6 returns the sum of an ICMPv6 message and its pseudo-header (RFC 8200 section 8.1).
func sum6(ip ipv6, message []byte) uint64 {
	return sum(message, sum(ip[8:40], uint64(len(message))+protocolICMPv6))
}
