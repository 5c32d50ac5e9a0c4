package wire

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// aProbe is a PROBE, aProbeAck its answer.
func aProbe(t testing.TB, v6 bool) []byte {
	frame := make([]byte, 256)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: Probe, PSN: 7}, 0)
	View[XCH](frame[ext:]).Set(0x1234, 0)
	extension.ProbeField(frame[ext+XCHLen:]).Set(extension.ProbeAlone, 7, 5)
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

func aProbeAck(t testing.TB, v6 bool) []byte {
	var p Packet
	require.NoError(t, p.Parse(aProbe(t, v6)))
	frame := make([]byte, 256)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: ProbeAck, PSN: 7}, 0)
	View[XCH](frame[ext:]).Set(0x1234, 0)
	extension.ProbeEcho(frame[ext+XCHLen:][:extension.ProbeEchoLen]).Set(
		extension.ProbeField(p.Body()), 850*units.Nanosecond,
		units.Time(0).Add(units.Second), 62, 0x6b)
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

// TestWorkedProbe is the first example of a PROBE: number 7, which left at 123456789 ns.
func TestWorkedProbe(t *testing.T) {
	const ethernet = "0200000000020200000000010800"
	frame := unhex(t, ethernet+`
		4500003800004000401126190a4d00010a4d0002 c28612b700240000 c000ffff0000002200100000
		10001234 02070000075bcd15 36174667`)
	var p Packet
	require.NoError(t, p.Parse(frame))
	assert.True(t, p.ICRC())
	assert.Equal(t, Probe, p.Op)
	assert.Len(t, p.Frame, 70, "and the FCS")
	assert.Equal(t, uint16(0x1234), p.XCH().Tag.Get())
	assert.Equal(t, extension.ProbeAlone, extension.ProbeField(p.Body()).Mode())
	assert.Equal(t, uint8(7), extension.ProbeField(p.Body()).Seq())
	assert.Equal(t, 123456789*units.Nanosecond, extension.ProbeField(p.Body()).Left())

	tmpl := templateOf(t, &p)
	room := make([]byte, 128)
	ext, total := tmpl.Build(room, Fields{Op: Probe, PSN: 0x100000}, 0)
	View[XCH](room[ext:]).Set(0x1234, 0)
	extension.ProbeField(room[ext+XCHLen:]).Set(extension.ProbeAlone, 7,
		units.Time(0).Add(123456789*units.Nanosecond))
	tmpl.Seal(room[:total])
	assert.Equal(t, hex.EncodeToString(frame), hex.EncodeToString(room[:total]))

	ext, total = tmpl.Build(room, Fields{Op: ProbeAck, PSN: 0x0fffff}, 0)
	View[XCH](room[ext:]).Set(0x1234, 0)
	extension.ProbeEcho(room[ext+XCHLen:][:extension.ProbeEchoLen]).Set(
		extension.ProbeField(p.Body()), 850*units.Nanosecond,
		units.Time(0).Add(0x101020304*units.Nanosecond), 62, 0x6b)
	tmpl.Seal(room[:total])
	assert.Equal(t, "03070000075bcd15"+"00000352"+"01020304"+"3e6b0000",
		hex.EncodeToString(room[ext+XCHLen:total-ICRCLen]))
	require.NoError(t, p.Parse(room[:total]))
	assert.True(t, p.ICRC())
	e := extension.ProbeEcho(p.Body())
	assert.Equal(t, extension.ProbeResponse, e.Field().Mode())
	assert.Equal(t, uint8(7), e.Field().Seq())
	assert.Equal(t, 123456789*units.Nanosecond, e.Field().Left())
	assert.Equal(t, 850*units.Nanosecond, e.Residence())
	assert.Equal(t, 0x01020304*units.Nanosecond, e.Arrived())
	assert.Equal(t, uint8(62), e.TTL())
	assert.Equal(t, uint8(0x6b), e.TOS())
}

// What does not fit its field is cut as the field says.
func TestProbeFieldsAreModular(t *testing.T) {
	f := extension.ProbeField(make([]byte, extension.ProbeLen))
	f.Set(extension.ProbeAlone, 255, units.Time(0).Add(1e5*units.Second))
	assert.Equal(t, uint8(255), f.Seq())
	assert.Equal(t, 1e5*units.Second, f.Left())
	e := extension.ProbeEcho(make([]byte, extension.ProbeEchoLen))
	e.Set(f, 5*units.Second, 0, 1, 2)
	assert.Equal(t, (1<<32-1)*units.Nanosecond, e.Residence())
}

// TestBadProbes has the ways in which a probe can be wrong before anybody looks at its ICRC.
func TestBadProbes(t *testing.T) {
	const xch = 14 + 20 + 8 + 12
	for _, c := range []struct {
		name  string
		frame []byte
		at    int
		value byte
		want  error
	}{
		{"PROBE", aProbe(t, false), xch, 0x10, nil},
		{"PROBE_ACK", aProbeAck(t, false), xch, 0x10, nil},
		{"reserved bits", aProbe(t, false), xch, 0x1f, nil},
		{"another version", aProbe(t, false), xch, 0x20, ErrExtension},
		{"TLVs", aProbe(t, false), xch + 1, 1, ErrExtension},
		{"a PROBE_ACK with the body of a PROBE", aProbe(t, false), xch - 12, byte(ProbeAck),
			ErrLength},
		{"a PROBE with the body of a PROBE_ACK", aProbeAck(t, false), xch - 12, byte(Probe),
			ErrLength},
		{"pad", aProbe(t, false), xch - 11, 0x10, ErrLength},
	} {
		var p Packet
		c.frame[c.at] = c.value
		assert.Equal(t, c.want, p.Parse(c.frame), c.name)
	}
}
