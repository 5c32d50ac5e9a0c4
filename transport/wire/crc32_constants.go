package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// The constants of carry-less CRC-32 (crc32_amd64.s). With P = x³² + 0x04c11db7, and reflected so
// that the highest bit is x⁰:
//
//   - fold<d> moves a 128-bit lane d bits on. Its halves belong to a lane's halves: the first half
//     is 64 bits farther from the end, so x^(d+64−1) mod P, then x^(d−1) mod P. The −1 makes
//     up for the product of reflected numbers being one bit short.
//   - reduce512 brings the eight halves of a block to 96 bits. Its row maxShift is for a block that
//     ends the message: for half i, x^(64·(7−i)+32−1) mod P; the 32 is the zeros that a CRC
//     appends to the message. Row maxShift+t is for a block that t more bytes follow, row
//     maxShift−t for one whose last t bytes are not of the message; x has an inverse modulo P.
//     Reflected in 32 bits, not 64, which leaves the 96 bits at the low end of the register.
//   - barrett is the inverse of P modulo 2⁶⁴ in carry-less arithmetic, and P itself.
//
// TestConstants computes them all in another way.
var (
	fold128   = [2]uint64{0x65673b46_00000000, 0x9ba54c6f_00000000}
	fold512   = [2]uint64{0x653d9822_00000000, 0xcad38e8f_00000000}
	fold2048  = [2]uint64{0x7cc8e1e7_00000000, 0x03f9f863_00000000}
	reduce512 = reduceRows()
	barrett   = [2]uint64{0xb4e5b025_f7011641, 0x1_db710641}
)

// maxShift bytes are the most that a block can be off the end of the message.
const maxShift = 64

// reduceRows computes reduce512. Its exponents are 8k−481 for k = row + 8·(7−half): steps of a
// byte from the least on.
func reduceRows() (rows [2*maxShift + 1][8]uint64) {
	v := uint32(1) << 31 // x⁰
	for range 8*maxShift - 31 {
		v = overX(v)
	}
	for k := range len(rows) + 8*7 {
		for half := range 8 {
			if row := k - 8*(7-half); row >= 0 && row < len(rows) {
				rows[row][half] = uint64(v)
			}
		}
		for range 8 {
			v = timesX(v)
		}
	}
	return rows
}

// timesX returns v·x mod P, reflected: a step of the CRC's shift register.
func timesX(v uint32) uint32 { return v>>1 ^ -(v&1)&crc32.IEEE }

// overX returns v/x mod P, reflected: timesX backwards.
func overX(v uint32) uint32 {
	carry := v >> 31 // P ends in 1, v·x does not: the highest bit is set if P was added
	return (v^-carry&crc32.IEEE)<<1 | carry
}

// overlay modifies the first maskLen bytes of a message before they are summed: or sets the bits
// that count as ones, xor inverts bits, such as the initial state in the first four bytes.
type overlay struct {
	or, xor [maskLen]byte
}

// newOverlay returns the overlay of a mask and an initial state in the form of hash/crc32.
func newOverlay(mask *[maskLen]byte, crc uint32) overlay {
	o := overlay{or: *mask}
	binary.LittleEndian.PutUint32(o.xor[:], ^crc)
	return o
}
