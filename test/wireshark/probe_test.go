package wireshark

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

var fieldsOfProbe = []string{"goroce.opcode", "goroce.version", "goroce.tlvs", "goroce.tag",
	"goroce.probe.qp", "goroce.probe.psn", "goroce.probe.mode",
	"goroce.probe.number", "goroce.probe.left", "goroce.probe.residence", "goroce.probe.arrived",
	"goroce.probe.ttl", "goroce.probe.tos", "goroce.probe.gap"}

// aProbe is a PROBE or its answer, with what follows the field of the probe.
func aProbe(t *testing.T, family int, op wire.Opcode, mode wire.ProbeMode) []byte {
	return aProbeAfter(t, family, op, mode, 0)
}

// aProbeAfter is one whose answer tells of a poll gap.
func aProbeAfter(t *testing.T, family int, op wire.Opcode, mode wire.ProbeMode,
	gap units.Duration) []byte {
	return built(t, bothFamilies[family], 0x17, wire.Fields{Op: op, PSN: 0xfffffe},
		func(ext []byte) {
			wire.XCH(ext).Set(0xbeef, 0)
			f := wire.ProbeField(ext[wire.XCHLen:][:wire.ProbeLen])
			f.Set(mode, 200, units.Time(0).Add(123456789*units.Nanosecond))
			if op == wire.ProbeAck {
				wire.ProbeEcho(ext[wire.XCHLen:][:wire.ProbeEchoLen]).Set(f, 850*units.Nanosecond,
					units.Time(0).Add(units.Second), 62, 0x6b)
				f[0] = uint8(mode)
				wire.ProbeEcho(ext[wire.XCHLen:][:wire.ProbeEchoLen]).SetGap(gap)
			}
		}, nil)
}

// A probe and its answer say in Wireshark what they say to an endpoint, and what an endpoint would
// drop them for.
func TestProbes(t *testing.T) {
	for family := range bothFamilies {
		frames := [][]byte{
			aProbe(t, family, wire.Probe, wire.ProbeAlone), aProbe(t, family, wire.ProbeAck,
				wire.ProbeResponse),
			aProbe(t, family, wire.Probe, wire.ProbeResponse), aProbe(t, family, wire.ProbeAck,
				wire.ProbeAlone),
		}
		for _, gap := range []units.Duration{units.Nanosecond, 10 * units.Microsecond, units.Second,
			units.Forever} {
			frames = append(frames, aProbeAfter(t, family, wire.ProbeAck, wire.ProbeResponse, gap))
		}
		says := []string{"", "", "Mode that this packet does not have",
			"Mode that this packet does not have", "", "", "", ""}
		spoil := func(f []byte, at int, b byte, text string) { // counted from the ICRC's end
			f[len(f)-at] = b
			frames, says = append(frames, f), append(says, text)
		}
		spoil(aProbe(t, family, wire.Probe, wire.ProbeAlone), 4+8+3, 1,
			"TLVs longer than they may be, or than the packet")
		spoil(aProbe(t, family, wire.Probe, wire.ProbeAlone), 4+8+4, 0x20,
			"Version that this dissector does not know")
		spoil(aProbe(t, family, wire.Probe, wire.ProbeAlone), 4+8+4+12, byte(wire.ProbeAck),
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
			f, want := wire.ProbeField(p.Ext()[wire.XCHLen:]), map[string]string{
				"goroce.opcode": fmt.Sprint(uint8(p.Op)), "goroce.version": "1", "goroce.tlvs": "0",
				"goroce.tag":       fmt.Sprint(p.XCH().Tag()),
				"goroce.probe.qp":  fmt.Sprint(uint32(p.DestQP)),
				"goroce.probe.psn": fmt.Sprint(uint32(p.PSN)),
			}
			want["goroce.probe.mode"], want["goroce.probe.number"] = fmt.Sprint(uint8(f.Mode())),
				fmt.Sprint(f.Seq())
			want["goroce.probe.left"] = fmt.Sprint(int64(f.Left() / units.Nanosecond))
			if p.Op == wire.ProbeAck {
				e := p.ProbeEcho()
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
