package wireshark

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

var fieldsOfProbe = []string{"goroce.opcode", "goroce.version", "goroce.tlvs", "goroce.tag",
	"goroce.probe.qp", "goroce.probe.psn", "goroce.probe.mode",
	"goroce.probe.number", "goroce.probe.left", "goroce.probe.residence", "goroce.probe.arrived",
	"goroce.probe.ttl", "goroce.probe.tos", "goroce.probe.gap"}

// aProbe returns a PROBE or PROBE_ACK, with the bytes that follow the probe field.
func aProbe(t *testing.T, family int, op wire.Opcode, mode extension.ProbeMode) []byte {
	return aProbeAfter(t, family, op, mode, 0)
}

// aProbeAfter returns a probe whose response reports a poll gap.
func aProbeAfter(t *testing.T, family int, op wire.Opcode, mode extension.ProbeMode,
	gap units.Duration) []byte {
	return built(t, bothFamilies[family], 0x17, wire.Fields{Op: op, PSN: 0xfffffe},
		func(ext []byte) {
			wire.View[wire.XCH](ext).Set(0xbeef, 0)
			f := extension.ProbeField(ext[wire.XCHLen:][:extension.ProbeLen])
			f.Set(mode, 200, units.Time(0).Add(123456789*units.Nanosecond))
			if op == wire.ProbeAck {
				extension.ProbeEcho(ext[wire.XCHLen:][:extension.ProbeEchoLen]).Set(f,
					850*units.Nanosecond,
					units.Time(0).Add(units.Second), 62, 0x6b)
				f[0] = uint8(mode)
				extension.ProbeEcho(ext[wire.XCHLen:][:extension.ProbeEchoLen]).SetGap(gap)
			}
		}, nil)
}

// Wireshark must show of a probe and its response what an endpoint parses, and the errors for which
// an endpoint drops them.
func TestProbes(t *testing.T) {
	for family := range bothFamilies {
		frames := [][]byte{
			aProbe(t, family, wire.Probe, extension.ProbeAlone), aProbe(t, family, wire.ProbeAck,
				extension.ProbeResponse),
			aProbe(t, family, wire.Probe, extension.ProbeResponse), aProbe(t, family, wire.ProbeAck,
				extension.ProbeAlone),
		}
		for _, gap := range []units.Duration{units.Nanosecond, 10 * units.Microsecond, units.Second,
			units.Forever} {
			frames = append(frames, aProbeAfter(t, family, wire.ProbeAck, extension.ProbeResponse,
				gap))
		}
		says := []string{"", "", "Mode that this packet does not have",
			"Mode that this packet does not have", "", "", "", ""}
		spoil := func(f []byte, at int, b byte, text string) { // counted from the ICRC's end
			f[len(f)-at] = b
			frames, says = append(frames, f), append(says, text)
		}
		spoil(aProbe(t, family, wire.Probe, extension.ProbeAlone), 4+8+3, 1,
			"TLVs longer than they may be, or than the packet")
		spoil(aProbe(t, family, wire.Probe, extension.ProbeAlone), 4+8+4, 0x20,
			"Version that this dissector does not know")
		spoil(aProbe(t, family, wire.Probe, extension.ProbeAlone), 4+8+4+12, byte(wire.ProbeAck),
			"PROBE or PROBE_ACK of a wrong length")
		for i, d := range tshark(t, recordFrames(t, frames...).path,
			slices.Concat(fieldsOfProbe, fieldsOf), script...) {
			if says[i] != "" {
				require.Equal(t, []string{says[i]}, d[remark])
				require.Equal(t, []string{strconv.Itoa(severityError)}, d[severity])
				continue
			}
			d.clean(t, says[i])
			var p wire.Packet
			require.NoError(t, p.Parse(frames[i]))
			f, want := extension.ProbeField(p.Ext()[wire.XCHLen:]), map[string]string{
				"goroce.opcode": fmt.Sprint(uint8(p.Op)), "goroce.version": "1", "goroce.tlvs": "0",
				"goroce.tag":       fmt.Sprint(p.XCH().Tag.Get()),
				"goroce.probe.qp":  fmt.Sprint(uint32(p.DestQP)),
				"goroce.probe.psn": fmt.Sprint(uint32(p.PSN)),
			}
			want["goroce.probe.mode"], want["goroce.probe.number"] = fmt.Sprint(uint8(f.Mode())),
				fmt.Sprint(f.Seq())
			want["goroce.probe.left"] = fmt.Sprint(int64(f.Left() / units.Nanosecond))
			if p.Op == wire.ProbeAck {
				e := extension.ProbeEcho(p.Body())
				want["goroce.probe.residence"],
					want["goroce.probe.arrived"] = fmt.Sprint(
					int64(e.Residence()/units.Nanosecond)),
					fmt.Sprint(int64(e.Arrived()/units.Nanosecond))
				want["goroce.probe.ttl"], want["goroce.probe.tos"] = fmt.Sprint(e.TTL()),
					fmt.Sprint(e.TOS())
				want["goroce.probe.gap"] = fmt.Sprint(int64(e.Gap() / units.Nanosecond))
			}
			got := map[string]string{}
			for _, name := range fieldsOfProbe {
				for _, v := range d[name] {
					n, err := strconv.ParseUint(v, 0, 64)
					require.NoError(t, err)
					got[name] = fmt.Sprint(n)
				}
			}
			require.Equal(t, want, got)
		}
	}
}
