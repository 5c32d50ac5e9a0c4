package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goroce/goroce/internal/extension"
	"github.com/stretchr/testify/require"
)

// TestCopyCRC compares a copy in one pass with copy and updateCRC, for all lengths of a payload,
// at random alignments, and checks that nothing beside dst changes.
func TestCopyCRC(t *testing.T) {
	const beside = 64
	rng := rand.New(rand.NewPCG(5, 6))
	src, room := make([]byte, 5100), make([]byte, 5100+2*beside)
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	for n := range 5001 {
		from, to := rng.IntN(64), beside+rng.IntN(64)
		for i := range room {
			room[i] = 0xa5
		}
		want := bytes.Clone(room)
		copy(want[to:], src[from:from+n])
		crc := rng.Uint32()
		sum := updateCRC(crc, src[from:from+n])
		require.Equal(t, sum, copyCRC(crc, room[to:to+n], src[from:from+n]), "%d bytes", n)
		require.True(t, bytes.Equal(want, room), "%d bytes from %d to %d", n, from, to)
	}
}

func FuzzCopyCRC(f *testing.F) {
	f.Add(uint32(0), uint16(0), []byte("123456789"))
	f.Add(uint32(1), uint16(54), bytes.Repeat([]byte("payload "), 200))
	f.Fuzz(func(t *testing.T, crc uint32, at uint16, src []byte) {
		at %= 64
		dst := make([]byte, int(at)+len(src)+1)
		require.Equal(t, updateCRC(crc, src), copyCRC(crc, dst[at:int(at)+len(src)], src))
		require.Equal(t, src, dst[at:int(at)+len(src)])
		require.Zero(t, dst[len(dst)-1])
	})
}

// sumCase is a kind of frame that has a payload.
type sumCase struct {
	name string
	v6   bool
	op   Opcode
}

func sumCases() (cases []sumCase) {
	for _, v6 := range []bool{false, true} {
		for _, op := range []Opcode{RCSendOnly, RCWriteOnlyImm, UDSendOnly, XDATA} {
			cases = append(cases, sumCase{fmt.Sprintf("%v IPv6 %v", op, v6), v6, op})
		}
	}
	return cases
}

// begin builds the frame of a packet up to its payload, for which it returns the offset.
func (c sumCase) begin(t testing.TB, payload int) (tmpl *Template, frame []byte, data int) {
	tmpl, frame = aTemplate(t, c.v6), bytes.Repeat([]byte{0xa5}, 6000)
	fields, tlvs := Fields{Op: c.op, Flags: AckReq, PSN: 7}, extension.INTLen(3)
	if c.op != XDATA {
		ext, total := tmpl.Build(frame, fields, payload)
		return tmpl, frame[:total], ext + int(c.op.Info().Ext)
	}
	ext, total := tmpl.Build(frame, fields, tlvs+payload)
	View[XCH](frame[ext:]).Set(0x1234, tlvs)
	SetInner(frame[ext+XCHLen:], RCSendOnly)
	extension.INT(frame[ext+XCHLen+InnerLen:][:tlvs]).Init(3)
	return tmpl, frame[:total], ext + XCHLen + InnerLen + tlvs
}

// TestSealCopy compares with Seal after a copy, at all lengths of a payload.
func TestSealCopy(t *testing.T) {
	payload := make([]byte, 5000)
	for i := range payload {
		payload[i] = byte(i*7 + i>>8)
	}
	for _, c := range sumCases() {
		for n := range len(payload) {
			tmpl, frame, data := c.begin(t, n)
			want := bytes.Clone(frame)
			copy(want[data:], payload[:n])
			tmpl.Seal(want)
			twice := bytes.Clone(frame)
			tmpl.sealCopy(frame, data, payload[:n])
			require.True(t, bytes.Equal(want, frame), "%s: %d bytes", c.name, n)
			tmpl.SealCopy(twice, data, payload[:n])
			require.True(t, bytes.Equal(want, twice), "%s: %d bytes", c.name, n)
		}
	}
}

// BenchmarkSealCopy writes whole packets, with payloads from memory and buffers that the second
// level of a cache does not hold all of.
func BenchmarkSealCopy(b *testing.B) {
	const room = 4608
	for _, n := range []int{32, 256, 512, 1024, 1536, 2048, 4096} {
		for name, seal := range map[string]func(*Template, []byte, int, []byte){
			"one": func(t *Template, frame []byte, data int, payload []byte) {
				t.sealCopy(frame, data, payload)
			},
			"two": func(t *Template, frame []byte, data int, payload []byte) {
				copy(frame[data:], payload)
				t.Seal(frame)
			},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				tmpl := aTemplate(b, false)
				frames, payloads := make([]byte, 256*room), make([]byte, 256*room)
				b.SetBytes(int64(n))
				for i := 0; b.Loop(); i++ {
					at := i % 256 * room
					frame := frames[at : at+room]
					data, total := tmpl.Build(frame, Fields{Op: RCSendOnly, PSN: 7}, n)
					seal(tmpl, frame[:total], data, payloads[at:at+n])
				}
			})
		}
	}
}
