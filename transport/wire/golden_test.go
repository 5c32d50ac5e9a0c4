package wire

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packets returns the RoCEv2 packets of a capture. All other frames must be of other protocols.
func packets(t testing.TB, frames [][]byte) (all []Packet) {
	for _, frame := range frames {
		var p Packet
		err := p.Parse(bytes.Clone(frame))
		if err == nil {
			all = append(all, p)
		} else {
			require.ErrorIs(t, err, ErrNotRoCE, "%x", frame)
		}
	}
	return all
}

// TestGoldenOpcodes compares the opcodes in every capture with testdata/opcodes.txt.
func TestGoldenOpcodes(t *testing.T) {
	file, err := os.Open("testdata/opcodes.txt")
	require.NoError(t, err)
	defer file.Close()
	all := captures(t)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		f := strings.SplitN(lines.Text(), " ", 3)
		require.Contains(t, all, f[0])
		got := packets(t, all[f[0]])
		assert.Equal(t, f[1], fmt.Sprint(len(got)), f[0])
		assert.Equal(t, f[2], sequence(got), f[0])
		delete(all, f[0])
	}
	assert.Empty(t, all, "captures that opcodes.txt does not know")
}

// sequence describes packets as opcodes.txt does.
func sequence(packets []Packet) string {
	var words []string
	for i, n := 0, 0; i < len(packets); i += n {
		word := describe(&packets[i])
		for n = 1; i+n < len(packets) && describe(&packets[i+n]) == word; n++ {
		}
		if n > 1 {
			word += fmt.Sprintf(" x%d", n)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func describe(p *Packet) string {
	word := "<"
	if src := p.SrcIP(); src == netip.MustParseAddr("10.77.0.1") ||
		src == netip.MustParseAddr("fd77::1") {
		word = ">"
	}
	word += p.Op.String()
	if p.ECN == ECNCE {
		word += " CE"
	}
	if p.Op == RCAck {
		switch s := p.AETH().Syndrome; {
		case s.IsRNR():
			word += " RNR NAK"
		case s.IsNak():
			word += " " + s.String()
		}
	}
	return word
}

// TestGoldenFields compares every packet with gopacket's reading of it.
func TestGoldenFields(t *testing.T) {
	for name, frames := range captures(t) {
		for i, p := range packets(t, frames) {
			compare(t, &p, fmt.Sprintf("%s, packet %d", name, i))
		}
	}
}

func compare(t *testing.T, p *Packet, where string) {
	other := gopacket.NewPacket(p.Frame, layers.LayerTypeEthernet, gopacket.Default)
	eth := other.LinkLayer().(*layers.Ethernet)
	dst, src := p.Ethernet().Dst, p.Ethernet().Src
	require.Equal(t, []byte(eth.DstMAC), dst[:], where)
	require.Equal(t, []byte(eth.SrcMAC), src[:], where)
	tos := p.DSCP<<2 | p.ECN
	switch ip := other.NetworkLayer().(type) {
	case *layers.IPv4:
		require.False(t, p.V6, where)
		require.Equal(t, ip.TOS, tos, where)
		require.Equal(t, ip.Id, p.IPv4().ID.Get(), where)
		require.Equal(t, ip.TTL, p.IPv4().TTL, where)
		require.Equal(t, ip.Length, p.IPv4().TotalLen.Get(), where)
		require.Equal(t, ip.Checksum, p.IPv4().Checksum.Get(), where)
		require.Equal(t, ip.SrcIP.String(), p.SrcIP().String(), where)
		require.Equal(t, ip.DstIP.String(), p.DstIP().String(), where)
	case *layers.IPv6:
		require.True(t, p.V6, where)
		require.Equal(t, ip.TrafficClass, tos, where)
		require.Equal(t, ip.FlowLabel, p.IPv6().flowLabel(), where)
		require.Equal(t, ip.HopLimit, p.IPv6().HopLimit, where)
		require.Equal(t, ip.Length, p.IPv6().PayloadLen.Get(), where)
		require.Equal(t, ip.SrcIP.String(), p.SrcIP().String(), where)
		require.Equal(t, ip.DstIP.String(), p.DstIP().String(), where)
	}
	udp := other.TransportLayer().(*layers.UDP)
	require.Equal(t, uint16(udp.SrcPort), p.SrcPort, where)
	require.Equal(t, udp.Length, p.UDP().Len.Get(), where)
	require.Equal(t, udp.Checksum, p.UDP().Checksum.Get(), where)
	require.Equal(t, udp.Contents, p.Frame[p.BTHOff-UDPLen:p.BTHOff], where)
	require.Equal(t, udp.Payload[:BTHLen], p.Frame[p.BTHOff:p.BTHOff+BTHLen], where)
	tail := len(p.Payload()) + int(p.Pad) + ICRCLen
	require.Equal(t, udp.Payload[BTHLen:len(udp.Payload)-tail], p.Ext(), where)
	require.Equal(t, udp.Payload[len(udp.Payload)-tail:][:len(p.Payload())], p.Payload(), where)
}

// TestGoldenICRC flips every bit of every packet: those that the ICRC covers must break it, those
// that may change on the way must not.
func TestGoldenICRC(t *testing.T) {
	for name, frames := range captures(t) {
		for i, p := range packets(t, frames) {
			require.True(t, p.ICRC(), "%s, packet %d", name, i)
			for at := range p.Frame {
				for bit := range 8 {
					p.Frame[at] ^= 1 << bit
					if p.ICRC() == covered(&p, at, 1<<bit) {
						t.Fatalf("%s, packet %d: byte %d, bit %d", name, i, at, bit)
					}
					p.Frame[at] ^= 1 << bit
				}
			}
		}
	}
}

// covered reports whether the ICRC protects a bit of a frame.
func covered(p *Packet, at int, bit byte) bool {
	ip, udp, bth := at-int(p.L3), at-int(p.BTHOff)+UDPLen, at-int(p.BTHOff)
	switch {
	case ip < 0, udp == 6, udp == 7, bth == 4:
		return false
	case p.V6:
		version := ip == 0 && bit&0xf0 != 0
		return version || ip > 3 && ip != 7
	}
	return ip != 1 && ip != 8 && ip != 10 && ip != 11
}

// TestGoldenBuild writes every packet again from its fields, and finds the same bytes.
func TestGoldenBuild(t *testing.T) {
	for name, frames := range captures(t) {
		for i, p := range packets(t, frames) {
			require.Equal(t, hex.EncodeToString(p.Frame), hex.EncodeToString(rebuild(t, &p)),
				"%s, packet %d", name, i)
		}
	}
}

// rebuild writes p again from its fields, into a buffer full of something else.
func rebuild(t testing.TB, p *Packet) []byte {
	tmpl := templateOf(t, p)
	room := bytes.Repeat([]byte{0xa5}, len(p.Frame)+8)
	f := Fields{Op: p.Op,
		Flags: AckReq.When(p.AckReq) | Solicited.When(p.Solicited) |
			BECN.When(p.BTH().Congestion&BTHBECN != 0),
		PSN: p.PSN}
	ext, total := tmpl.Build(room, f, len(p.Payload()))
	require.Len(t, p.Frame, total)
	require.Equal(t, tmpl.Overhead(), ext)
	frame := room[:total]
	copy(frame[ext:], p.Ext())
	copy(frame[ext+len(p.Ext()):], p.Payload())
	if !p.V6 { // rxe counts its packets, templates write 0
		ip := View[IPv4](frame[p.L3:])
		ip.ID.Set(p.IPv4().ID.Get())
		ip.UpdateChecksum()
	}
	tmpl.Seal(frame)
	require.Equal(t, bytes.Repeat([]byte{0xa5}, 8), room[total:], "bytes behind the frame")
	return frame
}

// templateOf is the flow that p belongs to.
func templateOf(t testing.TB, p *Packet) *Template {
	a := Address{
		SrcMAC: p.Ethernet().Src, DstMAC: p.Ethernet().Dst, Src: p.SrcIP(), Dst: p.DstIP(),
		SrcPort: p.SrcPort, TOS: p.DSCP<<2 | p.ECN, PKey: p.PKey, DestQP: p.DestQP,
	}
	if vlan := p.VLAN(); vlan != nil {
		a.VLAN = vlan.TCI.Get()
	}
	if p.V6 {
		a.TTL, a.FlowLabel = p.IPv6().HopLimit, p.IPv6().flowLabel()
	} else {
		a.TTL = p.IPv4().TTL
	}
	var tmpl Template
	require.NoError(t, tmpl.Set(a))
	return &tmpl
}

// TestWorkedFrames reads two frames by hand: a SEND of one byte, and a FETCH_ADD over IPv6.
func TestWorkedFrames(t *testing.T) {
	var p Packet
	require.NoError(t, p.Parse(unhex(t, `
		52540077000252540077000108004500003078a140004011ad7f0a4d00010a4d0002c28612b7001c0000
		0430ffff0000002280100000 03000000 9f6cb585`)))
	assert.True(t, p.ICRC())
	assert.Equal(t, RCSendOnly, p.Op)
	assert.Equal(t, PSN(0x100000), p.PSN)
	assert.Equal(t, QPN(0x22), p.DestQP)
	assert.Equal(t, uint16(0xffff), p.PKey)
	assert.Equal(t, uint16(0xc286), p.SrcPort)
	assert.True(t, p.AckReq)
	assert.False(t, p.Solicited)
	assert.Equal(t, uint8(3), p.Pad)
	assert.Equal(t, []byte{3}, p.Payload())
	assert.Equal(t, 1, cap(p.Payload()))

	require.NoError(t, p.Parse(unhex(t, `
		52540077000252540077000186dd6000000000341140fd770000000000000000000000000001
		fd770000000000000000000000000002f19812b700340000
		1400ffff000000b880100000 0000563db94c4000000039cc00000000000000100000000000000000 f26d8680`)))
	assert.True(t, p.ICRC())
	assert.True(t, p.V6)
	assert.Equal(t, RCFetchAdd, p.Op)
	assert.Equal(t, QPN(0xb8), p.DestQP)
	h := p.AtomicETH()
	assert.Equal(t, uint64(0x563db94c4000), h.VA.Get())
	assert.Equal(t, uint32(0x39cc), h.RKey.Get())
	assert.Equal(t, uint64(0x10), h.SwapAdd.Get())
	assert.Zero(t, h.Compare.Get())
	assert.Empty(t, p.Payload())
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(t, err)
	return b
}

// TestKnownContents compares fields and payloads in the captures with the values that were sent.
func TestKnownContents(t *testing.T) {
	all := captures(t)
	first := func(name string) *Packet { p := packets(t, all[name]); return &p[0] }
	last := func(name string) *Packet { p := packets(t, all[name]); return &p[len(p)-1] }

	for _, name := range []string{"rc-send-imm", "rc-write-imm", "ud-send-imm", "uc-send-imm"} {
		p := first(name)
		assert.Equal(t, uint32(0xcafe0000), p.Imm(), name)
		assert.Equal(t, pattern(64, 7, 3), p.Payload(), name)
	}
	assert.Equal(t, uint32(0x11111111), first("ud-send").DETH().QKey.Get())
	assert.Equal(t, pattern(64, 11, 5), last("rc-read-only").Payload())
	assert.Equal(t, uint32(64), first("rc-read-only").RETH().Len.Get())
	assert.Equal(t, uint64(0x1122334455667788), last("rc-fetch-add").AtomicAck())
	assert.Equal(t, uint64(0xa1a2a3a4a5a6a7a8), first("rc-cmp-swap").AtomicETH().SwapAdd.Get())
	assert.Equal(t, uint64(0x1122334455667788), first("rc-cmp-swap").AtomicETH().Compare.Get())
	assert.Equal(t, uint8(26), first("rc-dscp26-ect0").DSCP)
	assert.Equal(t, uint8(ECNECT0), first("v6-tclass").ECN)
	assert.Equal(t, PSN(2), last("rc-psn-wrap").PSN)
	assert.True(t, first("rc-send-solicited").Solicited)
	nak := last("rc-rnr-exceeded").AETH().Syndrome
	assert.True(t, nak.IsRNR())
	assert.Equal(t, uint8(20), nak.Code())
}

func pattern(n, times, plus int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*times + plus)
	}
	return b
}

var parseErrors = []error{ErrNotRoCE, ErrTruncated, ErrIPHeader, ErrUDPLength, ErrBTH, ErrOpcode,
	ErrLength, ErrExtension}

// aParseError reports whether err is one of the errors of Parse, without a wrapper.
func aParseError(err error) bool {
	for _, known := range parseErrors {
		if errors.Is(err, known) {
			return err == known
		}
	}
	return false
}
