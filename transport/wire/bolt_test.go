package wire

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// aBolt is a packet of a flow that Bolt controls, from queue pair 0x51.
func aBolt(t testing.TB, v6 bool, flags extension.BoltFlags, payload int) []byte {
	return boltFrame(aTemplate(t, v6), flags, payload)
}

func boltFrame(tmpl *Template, flags extension.BoltFlags, payload int) []byte {
	frame := make([]byte, 2048)
	ext, total := tmpl.Build(frame, Fields{Op: XDATA, Flags: AckReq | Solicited, PSN: 0x100003},
		extension.BoltLen+payload)
	View[XCH](frame[ext:]).Set(0x1234, extension.BoltLen)
	SetInner(frame[ext+XCHLen:], RCSendOnly)
	extension.Bolt(frame[ext+XCHLen+InnerLen:][:extension.BoltLen]).Set(flags, uint32(0x51))
	tmpl.Seal(frame[:total])
	return frame[:total]
}

var aReport = extension.QueueReport{Drain: 2500 * units.Nanosecond, Rate: 100 * units.Gbps}

func TestBoltOnTheWire(t *testing.T) {
	b := extension.Bolt(make([]byte, extension.BoltLen))
	b.Set(extension.BoltINC|extension.BoltAI, uint32(0x123456))
	assert.Equal(t, "0803"+"14"+"123456"+"0000"+"00000000", hex.EncodeToString(b))
	assert.Equal(t, QPN(0x123456), QPN(b.Sender()))
	assert.True(t, b.Congest(aReport), "the first queue")
	assert.Equal(t, "0803"+"18"+"123456"+"03e8"+"000009c4", hex.EncodeToString(b),
		"INC is gone, DEC and AI are there")
	assert.False(t,
		b.Congest(extension.QueueReport{Drain: units.Microsecond, Rate: 400 * units.Gbps}),
		"a second one")
	assert.Equal(t, aReport, b.Report(), "the longer one stays")
	longer := extension.QueueReport{Drain: 3 * units.Microsecond, Rate: 400 * units.Gbps}
	assert.False(t, b.Congest(longer))
	assert.Equal(t, longer, b.Report())
	b.Congest(extension.QueueReport{Drain: 1 << 62, Rate: 1 << 62})
	assert.Equal(t, extension.QueueReport{Drain: 0xffffffff * units.Nanosecond,
		Rate: 0xffff * (100 * units.Mbps)}, b.Report(),
		"the largest there is")
}

func TestBoltEchoOnTheWire(t *testing.T) {
	var c extension.BoltCounts
	b := extension.Bolt(make([]byte, extension.BoltLen))
	for _, flags := range []extension.BoltFlags{extension.BoltINC, extension.BoltFirst,
		extension.BoltINC | extension.BoltAI, extension.BoltLast, extension.BoltINC} {
		b.Set(flags, uint32(1))
		c.Add(b)
	}
	b.Congest(aReport)
	c.Add(b)
	assert.Equal(t, extension.BoltCounts{AI: 1, DEC: 1, INC: 3, Report: aReport}, c)
	e := extension.BoltEcho(make([]byte, extension.BoltEchoLen))
	e.Set(c)
	assert.Equal(t, "0a04"+"0001"+"00000003"+"0001"+"03e8"+"000009c4", hex.EncodeToString(e))
	assert.Equal(t, c, e.Counts())
}

// What switches write is not covered by the ICRC, and everything else is.
func TestBoltAndICRC(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		frame := aBolt(t, v6, extension.BoltINC, 64)
		b := extension.AsBolt(SwitchTLV(frame))
		require.NotNil(t, b)
		b.Congest(aReport)
		var p Packet
		require.NoError(t, p.Parse(frame))
		require.True(t, p.ICRC())
		require.Equal(t, extension.BoltDEC, extension.TLVs(p.TLVs()).Bolt().Flags())
		require.Equal(t, aReport, extension.TLVs(p.TLVs()).Bolt().Report())
		for at := int(p.BTHOff); at < len(frame); at++ {
			frame[at] ^= 1
			inside := at >= int(p.BTHOff)+tlvOffset+extension.TLVHeaderLen && at < int(p.ExtOff)
			require.Equal(t, inside || at == int(p.BTHOff)+4, p.ICRC(), "byte %d", at-int(p.BTHOff))
			frame[at] ^= 1
		}
	}
	for name, frame := range map[string][]byte{
		"a SEND": aFrame(t, 64), "INT": anXDATA(t, false, RCSendOnly, 2, 64), "no TLV": anXDATA(t,
			false, RCSendOnly, 0, 64),
		"XACK": anXACK(t, true), "short": make([]byte, 20),
	} {
		require.Nil(t, extension.AsBolt(SwitchTLV(frame)), name)
		require.Nil(t, BuildSRC(make([]byte, maxSRC), frame, 0, aReport.Bytes()), name)
	}
}

