package wire

import (
	"encoding/hex"
	"testing"

	"github.com/goroce/goroce/internal/extension"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aToken returns a TOKEN with ranges; anRTS returns the RTS that requests one.
func aToken(t testing.TB, v6 bool, ranges int) []byte {
	frame := make([]byte, 512)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: Token, PSN: 7},
		extension.RangeLen*ranges)
	View[XCH](frame[ext:]).Set(0x1234, 0)
	body := extension.Token(frame[ext+XCHLen : total-ICRCLen])
	body.Set(65536, 5, ranges, extension.TokenAsks, 3)
	for i := range ranges {
		body.SetRange(i, extension.Range{First: uint32(i), Count: uint8(i + 1)})
	}
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

func anRTS(t testing.TB, v6 bool) []byte {
	frame := make([]byte, 256)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: RTS, PSN: 7}, 0)
	View[XCH](frame[ext:]).Set(0x1234, 0)
	extension.RTS(frame[ext+XCHLen:][:extension.RTSLen]).Set(1_000_000, 4096, 3, 0x9876,
		extension.RTSUnscheduled|extension.RTSBehind|extension.RTSAgain)
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

// TestWorkedToken is the example of docs/wire.md: 65 536 bytes granted, TOKEN 5, two packets from
// 0x100004 on are missing.
func TestWorkedToken(t *testing.T) {
	const ethernet = "0200000000020200000000010800"
	frame := unhex(t, ethernet+`
		45b2003c00004000401125630a4d00010a4d0002 c28612b700280000 c300ffff0000002200100007
		10001234 00010000 0005 01 00 10000402 ac7297bf`)
	var p Packet
	require.NoError(t, p.Parse(frame))
	assert.True(t, p.ICRC())
	assert.Equal(t, Token, p.Op)
	assert.EqualValues(t, 44, p.DSCP)
	assert.EqualValues(t, ECNECT0, p.ECN)
	assert.EqualValues(t, 65536, extension.Token(p.Body()).Limit())
	assert.EqualValues(t, 5, extension.Token(p.Body()).Seq())
	require.Equal(t, 1, extension.Token(p.Body()).Ranges())
	assert.Equal(t, extension.Range{First: 0x100004, Count: 2}, extension.Token(p.Body()).Range(0))
	assert.Zero(t, extension.Token(p.Body()).Flags())
	assert.Zero(t, extension.Token(p.Body()).Priority())

	tmpl := templateOf(t, &p)
	room := make([]byte, 128)
	ext, total := tmpl.Build(room, Fields{Op: Token, PSN: 0x100007}, extension.RangeLen)
	View[XCH](room[ext:]).Set(0x1234, 0)
	body := extension.Token(room[ext+XCHLen : total-ICRCLen])
	body.Set(65536, 5, 1, 0, 0)
	body.SetRange(0, extension.Range{First: 0x100004, Count: 2})
	tmpl.SetFrameTOS(room[:total], 44<<2|ECNECT0)
	tmpl.Seal(room[:total])
	assert.Equal(t, hex.EncodeToString(frame), hex.EncodeToString(room[:total]))
}

func TestRTSAndTokenRoundTrip(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		var p Packet
		require.NoError(t, p.Parse(anRTS(t, v6)))
		h := extension.RTS(p.Body())
		assert.Equal(t, []any{uint32(1_000_000), uint32(4096), uint16(3), uint16(0x9876),
			extension.RTSUnscheduled | extension.RTSBehind | extension.RTSAgain},
			[]any{h.Demand(), h.Spent(), h.CE(), h.Seq(), h.Flags()})
		for _, n := range []int{0, 1, extension.MaxRanges} {
			require.NoError(t, p.Parse(aToken(t, v6, n)))
			k := extension.Token(p.Body())
			assert.Equal(t, []any{uint32(65536), uint16(5), n, extension.TokenAsks, uint8(3)},
				[]any{k.Limit(), k.Seq(), k.Ranges(), k.Flags(), k.Priority()})
			for i := range n {
				assert.Equal(t, extension.Range{First: uint32(i), Count: uint8(i + 1)}, k.Range(i))
			}
		}
	}
}

// What has a wrong length, TLVs, or an empty range, is none.
func TestBrokenTokens(t *testing.T) {
	for name, spoil := range map[string]func(body []byte) []byte{
		"more ranges than there are":  func(b []byte) []byte { b[6] = 3; return b },
		"fewer ranges than there are": func(b []byte) []byte { b[6] = 1; return b },
		"an empty range": func(b []byte) []byte {
			b[extension.TokenLen+3] = 0
			return b
		},
	} {
		frame := aToken(t, false, 2)
		spoil(frame[len(frame)-ICRCLen-extension.TokenLen-2*extension.RangeLen:])
		var p Packet
		require.ErrorIs(t, p.Parse(frame), ErrExtension, name)
	}
	for _, frame := range [][]byte{aToken(t, false, 2), anRTS(t, false)} {
		frame[EthernetLen+IPv4Len+UDPLen+BTHLen+1] = 1 // a TLV
		var p Packet
		require.ErrorIs(t, p.Parse(frame), ErrExtension)
	}
}

// A mark is a bit of BTH's byte 8, beside those that request an ACK and timing.
func TestMarks(t *testing.T) {
	tmpl := aTemplate(t, false)
	for _, f := range []Flags{0, MarkTokenMarked, MarkWantsMore, MarkUnscheduled,
		MarkTokenMarked | MarkWantsMore | MarkUnscheduled} {
		for _, other := range []Flags{0, AckReq, AskTiming | AckReq, Solicited} {
			frame := make([]byte, 256)
			_, total := tmpl.Build(frame, Fields{Op: RCSendOnly, Flags: f | other, PSN: 0xffffff},
				4)
			tmpl.Seal(frame[:total])
			var p Packet
			require.NoError(t, p.Parse(frame[:total]))
			assert.Equal(t, f, p.BTH().Marks())
			assert.Equal(t, other&AckReq != 0, p.AckReq)
			assert.Equal(t, other&AskTiming != 0, p.BTH().AskTiming())
			assert.Equal(t, other&Solicited != 0, p.Solicited)
			assert.EqualValues(t, 0xffffff, p.PSN)
		}
	}
}
