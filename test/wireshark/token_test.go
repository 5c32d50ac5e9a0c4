package wireshark

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/transport/wire"
)

var fieldsOfTokens = []string{
	"goroce.opcode", "goroce.tag", "goroce.rts.demand", "goroce.rts.spent", "goroce.rts.ce",
	"goroce.rts.seq", "goroce.rts.flags", "goroce.token.limit",
	"goroce.token.seq", "goroce.token.ranges", "goroce.token.flags", "goroce.token.priority",
	"goroce.token.first", "goroce.token.count",
	"goroce.mark.unscheduled", "goroce.mark.more", "goroce.mark.echo", "goroce.mark.timing",
	"goroce.grant.seq",
}

// anRTS and aToken return frames of ToCC.
func anRTS(t *testing.T, family int) []byte {
	return built(t, bothFamilies[family], 0x17, wire.Fields{Op: wire.RTS, PSN: 0xfffffe},
		func(ext []byte) {
			wire.View[wire.XCH](ext).Set(0xbeef, 0)
			extension.RTS(ext[wire.XCHLen:][:extension.RTSLen]).Set(1<<32-1, 123456, 7, 65535,
				extension.RTSRepeat|extension.RTSEnds|extension.RTSBehind|extension.RTSAgain)
		}, nil)
}

func aToken(t *testing.T, family int, ranges ...extension.Range) []byte {
	more := make([]byte, extension.RangeLen*len(ranges))
	return built(t, bothFamilies[family], 0x17, wire.Fields{Op: wire.Token, PSN: 5},
		func(ext []byte) {
			wire.View[wire.XCH](ext).Set(0xbeef, 0)
			f := extension.Token(ext[wire.XCHLen:][:extension.TokenLen+len(more)])
			f.Set(1<<31, 40000, len(ranges), extension.TokenAsks|extension.TokenSingle, 6)
			for i, r := range ranges {
				f.SetRange(i, r)
			}
			copy(more, f[extension.TokenLen:])
		}, more)
}

// Wireshark must show of RTS and TOKEN what an endpoint parses, and the errors for which an
// endpoint drops them; likewise for marks of data packets.
func TestTokens(t *testing.T) {
	for family := range bothFamilies {
		grant := extension.Grant(make([]byte, extension.GrantLen))
		grant.Set(777)
		frames := [][]byte{
			anRTS(t, family), aToken(t, family), aToken(t, family,
				extension.Range{First: 0xfffffe, Count: 3}, extension.Range{First: 9, Count: 255}),
			built(t, bothFamilies[family], 0x17,
				wire.Fields{Op: wire.RCSendOnly,
					Flags: wire.MarkUnscheduled | wire.MarkTokenMarked | wire.AckReq}, nil,
				[]byte("data")),
			built(t, bothFamilies[family], 0x17,
				wire.Fields{Op: wire.RCWriteMiddle, Flags: wire.MarkWantsMore}, nil,
				[]byte("data")),
			built(t, bothFamilies[family], 0x17,
				wire.Fields{Op: wire.XDATA, PSN: 7, Flags: wire.MarkWantsMore}, func(ext []byte) {
					wire.View[wire.XCH](ext).Set(0xbeef, extension.GrantLen)
					wire.SetInner(ext[wire.XCHLen:], wire.RCSendOnly)
				}, slices.Concat(grant, []byte("some payload"))),
		}
		says := make([]string, len(frames))
		spoil := func(f []byte, at int, b byte, text string) { // counted from the ICRC's end
			f[len(f)-at] = b
			frames, says = append(frames, f), append(says, text)
		}
		spoil(anRTS(t, family), 4+16+3, 1, "RTS with TLVs, or of a wrong length")
		spoil(anRTS(t, family), 4+16+4+12, byte(wire.Token),
			"TOKEN with TLVs, or whose length does not match its ranges")
		spoil(aToken(t, family), 4+2, 1,
			"TOKEN with TLVs, or whose length does not match its ranges")
		spoil(aToken(t, family, extension.Range{First: 1, Count: 1}), 4+1, 0, "Range of no packets")
		spoil(aToken(t, family), 4+8+4, 0x20, "Version that this dissector does not know")
		for i, d := range tshark(t, recordFrames(t, frames...).path,
			slices.Concat(fieldsOfTokens, fieldsOf), script...) {
			if says[i] != "" {
				require.Equal(t, []string{says[i]}, d[remark])
				require.Equal(t, []string{strconv.Itoa(severityError)}, d[severity])
				continue
			}
			d.clean(t, fmt.Sprint(i))
			var p wire.Packet
			require.NoError(t, p.Parse(frames[i]))
			want := map[string][]string{}
			say := func(field string, values ...int) {
				for _, v := range values {
					want[field] = append(want[field], fmt.Sprint(v))
				}
			}
			if p.Op >= wire.Manufacturer {
				say("goroce.opcode", int(p.Op))
				say("goroce.tag", 0xbeef)
			}
			switch p.Op {
			case wire.RTS:
				h := extension.RTS(p.Body())
				say("goroce.rts.demand", int(h.Demand()))
				say("goroce.rts.spent", int(h.Spent()))
				say("goroce.rts.ce", int(h.CE()))
				say("goroce.rts.seq", int(h.Seq()))
				say("goroce.rts.flags", int(h.Flags()))
			case wire.Token:
				h := extension.Token(p.Body())
				say("goroce.token.limit", int(h.Limit()))
				say("goroce.token.seq", int(h.Seq()))
				say("goroce.token.ranges", h.Ranges())
				say("goroce.token.flags", int(h.Flags()))
				say("goroce.token.priority", int(h.Priority()))
				for r := range h.Ranges() {
					say("goroce.token.first", int(h.Range(r).First))
					say("goroce.token.count", int(h.Range(r).Count))
				}
			case wire.XDATA:
				say("goroce.grant.seq", int(extension.TLVs(p.TLVs()).Grant().Seq()))
			}
			if marks := p.BTH().Marks(); marks != 0 {
				bit := func(f wire.Flags) int { return min(1, int(marks&f)) }
				say("goroce.mark.unscheduled", bit(wire.MarkUnscheduled))
				say("goroce.mark.more", bit(wire.MarkWantsMore))
				say("goroce.mark.echo", bit(wire.MarkTokenMarked))
				say("goroce.mark.timing", 0)
			}
			got := map[string][]string{}
			for _, name := range fieldsOfTokens {
				for _, v := range d[name] {
					n, err := strconv.ParseUint(v, 0, 64)
					require.NoError(t, err)
					got[name] = append(got[name], fmt.Sprint(n))
				}
			}
			require.Equal(t, want, got, "frame %d", i)
		}
	}
}
