package gopacketroce_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
	roce "github.com/goroce/goroce/transport/wire/gopacketroce"
)

// roceFrames returns the RoCEv2 frames of all captures, without Ethernet padding.
func roceFrames(t testing.TB) (frames [][]byte) {
	names, err := filepath.Glob("../testdata/*.pcap")
	require.NoError(t, err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		r, err := pcapgo.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		for {
			frame, _, err := r.ReadPacketData()
			if err != nil {
				break
			}
			var p wire.Packet
			if p.Parse(frame) == nil {
				frames = append(frames, p.Frame)
			}
		}
	}
	require.NotEmpty(t, frames)
	return frames
}

// TestCaptures decodes every packet, compares it with wire's reading, and writes it again.
func TestCaptures(t *testing.T) {
	for _, frame := range roceFrames(t) {
		var p wire.Packet
		require.NoError(t, p.Parse(frame))
		got := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
		require.Nil(t, got.ErrorLayer(), "%v", got)
		agree(t, &p, got)
		again := serialize(t, got.Layers())[:len(frame)] // gopacket pads Ethernet to 60 bytes
		require.Equal(t, frame, again)
		again[len(again)-1] ^= 1
		require.NoError(t, roce.Seal(again))
		require.Equal(t, frame, again)
	}
}

func agree(t *testing.T, p *wire.Packet, got gopacket.Packet) {
	bth := got.Layer(roce.LayerTypeBTH).(*roce.BTH)
	require.Equal(t, p.Op, bth.Opcode)
	require.Equal(t, p.PSN, bth.PSN)
	require.Equal(t, p.DestQP, bth.DestQP)
	require.Equal(t, p.AckReq, bth.AckReq)
	require.Equal(t, p.Solicited, bth.Solicited)
	require.Equal(t, p.PKey, bth.PKey)
	i, payload := p.Op.Info(), p.Payload()
	if i.Kind == wire.Extension { // for gopacket it is all payload
		payload = p.Frame[int(p.BTHOff)+wire.BTHLen : p.End]
	}
	for layer, want := range map[gopacket.LayerType]bool{
		roce.LayerTypeRETH: i.RETH, roce.LayerTypeAETH: i.AETH, roce.LayerTypeDETH: i.DETH,
		roce.LayerTypeAtomicETH: i.AtomicETH, roce.LayerTypeAtomicAckETH: i.Kind == wire.AtomicAck,
		roce.LayerTypeImmDt: i.Imm, roce.LayerTypeIETH: i.Inv, roce.LayerTypeICRC: true,
		gopacket.LayerTypePayload: len(payload) > 0,
	} {
		require.Equal(t, want, got.Layer(layer) != nil, "%v of %v", layer, p.Op)
	}
	if l, ok := got.Layer(roce.LayerTypeAETH).(*roce.AETH); ok {
		require.Equal(t, p.AETH().Syndrome, l.Syndrome)
	}
	if l, ok := got.Layer(roce.LayerTypeImmDt).(*roce.ImmDt); ok {
		require.Equal(t, p.Imm(), l.Imm)
	}
	if a := got.ApplicationLayer(); a != nil {
		require.Equal(t, payload, a.LayerContents())
	}
}

func serialize(t *testing.T, all []gopacket.Layer) []byte {
	var out []gopacket.SerializableLayer
	for _, l := range all {
		out = append(out, l.(gopacket.SerializableLayer))
	}
	b := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{}, out...))
	return b.Bytes()
}

// TestHandMade writes a packet layer by layer, as a test of something else would.
func TestHandMade(t *testing.T) {
	b := gopacket.NewSerializeBuffer()
	ip := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolUDP,
		SrcIP: []byte{192, 0, 2, 1}, DstIP: []byte{192, 0, 2, 2}}
	udp := &layers.UDP{SrcPort: 0xc000, DstPort: wire.UDPPort}
	require.NoError(t, udp.SetNetworkLayerForChecksum(ip))
	payload := gopacket.Payload("hello")
	all := []gopacket.SerializableLayer{
		&layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6),
			EthernetType: layers.EthernetTypeIPv4},
		ip, udp,
		&roce.BTH{Opcode: wire.RCSendOnlyInv, Pad: 3, PKey: wire.DefaultPKey, DestQP: 5, PSN: 7,
			FECN:      true,
			Reserved6: 1, Reserved7: 2, MigReq: true},
		&roce.IETH{RKey: 0x1234},
		&payload,
		&roce.ICRC{Pad: 3},
	}
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	require.NoError(t, gopacket.SerializeLayers(b, options, all...))
	require.NoError(t, roce.Seal(b.Bytes()))
	var p wire.Packet
	require.NoError(t, p.Parse(b.Bytes()))
	assert.True(t, p.ICRC())
	assert.Equal(t, uint32(0x1234), p.IETH())
	assert.Equal(t, "hello", string(p.Payload()))
	assert.True(t, p.BTH().Congestion&wire.BTHFECN != 0 && p.BTH().Flags&wire.BTHMigReq != 0)
	assert.ErrorIs(t, roce.Seal(b.Bytes()[:40]), wire.ErrTruncated)
}

// TestDecodingLayerParser reads an ACK into layers that stay.
func TestDecodingLayerParser(t *testing.T) {
	var eth layers.Ethernet
	var ip layers.IPv4
	var udp layers.UDP
	var bth roce.BTH
	var aeth roce.AETH
	var rest gopacket.Payload
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &ip, &udp, &bth,
		&aeth, &rest)
	var decoded []gopacket.LayerType
	for _, frame := range roceFrames(t) {
		var p wire.Packet
		require.NoError(t, p.Parse(frame))
		if p.Op != wire.RCAck || p.V6 {
			continue
		}
		require.NoError(t, parser.DecodeLayers(frame, &decoded))
		require.Contains(t, decoded, roce.LayerTypeAETH)
		require.Equal(t, p.AETH().MSN.Get(), aeth.MSN)
	}
}

func TestTruncated(t *testing.T) {
	for _, frame := range roceFrames(t)[:50] {
		var p wire.Packet
		require.NoError(t, p.Parse(frame))
		for n := range int(p.PayloadOff-p.BTHOff) + wire.ICRCLen {
			got := gopacket.NewPacket(frame[p.BTHOff:int(p.BTHOff)+n], roce.LayerTypeBTH,
				gopacket.Default)
			require.NotNil(t, got.ErrorLayer(), "%d bytes", n)
			require.ErrorIs(t, got.ErrorLayer().Error(), roce.ErrTruncated)
		}
	}
}

// TestAlone decodes one header on its own.
func TestAlone(t *testing.T) {
	got := gopacket.NewPacket([]byte{0x60, 0, 0, 9, 'x'}, roce.LayerTypeAETH, gopacket.Default)
	assert.Equal(t, uint32(9), got.Layer(roce.LayerTypeAETH).(*roce.AETH).MSN)
	assert.Equal(t, "x", string(got.ApplicationLayer().LayerContents()))
	got = gopacket.NewPacket(make([]byte, 8), roce.LayerTypeICRC, gopacket.Default)
	assert.NotNil(t, got.ErrorLayer())
}

func FuzzDecode(f *testing.F) {
	for _, frame := range roceFrames(f)[:100] {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var p wire.Packet
		if p.Parse(frame) != nil {
			_ = gopacket.NewPacket(frame, roce.LayerTypeBTH, gopacket.Default).String()
			return
		}
		got := gopacket.NewPacket(p.Frame[p.BTHOff:], roce.LayerTypeBTH, gopacket.Default)
		require.Nil(t, got.ErrorLayer())
		agree(t, &p, got)
	})
}
