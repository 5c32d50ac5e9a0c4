package wire

import (
	"bytes"
	"testing"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
	"github.com/stretchr/testify/require"
)

// FuzzParse: any bytes are an error or a packet whose every view is within its frame.
func FuzzParse(f *testing.F) {
	for _, frame := range seeds(f) {
		f.Add(frame)
	}
	tagged := aTemplate(f, true)
	f.Add(build(f, tagged, CNP, 0))
	for _, v6 := range []bool{false, true} {
		f.Add(anXACK(f, v6))
		f.Add(aGappedXACK(f, v6))
		f.Add(aProbe(f, v6))
		f.Add(aProbeAck(f, v6))
		f.Add(anRTS(f, v6))
		f.Add(aToken(f, v6, 3))
		f.Add(aCredit(f, v6))
		f.Add(aCreditOnXACK(f, v6))
		f.Add(anXDATA(f, v6, RCWriteOnlyImm, 3, 50))
		f.Add(anXDATA(f, v6, RCReadResponseMiddle, 0, 50))
		f.Add(aBolt(f, v6, extension.BoltINC, 50))
		f.Add(BuildSRC(make([]byte, maxSRC), aBolt(f, v6, extension.BoltINC, 50), 0xe0,
			aReport.Bytes()))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		var p Packet
		if err := p.Parse(frame); err != nil {
			require.True(t, aParseError(err), err)
			return
		}
		views(t, &p)
		p.ICRC()
		require.Equal(t, before, frame, "the frame was changed")
	})
}

// views calls every view that p's opcode has.
func views(t *testing.T, p *Packet) {
	i := p.Inner().Info()
	require.LessOrEqual(t, p.L3, p.BTHOff)
	require.LessOrEqual(t, p.PayloadOff, p.End)
	if p.Op.Info().Kind == Extension {
		extensionViews(t, p)
	} else {
		require.Equal(t, p.BTHOff+BTHLen, p.ExtOff)
	}
	if p.Op != XACK && p.Op != Token { // whose TLVs are none of its fixed headers
		require.Equal(t, p.ExtOff+uint16(i.Ext), p.PayloadOff)
	}
	require.Equal(t, len(p.Frame), int(p.End)+int(p.Pad)+ICRCLen)
	require.Len(t, p.Payload(), int(p.End-p.PayloadOff))
	require.Equal(t, p.PSN, PSN(p.BTH().PSN.Get()))
	require.Equal(t, p.DestQP, QPN(p.BTH().DestQP.Get()))
	require.Equal(t, uint16(UDPPort), p.UDP().DstPort.Get())
	require.True(t, p.SrcIP().IsValid() && p.DstIP().IsValid())
	require.Equal(t, p.V6, p.SrcIP().Is6())
	p.GRH(make([]byte, GRHLen))
	_ = p.VLAN()
	if i.RETH {
		require.NotNil(t, p.RETH())
	}
	if i.AETH {
		require.NotEmpty(t, p.AETH().Syndrome.String())
	}
	if i.AtomicETH {
		require.NotNil(t, p.AtomicETH())
	}
	if i.Kind == AtomicAck {
		p.AtomicAck()
	}
	if i.DETH {
		require.NotNil(t, p.DETH())
	}
	if i.Imm {
		p.Imm()
	}
	if i.Inv {
		p.IETH()
	}
}

func extensionViews(t *testing.T, p *Packet) {
	require.EqualValues(t, ExtensionVersion, p.XCH().Version>>4)
	require.LessOrEqual(t, len(p.TLVs()), extension.MaxTLVs)
	tlvs := extension.TLVs(p.TLVs())
	switch p.Op {
	case XACK:
		require.NotEmpty(t, p.AETH().Syndrome.String())
		require.Empty(t, p.Payload())
		require.Nil(t, tlvs.INT())
		require.Nil(t, tlvs.Bolt())
	case Probe:
		require.Len(t, extension.ProbeField(p.Body()), extension.ProbeLen)
	case RTS:
		require.Len(t, extension.RTS(p.Body()), extension.RTSLen)
	case Token:
		for i := range extension.Token(p.Body()).Ranges() {
			require.NotZero(t, extension.Token(p.Body()).Range(i).Count)
		}
	case CREDIT:
		require.NotNil(t, tlvs.Credit())
	case ProbeAck:
		require.Len(t, extension.ProbeEcho(p.Body()), extension.ProbeEchoLen)
		require.GreaterOrEqual(t, extension.ProbeEcho(p.Body()).Gap(), units.Duration(0))
	case SRC:
		require.GreaterOrEqual(t, extension.Report(p.Body()).Drain, units.Duration(0))
	default:
		require.True(t, p.Inner().Info().Valid)
		require.Nil(t, tlvs.SACK())
	}
	if s := tlvs.SACK(); s != nil {
		for i := range s.Len() / 32 {
			s.Bits(i)
		}
	}
	if b := tlvs.Bolt(); b != nil {
		require.Equal(t, b, extension.AsBolt(SwitchTLV(p.Frame)))
	}
	if c := tlvs.Credit(); c != nil {
		require.Less(t, c.Flags(), 2*extension.CreditApproaching)
		require.Len(t, c, extension.CreditLen)
		c.Returned()
	}
	if g := tlvs.Gap(); g != nil {
		require.Len(t, g, extension.GapLen)
		require.GreaterOrEqual(t, g.Gap(), units.Duration(0))
		require.GreaterOrEqual(t, g.Away(), units.Duration(0))
	}
	if h := tlvs.Host(); h != nil {
		h.Residence()
	}
	if g := tlvs.Grant(); g != nil {
		g.Seq()
	}
	if b := tlvs.BoltEcho(); b != nil {
		b.Counts()
	}
	if v := tlvs.INT(); v != nil {
		for i := range v.Filled() {
			v.Record(i)
		}
	}
}

