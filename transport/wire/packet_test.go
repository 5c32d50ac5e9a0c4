package wire

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParseErrors spoils a good frame in one way at a time.
func TestParseErrors(t *testing.T) {
	v4, v6 := aFrame(t, 32), build(t, aTemplate(t, true), RCSendOnly, 32)
	ack := build(t, aTemplate(t, false), RCAck, 0)
	read := build(t, aTemplate(t, true), RCReadRequest, 0)
	write := build(t, aTemplate(t, false), RCWriteOnly, 0)
	const ip, udp4, bth4, udp6, bth6 = 14, 34, 42, 54, 62
	for _, c := range []struct {
		name  string
		frame []byte
		spoil func(f []byte) []byte
		want  error
	}{
		{"nothing", nil, cut(0), ErrTruncated},
		{"half an Ethernet header", v4, cut(13), ErrTruncated},
		{"half a VLAN tag", v4, chain(put(12, 0x81, 0x00), cut(17)), ErrTruncated},
		{"ARP", v4, put(12, 0x08, 0x06), ErrNotRoCE},
		{"ARP, short", v4, chain(put(12, 0x08, 0x06), cut(42)), ErrNotRoCE},
		{"two VLAN tags", v4, put(12, 0x81, 0, 0, 1, 0x81, 0), ErrNotRoCE},

		{"half an IPv4 header", v4, cut(ip + 19), ErrTruncated},
		{"half a UDP header", v4, cut(udp4 + 7), ErrTruncated},
		{"half a BTH", v4, cut(bth4 + 11), ErrTruncated},
		{"a byte short", v4, cut(len(v4) - 1), ErrTruncated},
		{"ICMP", v4, put(ip+9, 1), ErrNotRoCE},
		{"ICMP, short", v4, chain(put(ip+9, 1), cut(ip+20)), ErrNotRoCE},
		{"another port", v4, put(udp4+2, 0, 53), ErrNotRoCE},
		{"another port, short", v4, chain(put(udp4+2, 0, 53), cut(udp4+8)), ErrNotRoCE},
		{"IPv4 version 5", v4, put(ip, 0x55), ErrIPHeader},
		{"IPv4 options", v4, put(ip, 0x46), ErrIPHeader},
		{"IPv4 checksum", v4, put(ip+8, 63), ErrIPHeader},
		{"first fragment", v4, chain(put(ip+6, 0x20, 0), checksum), ErrIPHeader},
		{"later fragment", v4, chain(put(ip+6, 0, 1), checksum), ErrIPHeader},
		{"IPv4 length beyond the frame", v4, chain(put(ip+2, 0, 77), checksum), ErrTruncated},
		{"IPv4 length below a packet", v4, chain(put(ip+2, 0, 43), put(udp4+4, 0, 23), checksum),
			ErrTruncated},
		{"UDP length of IPv4", v4, put(udp4+5, 57), ErrUDPLength},

		{"half an IPv6 header", v6, cut(ip + 39), ErrTruncated},
		{"half a UDP header over IPv6", v6, cut(udp6 + 7), ErrTruncated},
		{"half a BTH over IPv6", v6, cut(bth6 + 11), ErrTruncated},
		{"ICMPv6", v6, put(ip+6, 58), ErrNotRoCE},
		{"IPv6 extension header", v6, put(ip+6, 0), ErrNotRoCE},
		{"another port over IPv6", v6, put(udp6+2, 0, 53), ErrNotRoCE},
		{"IPv6 version 4", v6, put(ip, 0x40), ErrIPHeader},
		{"IPv6 length beyond the frame", v6, put(ip+4, 0, 57), ErrTruncated},
		{"UDP length of IPv6", v6, put(udp6+5, 55), ErrUDPLength},

		{"BTH version", v4, put(bth4+1, 0x01), ErrBTH},
		{"reserved opcode", v4, put(bth4, 0x15), ErrOpcode},
		{"manufacturer's opcode", v4, put(bth4, 0xff), ErrOpcode},
		{"RD", v4, put(bth4, 0x44), ErrOpcode},
		{"payload of an ACK", ack, put(bth4+1, 0), nil},
		{"ACK with the payload of a SEND", v4, put(bth4, uint8(RCAck)), ErrLength},
		{"READ request with pad", read, put(bth6+1, 0x10), ErrLength},
		{"WRITE with pad and no payload", write, put(bth4+1, 0x30), ErrLength},
		{"no room for extended headers", ack, put(bth4, uint8(RCFetchAdd)), ErrLength},
		{"SEND of 32 bytes, 3 of pad", v4, put(bth4+1, 0x30), nil},
		{"length no multiple of 4", v4, chain(cut(len(v4)-1), put(ip+2, 0, 75), put(udp4+4, 0, 55),
			checksum), ErrLength},
	} {
		var p Packet
		assert.Equal(t, c.want, p.Parse(c.spoil(bytes.Clone(c.frame))), c.name)
	}
}

// The ways to spoil a frame.

func cut(n int) func([]byte) []byte { return func(f []byte) []byte { return f[:n] } }

func put(at int, b ...byte) func([]byte) []byte {
	return func(f []byte) []byte { copy(f[at:], b); return f }
}

func checksum(f []byte) []byte { View[IPv4](f[14:34]).UpdateChecksum(); return f }

func chain(all ...func([]byte) []byte) func([]byte) []byte {
	return func(f []byte) []byte {
		for _, one := range all {
			f = one(f)
		}
		return f
	}
}

