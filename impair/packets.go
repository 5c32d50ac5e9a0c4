package impair

import (
	"encoding/binary"

	"github.com/goroce/goroce/transport/wire"
)

// setCE sets congestion experienced. It reports whether the packet is ECN-capable and was not
// marked.
func setCE(p *wire.Packet) bool {
	if p.ECN == wire.ECNNotECT || p.ECN == wire.ECNCE {
		return false
	}
	p.ECN = wire.ECNCE
	if p.V6 {
		p.Frame[p.L3+1] |= wire.ECNCE << 4 // the traffic class straddles two bytes
		return true
	}
	h := p.IPv4()
	h.TOS |= wire.ECNCE
	h.UpdateChecksum()
	return true
}

// cnpSize is the reserved part of a CNP (annex A17.9.3).
const cnpSize = 16

// cnpBeside returns a CNP to where p goes, as p's sender would send it.
func cnpBeside(p *wire.Packet) ([]byte, error) {
	a := wire.Address{SrcMAC: p.Ethernet().Src, DstMAC: p.Ethernet().Dst, Src: p.SrcIP(),
		Dst: p.DstIP(), SrcPort: p.SrcPort, TOS: p.DSCP << 2, TTL: p.TTL(), PKey: p.PKey,
		DestQP: p.DestQP}
	if v := p.VLAN(); v != nil {
		a.VLAN = v.TCI.Get()
	}
	var t wire.Template
	if err := t.Set(a); err != nil {
		return nil, err
	}
	frame := make([]byte, wire.MaxOverhead+cnpSize+wire.ICRCLen)
	_, total := t.Build(frame, wire.Fields{Op: wire.CNP, Flags: wire.BECN}, 0)
	t.Seal(frame[:total])
	return frame[:total], nil
}

// pauseFrame returns a PFC frame for one priority (802.1Qbb, annex 31B of 802.3).
func pauseFrame(src [6]byte, priority, quanta int) []byte {
	const minFrame = 60
	f := make([]byte, minFrame)
	copy(f, []byte{0x01, 0x80, 0xc2, 0, 0, 1})
	copy(f[6:], src[:])
	binary.BigEndian.PutUint16(f[12:], 0x8808)
	binary.BigEndian.PutUint16(f[14:], 0x0101)
	binary.BigEndian.PutUint16(f[16:], 1<<priority)
	binary.BigEndian.PutUint16(f[18+2*priority:], uint16(quanta))
	return f
}
