package wire

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// aGappedXACK is an XACK with a TIMING and a GAP.
func aGappedXACK(t testing.TB, v6 bool) []byte {
	tlvs := make([]byte, extension.TimingLen+extension.GapLen)
	extension.Timing(tlvs[:extension.TimingLen]).Set(uint32(0x100008), 62, 850*units.Nanosecond,
		units.Time(0).Add(0x01020304*units.Nanosecond))
	extension.Gap(tlvs[extension.TimingLen:]).Set(20*units.Microsecond, 300*units.Nanosecond)
	return anXACKWith(t, v6, tlvs)
}

// anXACKWith has given TLVs.
func anXACKWith(t testing.TB, v6 bool, tlvs []byte) []byte {
	frame := make([]byte, 512)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: XACK, PSN: 7}, len(tlvs))
	View[XCH](frame[ext:]).Set(0x1234, len(tlvs))
	View[AETH](frame[ext+XCHLen:]).Set(SyndromeAck, 2)
	copy(frame[ext+XCHLen+AETHLen:], tlvs)
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

func TestGapOnTheWire(t *testing.T) {
	const ns, most = units.Nanosecond, (1<<32 - 1) * units.Nanosecond
	for _, c := range []struct {
		name            string
		gap, away       units.Duration
		bytes           string
		gotGap, gotAway units.Duration
	}{
		{"nothing", 0, 0, "8c030000" + "00000000" + "00000000", 0, 0},
		{"a nap in a gap", 20 * units.Microsecond, 300 * ns, "8c030000" + "00004e20" + "0000012c",
			20 * units.Microsecond, 300 * ns},
		{"rounded up", ns + 1, 1, "8c030000" + "00000002" + "00000001", 2 * ns, ns},
		{"the most", most, most, "8c030000" + "ffffffff" + "ffffffff", most, most},
		{"more", 5 * units.Second, units.Forever, "8c030000" + "ffffffff" + "ffffffff", most, most},
		{"negative", -ns, -units.Second, "8c030000" + "00000000" + "00000000", 0, 0},
	} {
		g := extension.Gap{0xff, 0xff, 0xff, 0xff, 11: 0xff}
		g.Set(c.gap, c.away)
		assert.Equal(t, c.bytes, hex.EncodeToString(g), c.name)
		assert.Equal(t, c.gotGap, g.Gap(), c.name)
		assert.Equal(t, c.gotAway, g.Away(), c.name)
	}
}

// A GAP is found beside any other TLV. One of another length is a later version's: it is not read,
// and the rest of the packet is as good as ever.
func TestGapOfAnXACK(t *testing.T) {
	gap, sack := extension.Gap(make([]byte, extension.GapLen)),
		extension.SACK(make([]byte, extension.SACKLen(32)))
	gap.Set(7, 9)
	sack.Init(32)
	sack.SetBits(0, 3)
	for _, c := range []struct {
		name string
		tlvs []byte
		gap  bool
	}{
		{"alone", gap, true},
		{"behind a SACK", append([]byte(sack), gap...), true},
		{"before one", append([]byte(gap), sack...), true},
		{"none", sack, false},
		{"shorter", append([]byte{0x8c, 2, 0, 0, 0, 0, 0, 9}, sack...), false},
		{"empty", append([]byte{0x8c, 1, 0, 0}, sack...), false},
		{"longer", append(append([]byte{0x8c, 4}, gap[2:]...), 0, 0, 0, 1), false},
	} {
		for _, v6 := range []bool{false, true} {
			var p Packet
			require.NoError(t, p.Parse(anXACKWith(t, v6, c.tlvs)), c.name)
			require.True(t, p.ICRC(), c.name)
			assert.Equal(t, c.gap, extension.TLVs(p.TLVs()).Gap() != nil, c.name)
			if c.gap {
				assert.Equal(t, units.Nanosecond, extension.TLVs(p.TLVs()).Gap().Gap(), c.name)
				assert.Equal(t, units.Nanosecond, extension.TLVs(p.TLVs()).Gap().Away(), c.name)
			}
			assert.Equal(t, uint32(2), p.AETH().MSN.Get(), c.name)
		}
	}
	var p Packet
	require.NoError(t, p.Parse(aGappedXACK(t, false)))
	assert.Equal(t, 20*units.Microsecond, extension.TLVs(p.TLVs()).Gap().Gap())
	assert.Equal(t, 850*units.Nanosecond, extension.TLVs(p.TLVs()).Timing().Residence(),
		"beside it")
	twice := anXACKWith(t, false, append([]byte(gap), gap...))
	assert.ErrorIs(t, p.Parse(twice), ErrExtension)
}

// The 16 bits in an answer to a probe say at least as much as the gap was, and at most a 1024th
// more.
func TestGapOfAProbe(t *testing.T) {
	const ns = units.Nanosecond
	for _, c := range []struct {
		gap   units.Duration
		bytes string
		want  units.Duration
	}{
		{0, "0000", 0},
		{1, "0001", ns},
		{ns, "0001", ns},
		{2047 * ns, "07ff", 2047 * ns},
		{2048 * ns, "0c00", 2048 * ns},
		{2049 * ns, "0c01", 2050 * ns},
		{10 * units.Microsecond, "1ce2", 10 * units.Microsecond},
		{4095 * ns, "1400", 4096 * ns},
		{10 * units.Millisecond, "6cc5", 1221 * 8192 * ns},
		{units.Second, "9f74", 1908 * 524288 * ns},
		{(1<<32 - 1) * ns, "b400", 1 << 32 * ns},
		{units.Forever, "b400", 1 << 32 * ns},
		{-ns, "0000", 0},
	} {
		e := extension.ProbeEcho(make([]byte, extension.ProbeEchoLen))
		e.Set(extension.ProbeField(make([]byte, extension.ProbeLen)), 850*ns,
			units.Time(0).Add(units.Second), 62, 0x6b)
		assert.Zero(t, e.Gap(), "not said")
		e.SetGap(c.gap)
		assert.Equal(t, c.bytes, hex.EncodeToString(e[18:]), c.gap)
		assert.Equal(t, c.want, e.Gap(), c.gap)
		assert.Equal(t, uint8(62), e.TTL(), c.gap)
		assert.Equal(t, uint8(0x6b), e.TOS(), c.gap)
		e.Set(extension.ProbeField(make([]byte, extension.ProbeLen)), 0, 0, 1, 2)
		assert.Zero(t, e.Gap(), "that was another answer's")
	}
	for gap := ns; gap < 5*units.Second; gap += gap/97 + 1 {
		e := extension.ProbeEcho(make([]byte, extension.ProbeEchoLen))
		e.SetGap(gap)
		told := min(gap, (1<<32-1)*ns)
		require.GreaterOrEqual(t, e.Gap(), told)
		require.LessOrEqual(t, e.Gap(), told+told/1024+ns)
	}
	for short := range 1 << 16 { // whatever a peer says is a duration
		e := extension.ProbeEcho(make([]byte, extension.ProbeEchoLen))
		e[18], e[19] = byte(short>>8), byte(short)
		require.GreaterOrEqual(t, e.Gap(), units.Duration(0))
	}
}
