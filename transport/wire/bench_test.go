package wire

import (
	"fmt"
	"net/netip"
	"testing"
)

// aTemplate is a flow between two documentation addresses.
func aTemplate(t testing.TB, v6 bool) *Template {
	a := Address{
		SrcMAC: [6]byte{2, 0, 0, 0, 0, 1}, DstMAC: [6]byte{2, 0, 0, 0, 0, 2},
		Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"),
		SrcPort: 0xc123, DestQP: 0x11,
	}
	if v6 {
		a.Src, a.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	}
	var tmpl Template
	if err := tmpl.Set(a); err != nil {
		t.Fatal(err)
	}
	return &tmpl
}

// aFrame is an RC SEND ONLY of that flow.
func aFrame(t testing.TB, payload int) []byte {
	tmpl := aTemplate(t, false)
	frame := make([]byte, 9216)
	ext, total := tmpl.Build(frame, Fields{Op: RCSendOnly, Flags: AckReq, PSN: 7}, payload)
	for i := range payload {
		frame[ext+i] = byte(i*7 + 3)
	}
	tmpl.Seal(frame[:total])
	return frame[:total]
}

func BenchmarkParse(b *testing.B) {
	frame := aFrame(b, 32)
	var p Packet
	for b.Loop() {
		if p.Parse(frame) != nil {
			b.Fatal("not parsed")
		}
	}
}

// BenchmarkICRC verifies packets whose payload, not frame, has the length named.
func BenchmarkICRC(b *testing.B) {
	for _, n := range []int{0, 24, 32, 64, 256, 1024, 4096, 9000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			frame := aFrame(b, n)
			var p Packet
			if p.Parse(frame) != nil {
				b.Fatal("not parsed")
			}
			b.SetBytes(int64(len(frame) - EthernetLen - ICRCLen))
			for b.Loop() {
				if !p.ICRC() {
					b.Fatal("bad ICRC")
				}
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	tmpl := aTemplate(b, false)
	frame := make([]byte, 9216)
	psn := PSN(0)
	for b.Loop() {
		tmpl.Build(frame, Fields{Op: RCSendOnly, PSN: psn}, 32)
		psn = psn.Add(1)
	}
}

// BenchmarkBuildSeal writes whole packets, without touching the payload.
func BenchmarkBuildSeal(b *testing.B) {
	for _, n := range []int{0, 32, 64, 1024, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tmpl := aTemplate(b, false)
			frame := make([]byte, 9216)
			psn := PSN(0)
			b.SetBytes(int64(n))
			for b.Loop() {
				_, total := tmpl.Build(frame, Fields{Op: RCSendOnly, PSN: psn}, n)
				tmpl.Seal(frame[:total])
				psn = psn.Add(1)
			}
		})
	}
}

func BenchmarkUpdateCRC(b *testing.B) {
	for _, n := range []int{16, 64, 1024, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := make([]byte, n)
			b.SetBytes(int64(n))
			var crc uint32
			for b.Loop() {
				crc = updateCRC(crc, p)
			}
		})
	}
}