// FuzzStampINT: any frame is left alone, or a record is added to it and nothing else, which its
// ICRC does not notice.
func FuzzStampINT(f *testing.F) {
	f.Add(aFrame(f, 64))
	for _, v6 := range []bool{false, true} {
		f.Add(anXDATA(f, v6, RCSendOnly, 1, 64))
		f.Add(anXDATA(f, v6, RCSendMiddle, 7, 0))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		var p Packet
		err := p.Parse(frame)
		good := err == nil && p.ICRC()
		if !extension.Stamp(SwitchTLV(frame), extension.INTRecord{Port: 1, Rate: units.Gbps,
			Time: 2, Sent: 3, Queue: 4}) {
			require.Equal(t, before, frame)
			return
		}
		changed := 0
		for i := range frame {
			if frame[i] != before[i] {
				changed = i
				break
			}
		}
		at := changed // the count of records comes first
		require.Equal(t, before[at]+1, frame[at])
		require.Equal(t, before[:at], frame[:at])
		if err != nil {
			return // a frame that no receiver takes
		}
		require.NoError(t, p.Parse(frame))
		require.Equal(t, good, p.ICRC())
		require.Equal(t, int(p.BTHOff)+tlvOffset+2, at)
		require.Equal(t, before[p.ExtOff:], frame[p.ExtOff:])
	})
}

// FuzzParseOffer: any bytes are an error or an offer that survives being written again.
func FuzzParseOffer(f *testing.F) {
	f.Add(Offer{Highest: 1, Lowest: 1, Tag: 0x1234, Features: FeatureSACK,
		SACKBits: 512}.Append(nil))
	f.Add(Offer{Highest: 1, Lowest: 1, Tag: 0x1234, Features: FeatureCredit, LineShift: 6,
		Credits: 12288}.Append(nil))
	f.Add([]byte("GRX1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ParseOffer(b)
		if err != nil {
			require.ErrorIs(t, err, ErrOffer)
			return
		}
		again, err := ParseOffer(o.Append(nil))
		require.NoError(t, err)
		require.Equal(t, o, again)
	})
}

// FuzzRoundTrip: what a template builds parses to what it was built from, and verifies.
func FuzzRoundTrip(f *testing.F) {
	for _, frame := range seeds(f) {
		var p Packet
		if p.Parse(frame) == nil {
			f.Add(uint8(p.Op), uint32(p.PSN), uint32(p.DestQP), p.SrcPort, uint16(0),
				p.DSCP<<2|p.ECN,
				p.AckReq, p.V6, p.Ext(), p.Payload())
		}
	}
	f.Fuzz(func(t *testing.T, op uint8, psn, qp uint32, port, vlan uint16, tos uint8, ack, v6 bool,
		ext, payload []byte) {
		i := Opcode(op).Info()
		if !i.Valid || len(payload) > 9000 {
			return
		}
		if !i.Payload {
			payload = nil
		}
		p := Packet{V6: v6, SrcPort: port, DestQP: QPN(qp & QPNMask), DSCP: tos >> 2, ECN: tos & 3}
		var tmpl Template
		a := Address{VLAN: vlan, SrcPort: port, TOS: tos, DestQP: p.DestQP}
		a.Src, a.Dst = sourceOf(aTemplate(t, v6)), sourceOf(aTemplate(t, v6)).Next()
		require.NoError(t, tmpl.Set(a))
		room := bytes.Repeat([]byte{0xa5}, 9216)
		at, total := tmpl.Build(room, Fields{Op: Opcode(op), Flags: AckReq.When(ack),
			PSN: PSN(psn)}, len(payload))
		copy(room[at:at+int(i.Ext)], ext)
		copy(room[at+int(i.Ext):], payload)
		tmpl.Seal(room[:total])

		var got Packet
		require.NoError(t, got.Parse(room), "parse with the rest of the room behind it")
		require.Len(t, got.Frame, total)
		require.True(t, got.ICRC())
		require.Equal(t, icrcGeneric(got.Frame[got.L3:total-ICRCLen], v6),
			le32(got.Frame[total-ICRCLen:]))
		require.True(t, bytes.Equal(payload, got.Payload()))
		require.Equal(t, PSN(psn&PSNMask), got.PSN)
		require.Equal(t, p.DestQP, got.DestQP)
		require.Equal(t, ack, got.AckReq)
		require.Equal(t, tos, got.DSCP<<2|got.ECN)
		require.Equal(t, port, got.SrcPort)
		require.Equal(t, vlan != 0, got.VLAN() != nil)
		views(t, &got)
	})
}
