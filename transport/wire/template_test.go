package wire

import (
	"net/netip"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTemplateSet(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	var tmpl Template
	for name, a := range map[string]Address{
		"no addresses":   {},
		"no destination": {Src: v4},
		"two families":   {Src: v4, Dst: v6},
		"flow label":     {Src: v6, Dst: v6, FlowLabel: 1 << 20},
		"queue pair":     {Src: v4, Dst: v4, DestQP: 1 << 24},
	} {
		assert.ErrorIs(t, tmpl.Set(a), ErrAddress, name)
	}
	mapped := netip.AddrFrom16(v4.As16())
	require.NoError(t, tmpl.Set(Address{Src: mapped, Dst: v4}))
	assert.False(t, tmpl.v6)
	require.NoError(t, tmpl.Set(Address{Src: v6.WithZone("eth0"), Dst: v6}))
	assert.True(t, tmpl.v6)
	assert.LessOrEqual(t, unsafe.Sizeof(tmpl), uintptr(128))
}

func TestOverhead(t *testing.T) {
	for _, c := range []struct {
		address string
		vlan    uint16
		want    int
	}{
		{"192.0.2.1", 0, 54},
		{"192.0.2.1", 5, 58},
		{"2001:db8::1", 0, 74},
		{"2001:db8::1", 7 << 13, 78},
	} {
		var tmpl Template
		ip := netip.MustParseAddr(c.address)
		require.NoError(t, tmpl.Set(Address{Src: ip, Dst: ip, VLAN: c.vlan}))
		assert.Equal(t, c.want, tmpl.Overhead())

		// The frame parses, and rebuilds to the same bytes.
		var p Packet
		require.NoError(t, p.Parse(build(t, &tmpl, RCWriteOnlyImm, 13)))
		assert.True(t, p.ICRC())
		assert.Equal(t, c.vlan != 0, p.VLAN() != nil)
		assert.Equal(t, p.Frame, rebuild(t, &p))
	}
}

func TestTemplateDefaults(t *testing.T) {
	var p Packet
	require.NoError(t, p.Parse(build(t, aTemplate(t, false), RCAck, 0)))
	assert.Equal(t, uint8(64), p.IPv4().TTL)
	assert.Equal(t, uint16(DefaultPKey), p.PKey)
	assert.Zero(t, p.IPv4().ID.Get())
	assert.Equal(t, uint16(dontFragment), p.IPv4().Fragment.Get())
	assert.Len(t, p.Frame, 62)
}

func TestTemplateSetters(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		tmpl := aTemplate(t, v6)
		mac := [6]byte{9, 8, 7, 6, 5, 4}
		tmpl.SetDstMAC(mac)
		tmpl.SetDestQP(0xabcdef)
		var p Packet
		require.NoError(t, p.Parse(build(t, tmpl, RCAck, 0)))
		assert.Equal(t, mac, p.Ethernet().Dst)
		assert.Equal(t, QPN(0xabcdef), p.DestQP)
		assert.True(t, p.ICRC())
	}
}

// TestAllocations: nothing on the way of a packet, in or out, allocates.
func TestAllocations(t *testing.T) {
	frame := aFrame(t, 100)
	room, long, payload := make([]byte, 256), make([]byte, 2048), make([]byte, 1024)
	tmpl := aTemplate(t, false)
	bad := []byte{1, 2, 3}
	for name, f := range map[string]func(){
		"Parse": func() {
			var p Packet
			_ = p.Parse(frame)
			_ = p.ICRC() && p.SrcIs(tmpl)
			_, _ = p.Payload(), p.SrcIP()
		},
		"error": func() { var p Packet; _ = p.Parse(bad) },
		"Build": func() {
			ext, total := tmpl.Build(room, Fields{Op: RCWriteOnly}, 100)
			View[RETH](room[ext:]).Set(1, 2, 3)
			tmpl.Seal(room[:total])
		},
		"SealCopy": func() {
			ext, total := tmpl.Build(long, Fields{Op: RCSendOnly}, 1024)
			tmpl.SealCopy(long[:total], ext, payload)
		},
		"generic ICRC": func() { icrcGeneric(frame[14:], false) },
		"updateCRC":    func() { updateCRC(1, frame) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}
