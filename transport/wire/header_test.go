package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
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
			h := View[Ethernet](b)
			h.Dst = [6]byte{1, 2, 3, 4, 5, 6}
			h.Src = [6]byte{7, 8, 9, 10, 11, 12}
			h.EtherType.Set(EtherTypeIPv6)
		}, 14, "0102030405060708090a0b0c86dd", "0102030405060708090a0b0c86dd"},
		{"VLAN", func(b []byte) {
			View[VLAN](b).TCI.Set(3<<13 | 77)
			View[VLAN](b).EtherType.Set(EtherTypeIPv4)
		}, 4, "604d0800", "604d0800"},
		{"IPv4", func(b []byte) {
			h := View[IPv4](b)
			h.TOS = 0x6a
			h.TotalLen.Set(0x1234)
			h.ID.Set(0x5678)
			h.TTL = 7
		}, 20, "006a1234567800000700000000000000" + "00000000",
			"ff6a12345678ffff07ffffffffffffff" + "ffffffff"},
		{"IPv6", func(b []byte) {
			h := View[IPv6](b)
			h.SetTrafficClass(0x6a)
			h.PayloadLen.Set(0x1234)
			h.HopLimit = 7
		}, 40, "06a0000012340007" + strings.Repeat("00", 32),
			"f6afffff1234ff07" + strings.Repeat("ff", 32)},
		{"UDP", func(b []byte) {
			h := View[UDP](b)
			h.SrcPort.Set(0xc001)
			h.DstPort.Set(UDPPort)
			h.Len.Set(0x1234)
			h.Checksum.Set(0x5678)
		}, 8, "c00112b712345678", "c00112b712345678"},
		{"BTH numbers", func(b []byte) {
			h := View[BTH](b)
			h.Opcode = RCAck
			h.PKey.Set(0x8001)
			h.DestQP.Set(0x123456)
			h.PSN.Set(0xabcdef)
		}, 12, "110080010012345600abcdef", "11ff8001ff123456ffabcdef"},
		{"BTH bits on", func(b []byte) {
			h := View[BTH](b)
			h.Flags |= BTHSolicited | 2<<bthPadShift
			h.Congestion |= BTHBECN
			h.Ack |= BTHAckReq
		}, 12, "00a000004000000080000000", "ffffffffffffffffffffffff"},
		{"BTH bits off", func(b []byte) {
			h := View[BTH](b)
			h.Flags &^= BTHMigReq | BTHTVer
			h.Congestion &^= BTHFECN
			h.Ack &^= BTHAckReq
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
	assert.Equal(t, uint16(0x0d0e), View[Ethernet](b).EtherType.Get())
	assert.Equal(t, uint16(0x0102), View[VLAN](b).TCI.Get())
	assert.Equal(t, uint16(0x0304), View[VLAN](b).EtherType.Get())
	assert.Equal(t, uint8(0x09), View[IPv4](b).TTL)
	assert.Equal(t, uint8(0x0a), View[IPv4](b).Protocol)
	assert.Equal(t, [4]byte{13, 14, 15, 16}, View[IPv4](b).Src)
	assert.Equal(t, [4]byte{17, 18, 19, 20}, View[IPv4](b).Dst)
	assert.Equal(t, [16]byte(b[8:24]), View[IPv6](b).Src)
	assert.Equal(t, [16]byte(b[24:40]), View[IPv6](b).Dst)
	assert.Equal(t, uint32(0x20304), View[IPv6](b).flowLabel())
	assert.Equal(t, uint8(0x10), View[IPv6](b).TrafficClass())
	assert.Equal(t, uint8(8), View[IPv6](b).HopLimit)

	h := View[BTH]([]byte{0x11, 0xff, 0x80, 0x01, 0xc5, 1, 2, 3, 0x83, 4, 5, 6})
	assert.Equal(t, RCAck, h.Opcode)
	assert.Equal(t, uint8(3), h.Flags&BTHPad>>bthPadShift)
	assert.Equal(t, uint8(15), h.Flags&BTHTVer)
	assert.Equal(t, uint8(BTHFECN|BTHBECN|5), h.Congestion)
	assert.Equal(t, uint8(BTHAckReq|3), h.Ack)
	assert.Equal(t, uint32(0x010203), h.DestQP.Get())
	assert.Equal(t, uint32(0x040506), h.PSN.Get())
	assert.Equal(t, uint16(0x8001), h.PKey.Get())

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
	assert.Equal(t, EthernetLen, binary.Size(Ethernet{}))
	assert.Equal(t, vlanLen, binary.Size(VLAN{}))
	assert.Equal(t, IPv4Len, binary.Size(IPv4{}))
	assert.Equal(t, IPv6Len, binary.Size(IPv6{}))
	assert.Equal(t, UDPLen, binary.Size(UDP{}))
	assert.Equal(t, BTHLen, binary.Size(BTH{}))
	assert.Equal(t, RETHLen, binary.Size(RETH{}))
	assert.Equal(t, AETHLen, binary.Size(AETH{}))
	assert.Equal(t, DETHLen, binary.Size(DETH{}))
	assert.Equal(t, atomicETHLen, binary.Size(AtomicETH{}))
	assert.Panics(t, func() { View[RETH](make([]byte, RETHLen-1)) })
	assert.Panics(t, func() { View[RETH](nil) })
}
