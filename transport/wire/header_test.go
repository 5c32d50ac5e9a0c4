package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/goroce/goroce/units"
	"github.com/stretchr/testify/assert"
)

// TestHeaders sets every field of every header, over zeros and over ones, and looks at the bytes:
// neighbours in the same byte keep what they had.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(b []byte)
		len   int
		zeros string // the bytes when all were 00
		ones  string // the bytes when all were ff
	}{
		{"Ethernet", func(b []byte) {
			h := Ethernet(b)
			h.SetDst([6]byte{1, 2, 3, 4, 5, 6})
			h.SetSrc([6]byte{7, 8, 9, 10, 11, 12})
			h.SetEtherType(EtherTypeIPv6)
		}, 14, "0102030405060708090a0b0c86dd", "0102030405060708090a0b0c86dd"},
		{"VLAN", func(b []byte) {
			VLAN(b).SetTCI(3<<13 | 77)
			VLAN(b).SetEtherType(EtherTypeIPv4)
		}, 4, "604d0800", "604d0800"},
		{"IPv4", func(b []byte) {
			h := IPv4(b)
			h.SetTOS(0x6a)
			h.SetTotalLen(0x1234)
			h.SetID(0x5678)
			h.SetTTL(7)
		}, 20, "006a1234567800000700000000000000" + "00000000",
			"ff6a12345678ffff07ffffffffffffff" + "ffffffff"},
		{"IPv6", func(b []byte) {
			h := IPv6(b[:8])
			h.SetTrafficClass(0x6a)
			h.SetPayloadLen(0x1234)
			h.SetHopLimit(7)
		}, 8, "06a0000012340007", "f6afffff1234ff07"},
		{"UDP", func(b []byte) {
			h := UDP(b)
			h.SetSrcPort(0xc001)
			h.SetDstPort(UDPPort)
			h.SetLen(0x1234)
			h.SetChecksum(0x5678)
		}, 8, "c00112b712345678", "c00112b712345678"},
		{"BTH numbers", func(b []byte) {
			h := BTH(b)
			h.SetOpcode(RCAck)
			h.SetPKey(0x8001)
			h.SetDestQP(0x123456)
			h.SetPSN(0xabcdef)
		}, 12, "110080010012345600abcdef", "11ff8001ff123456ffabcdef"},
		{"BTH bits on", func(b []byte) {
			h := BTH(b)
			h.SetSolicited(true)
			h.SetPad(2)
			h.SetBECN(true)
			h.SetReserved6(5)
			h.SetAckReq(true)
			h.SetReserved7(3)
		}, 12, "00a000004500000083000000", "ffefffffc5ffffff83ffffff"},
		{"BTH bits off", func(b []byte) {
			h := BTH(b)
			h.SetMigReq(false)
			h.SetTVer(0)
			h.SetFECN(false)
			h.SetAckReq(false)
		}, 12, "000000000000000000000000", "ffb0ffff7fffffff7fffffff"},
		{"RETH", func(b []byte) { View[RETH](b).Set(0x0102030405060708, 0x090a0b0c, 0x0d0e0f10) },
			16, "0102030405060708090a0b0c0d0e0f10", "0102030405060708090a0b0c0d0e0f10"},
		{"AETH", func(b []byte) { View[AETH](b).Set(NakSyndrome(NakRemoteAccess), 0x01_000203) },
			4, "62000203", "62000203"},
		{"AtomicETH", func(b []byte) { View[AtomicETH](b).Set(1, 2, 3, 4) },
			28, "0000000000000001000000020000000000000003" + "0000000000000004",
			"0000000000000001000000020000000000000003" + "0000000000000004"},
		{"AtomicAckETH", func(b []byte) { View[BE64](b).Set(0x0102030405060708) },
			8, "0102030405060708", "0102030405060708"},
		{"DETH", func(b []byte) { View[DETH](b).Set(0x80010000, 0xff_000001) },
			8, "8001000000000001", "8001000000000001"},
		{"ImmDt", func(b []byte) { View[BE32](b).Set(0xcafe0001) }, 4, "cafe0001", "cafe0001"},
		{"IETH", func(b []byte) { View[BE32](b).Set(0xcafe0001) }, 4, "cafe0001", "cafe0001"},
	} {
		b := make([]byte, c.len)
		c.set(b)
		assert.Equal(t, c.zeros, hex.EncodeToString(b), c.name)
		b = bytes.Repeat([]byte{0xff}, c.len)
		c.set(b)
		assert.Equal(t, c.ones, hex.EncodeToString(b), c.name)
	}
}