// build is a sealed frame of a flow, with zeros for extended headers and payload.
func build(t testing.TB, tmpl *Template, op Opcode, payload int) []byte {
	frame := make([]byte, 9216)
	_, total := tmpl.Build(frame, Fields{Op: op, PSN: 1}, payload)
	tmpl.Seal(frame[:total])
	return frame[:total]
}

// TestParseTooLong has a packet that 16-bit offsets cannot hold.
func TestParseTooLong(t *testing.T) {
	tmpl := aTemplate(t, false)
	frame := make([]byte, 70000)
	var p Packet
	_, total := tmpl.Build(frame, Fields{Op: RCSendOnly}, 0xffff-58)
	assert.Equal(t, ErrLength, p.Parse(frame[:total]))
	_, total = tmpl.Build(frame, Fields{Op: RCSendOnly}, 0xffff-61)
	assert.NoError(t, p.Parse(frame[:total]))
}

// TestEthernetPadding has a frame that Ethernet filled up to its minimum, and a longer one.
func TestEthernetPadding(t *testing.T) {
	frame := build(t, aTemplate(t, false), RCSendOnly, 0)
	require.Len(t, frame, 58)
	var p Packet
	require.NoError(t, p.Parse(append(frame, 1, 2, 3, 4, 5)))
	assert.Len(t, p.Frame, 58)
	assert.Equal(t, 58, cap(p.Frame))
	assert.True(t, p.ICRC())
}

// A packet is the peer's only when every bit of both addresses is, whatever the other bits are.
func TestSrcIsLooksAtEveryBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 16} {
		for range 20 {
			peer, own := make([]byte, n), make([]byte, n)
			for i := range n {
				peer[i], own[i] = byte(rng.Uint32()), byte(rng.Uint32())
			}
			var to Template // the peer
			require.NoError(t, to.Set(Address{Src: addrOf(own), Dst: addrOf(peer)}))
			from := func(src, dst []byte) *Packet {
				var tmpl Template
				require.NoError(t, tmpl.Set(Address{Src: addrOf(src), Dst: addrOf(dst)}))
				p := new(Packet)
				require.NoError(t, p.Parse(build(t, &tmpl, RCAck, 0)))
				return p
			}
			require.True(t, from(peer, own).SrcIs(&to))
			for bit := range 8 * n {
				other := bytes.Clone(peer)
				other[bit/8] ^= 1 << (bit % 8)
				require.False(t, from(other, own).SrcIs(&to), "bit %d of the source", bit)
				other = bytes.Clone(own)
				other[bit/8] ^= 1 << (bit % 8)
				require.False(t, from(peer, other).SrcIs(&to), "bit %d of the destination", bit)
			}
		}
	}
}

func addrOf(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestSrcIs(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		there := aTemplate(t, v6)
		var p Packet
		require.NoError(t, p.Parse(build(t, there, RCAck, 0)))
		a := Address{Src: p.DstIP(), Dst: p.SrcIP()}
		var back Template
		require.NoError(t, back.Set(a))
		assert.True(t, p.SrcIs(&back))
		assert.False(t, p.SrcIs(there))
		assert.False(t, p.SrcIs(aTemplate(t, !v6)))
		for _, other := range []Address{{Src: a.Src, Dst: a.Dst.Next()},
			{Src: a.Src.Prev(), Dst: a.Dst}} {
			require.NoError(t, back.Set(other))
			assert.False(t, p.SrcIs(&back))
		}
	}
}

func TestGRH(t *testing.T) {
	var p Packet
	dst := bytes.Repeat([]byte{0xee}, 41)
	frame := build(t, aTemplate(t, false), UDSendOnly, 4)
	require.NoError(t, p.Parse(frame))
	p.GRH(dst)
	assert.Equal(t, make([]byte, 20), dst[:20])
	assert.Equal(t, frame[14:34], dst[20:40])
	frame = build(t, aTemplate(t, true), UDSendOnly, 4)
	require.NoError(t, p.Parse(frame))
	p.GRH(dst)
	assert.Equal(t, frame[14:54], dst[:40])
	assert.Equal(t, byte(0xee), dst[40])
}

// TestCNP is the packet of A17.9.3: BECN, and 16 zero bytes behind the BTH.
func TestCNP(t *testing.T) {
	tmpl := aTemplate(t, false)
	frame := make([]byte, 128)
	ext, total := tmpl.Build(frame, Fields{Op: CNP, Flags: BECN}, 0)
	clear(frame[ext : ext+cnpLen])
	tmpl.Seal(frame[:total])
	assert.Equal(t, 74, total)
	assert.Equal(t, "8100ffff4000001100000000"+"00000000000000000000000000000000",
		hex.EncodeToString(frame[42:70]))
	var p Packet
	require.NoError(t, p.Parse(frame[:total]))
	assert.Equal(t, CNP, p.Op)
	assert.True(t, p.BTH().Congestion&BTHBECN != 0 && p.ICRC())
}

func TestSetICRC(t *testing.T) {
	var p Packet
	require.NoError(t, p.Parse(aFrame(t, 5)))
	p.BTH().PSN.Set(99)
	assert.False(t, p.ICRC())
	p.SetICRC()
	assert.True(t, p.ICRC())
}

func TestInvalidate(t *testing.T) {
	tmpl := aTemplate(t, true)
	frame := make([]byte, 256)
	ext, total := tmpl.Build(frame, Fields{Op: RCSendOnlyInv}, 8)
	View[BE32](frame[ext:]).Set(0x12345678)
	tmpl.Seal(frame[:total])
	var p Packet
	require.NoError(t, p.Parse(frame[:total]))
	assert.Equal(t, uint32(0x12345678), p.IETH())
	assert.Len(t, p.Payload(), 8)
}
