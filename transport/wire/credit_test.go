package wire

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// aCredit is a CREDIT, aCreditOnXACK an XACK with such, and a Host.
func aCredit(t testing.TB, v6 bool) []byte {
	frame := make([]byte, 256)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: CREDIT, PSN: 7}, 0)
	View[XCH](frame[ext:]).Set(0x1234, extension.CreditLen)
	extension.Credit(frame[ext+XCHLen:][:extension.CreditLen]).Set(extension.CreditAsks|
		extension.CreditApproaching, 0xfe, 1, 1<<40+2)
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

func aCreditOnXACK(t testing.TB, v6 bool) []byte {
	frame := make([]byte, 256)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: XACK, PSN: 7},
		extension.CreditLen+extension.HostLen)
	View[XCH](frame[ext:]).Set(0x1234, extension.CreditLen+extension.HostLen)
	View[AETH](frame[ext+XCHLen:]).Set(SyndromeAck, 2)
	tlvs := frame[ext+XCHLen+AETHLen:]
	extension.Credit(tlvs[:extension.CreditLen]).Set(extension.CreditIdle, 1, 12288, 4096)
	extension.Host(tlvs[extension.CreditLen:][:extension.HostLen]).Set(3*units.Microsecond,
		5*units.Second)
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

// TestWorkedCredit is the example of docs/wire.md: 12 288 lines, of which 4096 were returned so
// far, from a receiver that is idle.
func TestWorkedCredit(t *testing.T) {
	const ethernet = "0200000000020200000000010800"
	frame := unhex(t, ethernet+`
		4500004000004000401126110a4d00010a4d0002 c28612b7002c0000 c400ffff0000002200100007
		10041234 05040201 00003000 0000000000001000 810ec550`)
	var p Packet
	require.NoError(t, p.Parse(frame))
	assert.True(t, p.ICRC())
	assert.Equal(t, CREDIT, p.Op)
	c := extension.TLVs(p.TLVs()).Credit()
	assert.Equal(t, []any{extension.CreditIdle, uint8(1), uint32(12288), uint64(4096)},
		[]any{c.Flags(), c.Epoch(), c.Lines(), c.Returned()})

	tmpl := templateOf(t, &p)
	room := make([]byte, 128)
	ext, total := tmpl.Build(room, Fields{Op: CREDIT, PSN: 0x100007}, 0)
	View[XCH](room[ext:]).Set(0x1234, extension.CreditLen)
	extension.Credit(room[ext+XCHLen:][:extension.CreditLen]).Set(extension.CreditIdle, 1, 12288,
		4096)
	tmpl.Seal(room[:total])
	assert.Equal(t, hex.EncodeToString(frame), hex.EncodeToString(room[:total]))
}

func TestCreditsRoundTrip(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		var p Packet
		require.NoError(t, p.Parse(aCredit(t, v6)))
		c := extension.TLVs(p.TLVs()).Credit()
		assert.Equal(t, []any{extension.CreditAsks | extension.CreditApproaching, uint8(0xfe),
			uint32(1),
			uint64(1<<40 + 2)},
			[]any{c.Flags(), c.Epoch(), c.Lines(), c.Returned()})
		assert.Nil(t, extension.TLVs(p.TLVs()).Host())
		require.NoError(t, p.Parse(aCreditOnXACK(t, v6)))
		assert.EqualValues(t, 12288, extension.TLVs(p.TLVs()).Credit().Lines())
		waited, served, ok := extension.TLVs(p.TLVs()).Host().Residence()
		assert.Equal(t, []any{3 * units.Microsecond, (1<<32 - 1) * units.Nanosecond, true},
			[]any{waited, served, ok})
		extension.TLVs(p.TLVs()).Host()[3] = 2
		_, _, ok = extension.TLVs(p.TLVs()).Host().Residence()
		assert.False(t, ok, "a kind that nobody knows")
	}
}

func TestAgreeOnCredits(t *testing.T) {
	offer := func(tag uint16, f Features, shift uint8, credits uint32) Offer {
		return Offer{Highest: 1, Lowest: 1, Tag: tag, Features: f, LineShift: shift,
			Credits: credits}
	}
	const both = FeatureCredit | FeatureAnswers
	none := Agreement{}
	for _, c := range []struct {
		name         string
		ours, theirs Offer
		want         Agreement
	}{
		{"both ways", offer(1, both, 6, 100), offer(2, both, 6, 200),
			Agreement{Features: both, SendTag: 2, RecvTag: 1, LineShift: 6, SendCredits: 200,
				RecvCredits: 100}},
		{"one way", offer(1, both, 6, 100), offer(2, both, 6, 0),
			Agreement{Features: both, SendTag: 2, RecvTag: 1, LineShift: 6, RecvCredits: 100}},
		{"the smaller line", offer(1, both, 7, 100), offer(2, FeatureCredit, 6, 0),
			Agreement{Features: FeatureCredit, SendTag: 2, RecvTag: 1, LineShift: 6,
				RecvCredits: 100}},
		{"nobody gives any", offer(1, both, 6, 0), offer(2, both, 6, 0), none},
		{"a peer without", offer(1, both|FeatureWrites, 6, 100),
			offer(2, FeatureAnswers|FeatureHost|FeatureWrites, 0, 0), none},
		{"a line of 8 bytes", offer(1, both, 6, 100), offer(2, both, 3, 0), none},
		{"a line of 8 KiB", offer(1, both, 13, 100), offer(2, both, 6, 0), none},
		{"as many as may be", offer(1, FeatureCredit, 6, extension.MaxCreditLines),
			offer(2, FeatureCredit, 6, 0), Agreement{Features: FeatureCredit, SendTag: 2,
				RecvTag: 1, LineShift: 6, RecvCredits: extension.MaxCreditLines}},
		{"more lines than a cache has", offer(1, both, 6, extension.MaxCreditLines+1),
			offer(2, both, 6, 0),
			none},
	} {
		got := Agree(c.ours, c.theirs)
		assert.Equal(t, c.want, got, c.name)
		back := Agree(c.theirs, c.ours)
		back.SendTag, back.RecvTag = back.RecvTag, back.SendTag
		back.SendCredits, back.RecvCredits = back.RecvCredits, back.SendCredits
		assert.Equal(t, got, back, "%s, seen by the peer", c.name)
	}
}
