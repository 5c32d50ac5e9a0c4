package wireshark

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
)

// Wireshark must show the rest of a trimmed packet and the number of bytes cut, but not for a
// packet that the recording truncated.
func TestTrimmed(t *testing.T) {
	fields := []string{"goroce.trimmed", "goroce.trimmed.qp", "goroce.trimmed.psn"}
	for family, left := range map[int]int{0: 60, 1: 80} {
		var frames [][]byte
		for _, op := range []wire.Opcode{wire.RCWriteMiddle, wire.RCSendOnlyImm, wire.XDATA} {
			f := built(t, bothFamilies[family], 0x17, wire.Fields{Op: op, PSN: 0xfffffe},
				func(ext []byte) {
					if op == wire.XDATA {
						wire.View[wire.XCH](ext).Set(0xbeef, 0)
						wire.SetInner(ext[wire.XCHLen:], wire.RCWriteMiddle)
					}
				}, make([]byte, 1024))
			frames = append(frames, f[:left])
			var p wire.Packet
			_, err := p.ParseTrimmed(f[:left])
			require.NoError(t, err)
		}
		whole := built(t, bothFamilies[family], 0x17, wire.Fields{Op: wire.RCWriteMiddle}, nil,
			make([]byte, 1024))
		for i, d := range tshark(t, recordFrames(t, append(frames, whole)...).path, fields,
			script...) {
			if i == len(frames) {
				require.Empty(t, d["goroce.trimmed"])
				continue
			}
			var p wire.Packet
			_, err := p.ParseTrimmed(frames[i])
			require.NoError(t, err)
			number := func(field string) uint64 {
				require.Len(t, d[field], 1)
				n, err := strconv.ParseUint(d[field][0], 0, 64)
				require.NoError(t, err)
				return n
			}
			gone := int(p.UDP().Len.Get()) - wire.UDPLen - (left - int(p.BTHOff))
			require.EqualValues(t, gone, number("goroce.trimmed"), fmt.Sprint(p.Op))
			require.EqualValues(t, p.DestQP, number("goroce.trimmed.qp"))
			require.EqualValues(t, p.PSN, number("goroce.trimmed.psn"))
		}
		for _, d := range tshark(t, recordStarts(t, left, whole).path, fields, script...) {
			require.Empty(t, d["goroce.trimmed"])
		}
	}
}