// TestWorkedSRC is the report of a switch at 100 Gb/s whose queue drains in 2.5 us, of the packet
// 0x100003 from queue pair 0x51.
func TestWorkedSRC(t *testing.T) {
	data := unhex(t, `020000000002 020000000001 0800
		4500005000004000401126010a4d00010a4d0002 c28612b7003c0000 c680ffff0000002280100003
		10031234 04000000 08030400 00510000 00000000 0102030405060708 090a0b0c 00000000`)
	got := BuildSRC(make([]byte, maxSRC), data, 56<<2, aReport.Bytes())
	want := unhex(t, `020000000001 020000000002 0800
		45e0003800004000401125390a4d00020a4d0001 c28612b700240000 c700ffff0000005100100003
		10001234 000003e8 000009c4 ae990267`)
	require.Equal(t, hex.EncodeToString(want), hex.EncodeToString(got))
	var p Packet
	require.NoError(t, p.Parse(got))
	assert.True(t, p.ICRC())
	assert.Equal(t, SRC, p.Op)
	assert.Equal(t, QPN(0x51), p.DestQP)
	assert.Equal(t, PSN(0x100003), p.PSN)
	assert.Equal(t, uint16(0x1234), p.XCH().Tag.Get())
	assert.Equal(t, aReport, extension.Report(p.Body()))
}

func TestSRCGoesToTheSender(t *testing.T) {
	var tagged Template
	require.NoError(t,
		tagged.Set(Address{Src: sourceOf(aTemplate(t, true)),
			Dst: sourceOf(aTemplate(t, true)).Next(), VLAN: 5}))
	for _, data := range [][]byte{aBolt(t, false, extension.BoltINC, 1000),
		aBolt(t, true, extension.BoltAI, 9),
		boltFrame(&tagged, 0, 64)} {
		var d, p Packet
		require.NoError(t, d.Parse(data))
		room := make([]byte, maxSRC)
		require.NoError(t, p.Parse(BuildSRC(room, data, 0xe0, aReport.Bytes())))
		require.True(t, p.ICRC())
		require.Equal(t, d.SrcIP(), p.DstIP())
		require.Equal(t, d.DstIP(), p.SrcIP())
		require.Equal(t, d.Ethernet().Src, p.Ethernet().Dst)
		require.Equal(t, d.Ethernet().Dst, p.Ethernet().Src)
		require.Equal(t, d.SrcPort, p.SrcPort, "the way of the data, back")
		require.Equal(t, d.VLAN(), p.VLAN())
		require.EqualValues(t, 56, p.DSCP)
		require.EqualValues(t, ECNNotECT, p.ECN)
		require.EqualValues(t, 0x51, p.DestQP)
		require.False(t, p.AckReq)
		require.False(t, p.Solicited)
		require.Equal(t, aReport, extension.Report(p.Body()))
		require.Zero(t, testing.AllocsPerRun(10, func() {
			BuildSRC(room, data, 0xe0, aReport.Bytes())
		}))
	}
}

// FuzzBolt: any frame is left alone, or a queue is noted in it and reported to its sender; neither
// breaks an ICRC.
func FuzzBolt(f *testing.F) {
	f.Add(aFrame(f, 64))
	for _, v6 := range []bool{false, true} {
		f.Add(aBolt(f, v6, extension.BoltINC|extension.BoltAI, 64))
		f.Add(anXDATA(f, v6, RCSendMiddle, 1, 0))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		var p Packet
		err := p.Parse(frame)
		good := err == nil && p.ICRC()
		src := BuildSRC(make([]byte, maxSRC), frame, 0xe0, aReport.Bytes())
		require.Equal(t, before, frame)
		b := extension.AsBolt(SwitchTLV(frame))
		require.Equal(t, b == nil, src == nil)
		if b == nil {
			return
		}
		b.Congest(aReport)
		b.Clear(extension.BoltINC | extension.BoltDEC)
		if err != nil {
			return // a frame that no receiver takes
		}
		require.NoError(t, p.Parse(frame))
		require.Equal(t, good, p.ICRC())
		require.Equal(t, before[p.ExtOff:], frame[p.ExtOff:])
		require.NoError(t, p.Parse(src))
		require.True(t, p.ICRC())
		views(t, &p)
	})
}
