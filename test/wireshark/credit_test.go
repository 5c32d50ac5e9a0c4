package wireshark

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

func aCreditTLV(f extension.CreditFlags) extension.Credit {
	c := extension.Credit(make([]byte, extension.CreditLen))
	c.Set(f, 0xfe, 1<<26, 1<<63+1<<33+7)
	return c
}

func aHostTLV() extension.Host {
	h := extension.Host(make([]byte, extension.HostLen))
	h.Set(1234*units.Nanosecond, units.Second)
	return h
}

// aCredit returns a frame of CARC.
func aCredit(t *testing.T, family int) []byte {
	return built(t, bothFamilies[family], 0x17, wire.Fields{Op: wire.CREDIT, PSN: 5},
		func(ext []byte) {
			wire.View[wire.XCH](ext).Set(0xbeef, extension.CreditLen)
			copy(ext[wire.XCHLen:],
				aCreditTLV(extension.CreditAsks|extension.CreditBeyondDDIO|
					extension.CreditApproaching))
		}, nil)
}

// Wireshark must show of a CREDIT, alone or in an ACK, what an endpoint parses.
func TestCredits(t *testing.T) {
	example, err := hex.DecodeString("0200000000020200000000010800" +
		"4500004000004000401126110a4d00010a4d0002" + "c28612b7002c0000" +
		"c400ffff0000002200100007" + "10041234" + "05040201" + "00003000" + "0000000000001000" +
		"810ec550")
	require.NoError(t, err)
	other := aHostTLV()
	other[3] = 2 // a future kind
	frames := [][]byte{aCredit(t, 0), aCredit(t, 1), example,
		anXACK(t, bothFamilies[0], 9, aCreditTLV(extension.CreditIdle)), anXACK(t, bothFamilies[1],
			9,
			slices.Concat([]byte(aHostTLV()), aCreditTLV(0)))}
	lines := []string{"^CREDIT: 67108864 lines, 9223372045444710407 returned asks beyond-ddio " +
		"approaching$", "^CREDIT: ", "^CREDIT: 12288 lines, 4096 returned idle$", "^XACK ",
		"^XACK "}
	for i, d := range extended(t, recordFrames(t, frames...), "_ws.col.Info") {
		d.clean(t, fmt.Sprint(i))
		require.Regexp(t, lines[i], d["_ws.col.Info"][0])
		var p wire.Packet
		require.NoError(t, p.Parse(frames[i]))
		if p.Op == wire.CREDIT {
			// the packet is its TLV
			for _, field := range []string{"goroce.tlv.type", "goroce.tlv.length"} {
				require.Empty(t, d[field])
				d[field] = []string{map[string]string{"goroce.tlv.type": "5",
					"goroce.tlv.length": "4"}[field]}
			}
		}
		compareExtension(t, fmt.Sprint(i), d, &p)
	}
	d := extended(t, recordFrames(t, anXACK(t, bothFamilies[0], 9, other)))[0]
	d.clean(t, "a HOST of another kind")
	require.Empty(t, d["goroce.host.waited"])
}
