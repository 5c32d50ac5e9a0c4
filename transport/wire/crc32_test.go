package wire

import (
	"hash/crc32"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUpdateCRC compares with hash/crc32 at all short lengths and alignments, and at long ones.
func TestUpdateCRC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	room := make([]byte, 9100)
	for i := range room {
		room[i] = byte(rng.Uint32())
	}
	check := func(start, n int) {
		crc, p := rng.Uint32(), room[start:start+n]
		want := crc32.Update(crc, crc32.IEEETable, p)
		for name, got := range crcWays(crc, p) {
			require.Equal(t, want, got, "%s: %d bytes from %d", name, n, start)
		}
	}
	for n := range 601 {
		for start := range 65 {
			check(start, n)
		}
	}
	for n := 4096; n <= 9000; n += 13 {
		check(rng.IntN(64), n)
	}
}

// TestMaskedCRC compares each way with the generic one at all lengths in which the masked bytes of
// the headers may stand in a block of their own, or in what is left behind whole blocks: an ACK
// over IPv4 has 44 bytes, of which 32 are whole blocks and the last that is masked is number 32.
func TestMaskedCRC(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	room := make([]byte, 600)
	for i := range room {
		room[i] = byte(rng.Uint32())
	}
	for _, v6 := range []bool{false, true} {
		shortest := IPv4Len + UDPLen + BTHLen
		if v6 {
			shortest = IPv6Len + UDPLen + BTHLen
		}
		for n := shortest; n <= 500; n++ {
			p := room[n%7 : n%7+n]
			for name, got := range icrcWays(p, v6) {
				require.Equal(t, icrcGeneric(p, v6), got, "%s: %d bytes, IPv6 %v", name, n, v6)
			}
		}
	}
}

func FuzzCRC(f *testing.F) {
	f.Add(uint32(0), []byte("123456789"))
	for _, frame := range seeds(f) {
		f.Add(uint32(0), frame)
	}
	f.Fuzz(func(t *testing.T, crc uint32, p []byte) {
		for name, got := range crcWays(crc, p) {
			require.Equal(t, crc32.Update(crc, crc32.IEEETable, p), got, name)
		}
	})
}

// P, with all its powers, unreflected: bit i is the coefficient of xⁱ.
const polynomial = 1<<32 | 0x04c11db7

// order is the order of x modulo P, a primitive polynomial: x^order = 1.
const order = 1<<32 - 1

// multiply returns a·b mod P, unreflected, by school multiplication.
func multiply(a, b uint64) (v uint64) {
	for i := 31; i >= 0; i-- {
		v <<= 1
		if v>>32 != 0 {
			v ^= polynomial
		}
		if b>>i&1 != 0 {
			v ^= a
		}
	}
	return v
}

// powerOfX returns xⁿ mod P, reflected in 32 bits, by squaring; n may be negative.
func powerOfX(n int) uint64 {
	n = (n%order + order) % order
	v := uint64(1)
	for i := 31; i >= 0; i-- {
		v = multiply(v, v)
		if n>>i&1 != 0 {
			v = multiply(v, 2)
		}
	}
	return uint64(bits.Reverse32(uint32(v)))
}

// inverse returns the carry-less inverse of an odd p modulo 2⁶⁴, by long division from below.
func inverse(p uint64) (q uint64) {
	rest := uint64(1)
	for i := range 64 {
		if rest>>i&1 != 0 {
			q |= 1 << i
			rest ^= p << i
		}
	}
	return q
}

func TestConstants(t *testing.T) {
	for d, fold := range map[int][2]uint64{128: fold128, 512: fold512, 2048: fold2048} {
		assert.Equal(t, powerOfX(d+64-1)<<32, fold[0], "fold%d", d)
		assert.Equal(t, powerOfX(d-1)<<32, fold[1], "fold%d", d)
	}
	for row, halves := range reduce512 {
		for i, c := range halves {
			assert.Equal(t, powerOfX(64*(7-i)+32-1+8*(row-maxShift)), c, "reduce512[%d][%d]", row,
				i)
		}
	}
	p := bits.Reverse64(polynomial) >> 31
	assert.Equal(t, [2]uint64{inverse(p), p}, barrett)
	assert.Equal(t, uint64(crc32.IEEE), powerOfX(32))
	assert.Equal(t, uint64(1<<31), powerOfX(order))
	assert.Equal(t, crc32.ChecksumIEEE([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")), lrhState)
}
