package wire

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzParseLike: a frame that is like the one before parses as Parse parses it. Bytes of the second
// frame are those of the first, but for one bit.
func FuzzParseLike(f *testing.F) {
	for _, frame := range seeds(f) {
		f.Add(frame, uint16(0), uint8(0))
	}
	f.Fuzz(func(t *testing.T, frame []byte, at uint16, bit uint8) {
		var first, want, got Packet
		if first.Parse(frame) != nil || len(frame) == 0 {
			return
		}
		second := slices.Clone(frame)
		second[int(at)%len(second)] ^= 1 << (bit & 7)
		checkLike(t, &first, &want, &got, second)
	})
}

// TestParseLike changes each bit of the headers of frames over IPv4 and IPv6.
func TestParseLike(t *testing.T) {
	likes := 0
	for _, frame := range seeds(t) {
		var first Packet
		if first.Parse(frame) != nil {
			continue
		}
		for bit := range 8 * int(first.PayloadOff) {
			second := slices.Clone(frame)
			second[bit/8] ^= 1 << (bit % 8)
			p, want, got := first, Packet{}, Packet{}
			if checkLike(t, &p, &want, &got, second) {
				likes++
			}
		}
	}
	assert.NotZero(t, likes, "a PSN, or an extended header, may differ")
}

// TestParseLikeLengths has frames that are shorter, longer and empty.
func TestParseLikeLengths(t *testing.T) {
	for _, frame := range seeds(t) {
		var first Packet
		if first.Parse(frame) != nil {
			continue
		}
		for n := range len(frame) {
			p, want, got := first, Packet{}, Packet{}
			checkLike(t, &p, &want, &got, frame[:n])
		}
		p, want, got := first, Packet{}, Packet{}
		checkLike(t, &p, &want, &got, append(slices.Clone(frame), 1, 2, 3))
	}
}

// checkLike reports whether frame is like the one of which first is a view. If it is, Parse must
// find the same, otherwise first must be as before.
func checkLike(t *testing.T, first, want, got *Packet, frame []byte) bool {
	*got = *first
	if !got.ParseLike(frame) {
		require.Equal(t, *first, *got)
		return false
	}
	require.NoError(t, want.Parse(frame), "%x\n%x", first.Frame, frame)
	require.Equal(t, *want, *got)
	return true
}

// TestBuildLike compares the headers with those that Build writes.
func TestBuildLike(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		tmpl := aTemplate(t, v6)
		fields := Fields{Op: RCSendOnly, Flags: AckReq | Solicited | AskTiming, PSN: 0xfffffe}
		var first, second, built [256]byte
		ext, total := tmpl.Build(first[:], fields, 33)
		for _, psn := range []PSN{0xffffff, 0, 1} {
			fields.PSN = psn
			tmpl.Build(built[:], fields, 33)
			tmpl.BuildLike(second[:total], first[:total], psn)
			assert.Equal(t, built[:ext], second[:ext])
		}
	}
}