// TestGetters reads each field of each header from bytes that are all different.
func TestGetters(t *testing.T) {
	b := make([]byte, 40)
	for i := range b {
		b[i] = byte(i + 1)
	}
	assert.Equal(t, uint16(0x0d0e), Ethernet(b).EtherType())
	assert.Equal(t, uint16(0x0102), VLAN(b).TCI())
	assert.Equal(t, uint16(0x0102), VLAN(b).ID())
	assert.Equal(t, uint8(5), VLAN{0xa0, 0, 0, 0}.Priority())
	assert.Equal(t, uint16(0x0304), VLAN(b).EtherType())
	assert.Equal(t, uint8(0x09), IPv4(b).TTL())
	assert.Equal(t, uint8(0x0a), IPv4(b).Protocol())
	assert.Equal(t, "13.14.15.16", IPv4(b).Src().String())
	assert.Equal(t, "17.18.19.20", IPv4(b).Dst().String())
	assert.Equal(t, "90a:b0c:d0e:f10:1112:1314:1516:1718", IPv6(b).Src().String())
	assert.Equal(t, uint32(0x20304), IPv6(b).FlowLabel())
	assert.Equal(t, uint8(0x10), IPv6(b).TrafficClass())
	assert.Equal(t, uint8(8), IPv6(b).HopLimit())

	h := BTH{0x11, 0xff, 0x80, 0x01, 0xc5, 1, 2, 3, 0x83, 4, 5, 6}
	assert.True(t, h.Solicited() && h.MigReq() && h.FECN() && h.BECN() && h.AckReq())
	assert.Equal(t, uint8(3), h.Pad())
	assert.Equal(t, uint8(15), h.TVer())
	assert.Equal(t, uint8(5), h.Reserved6())
	assert.Equal(t, uint8(3), h.Reserved7())
	assert.Equal(t, QPN(0x010203), h.DestQP())
	assert.Equal(t, PSN(0x040506), h.PSN())
	assert.Equal(t, uint16(0x8001), h.PKey())

	assert.Equal(t, uint64(0x0102030405060708), View[RETH](b).VA.Get())
	assert.Equal(t, uint32(0x090a0b0c), View[RETH](b).RKey.Get())
	assert.Equal(t, uint32(0x0d0e0f10), View[RETH](b).Len.Get())
	assert.Equal(t, uint64(0x0d0e0f1011121314), View[AtomicETH](b).SwapAdd.Get())
	assert.Equal(t, uint64(0x15161718191a1b1c), View[AtomicETH](b).Compare.Get())
	assert.Equal(t, uint32(0x020304), View[AETH](b).MSN.Get())
	assert.Equal(t, uint32(0x01020304), View[DETH](b).QKey.Get())
	assert.Equal(t, uint32(0x060708), View[DETH](b).SrcQP.Get())
	assert.Equal(t, uint32(0x01020304), View[BE32](b).Get())
}

func TestSyndrome(t *testing.T) {
	for _, c := range []struct {
		s             Syndrome
		value         uint8
		ack, rnr, nak bool
		code          uint8
		shown         string
	}{
		{SyndromeAck, 0x1f, true, false, false, 0x1f, "ACK"},
		{ackSyndrome(0x1f), 0x1f, true, false, false, 0x1f, "ACK"},
		{ackSyndrome(3), 0x03, true, false, false, 3, "ACK credits 3"},
		{RNRSyndrome(20), 0x34, false, true, false, 20, "RNR NAK 10.24ms"},
		{RNRSyndrome(0), 0x20, false, true, false, 0, "RNR NAK 655.36ms"},
		{NakSyndrome(NakPSNSequence), 0x60, false, false, true, 0, "NAK PSN_SEQ_ERR"},
		{NakSyndrome(NakInvalidRequest), 0x61, false, false, true, 1, "NAK INVALID_REQ"},
		{NakSyndrome(NakRemoteAccess), 0x62, false, false, true, 2, "NAK REMOTE_ACCESS"},
		{NakSyndrome(NakRemoteOperational), 0x63, false, false, true, 3, "NAK REMOTE_OP"},
		{NakSyndrome(NakInvalidRD), 0x64, false, false, true, 4, "NAK INVALID_RD"},
		{NakSyndrome(5), 0x65, false, false, true, 5, "syndrome 0x65"},
		{Syndrome(0x40), 0x40, false, false, false, 0, "syndrome 0x40"},
		{Syndrome(0x9f), 0x9f, false, false, false, 0x1f, "syndrome 0x9f"},
	} {
		assert.Equal(t, c.value, uint8(c.s))
		assert.Equal(t, c.ack, c.s.IsAck(), c.shown)
		assert.Equal(t, c.rnr, c.s.IsRNR(), c.shown)
		assert.Equal(t, c.nak, c.s.IsNak(), c.shown)
		assert.Equal(t, c.code, c.s.Code(), c.shown)
		assert.Equal(t, c.shown, c.s.String())
	}
}

func TestTimers(t *testing.T) {
	for code, ms := range []float64{655.36, .01, .02, .03, .04, .06, .08, .12, .16, .24, .32, .48,
		.64,
		.96, 1.28, 1.92, 2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92,
		122.88, 163.84, 245.76, 327.68, 491.52} {
		assert.InDelta(t, ms*1e-3, RNRTimer(uint8(code)).Seconds(), 1e-12, code)
		assert.Equal(t, RNRTimer(uint8(code)), RNRTimer(uint8(code)|0xe0), code)
	}
	assert.Equal(t, units.Forever, AckTimeout(0))
	assert.Equal(t, 8192*units.Nanosecond, AckTimeout(1))
	assert.Equal(t, 67108864*units.Nanosecond, AckTimeout(14))
	assert.InDelta(t, 8796.09, AckTimeout(31).Seconds(), 0.01)
}

// TestHeaderSizes compares the layouts of the views with the lengths in the specification.
func TestHeaderSizes(t *testing.T) {
	assert.Equal(t, RETHLen, binary.Size(RETH{}))
	assert.Equal(t, AETHLen, binary.Size(AETH{}))
	assert.Equal(t, DETHLen, binary.Size(DETH{}))
	assert.Equal(t, atomicETHLen, binary.Size(AtomicETH{}))
	assert.Panics(t, func() { View[RETH](make([]byte, RETHLen-1)) })
	assert.Panics(t, func() { View[RETH](nil) })
}
