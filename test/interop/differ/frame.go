package differ

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/goroce/goroce/transport/wire"
)

// target is the addressing of a responder.
type target struct {
	qpn     wire.QPN
	regions [regions]struct {
		addr uint64
		key  uint32
	}
}

const sourcePort = 0xd123

// frame makes a packet a frame. The length of everything follows from the packet alone, and the
// ICRC is computed here, not by package wire: what both would get wrong would not be seen.
func (c *Case) frame(p *Packet, to *target) []byte {
	payload := p.payload()
	pad := -len(payload) & 3
	body := append(p.headers(c, to), payload...)
	body = append(body, make([]byte, pad)...)
	if cut := int(p.Spoilt[SpoilCut]); cut > 0 {
		body = body[:max(0, len(body)-cut)]
	}
	f := c.outer(p, len(body))
	f = append(f, c.bth(p, pad, to)...)
	f = append(f, body...)
	icrc := invariant(f[wire.EthernetLen:], c.V6) ^ uint32(p.Spoilt[SpoilICRC])
	return binary.LittleEndian.AppendUint32(f, icrc)
}

// payload returns the payload of a packet, which identifies its origin.
func (p *Packet) payload() []byte {
	b := make([]byte, max(0, p.Payload))
	for i := range b {
		b[i] = byte(int(p.PSN)*13+i*3+i>>8) ^ 0x5a
	}
	return b
}

// outer returns Ethernet, IP and UDP headers of a packet with n bytes behind the BTH.
func (c *Case) outer(p *Packet, n int) []byte {
	n += wire.UDPLen + wire.BTHLen + wire.ICRCLen
	source := requester[c.V6]
	if p.has(SpoilSource) {
		source = stranger[c.V6]
	}
	f := append(append([]byte{}, responderMAC[:]...), requesterMAC[:]...)
	tos := byte(p.Spoilt[SpoilTOS])
	if c.V6 {
		f = binary.BigEndian.AppendUint16(f, wire.EtherTypeIPv6)
		f = binary.BigEndian.AppendUint32(f, 6<<28|uint32(tos)<<20)
		f = binary.BigEndian.AppendUint16(f, uint16(n))
		f = append(f, wire.ProtocolUDP, 64)
	} else {
		f = binary.BigEndian.AppendUint16(f, wire.EtherTypeIPv4)
		f = append(f, 0x45, tos)
		f = binary.BigEndian.AppendUint16(f, uint16(n+wire.IPv4Len))
		f = append(f, 0, 0, 0x40, 0, 64, wire.ProtocolUDP, 0, 0)
	}
	f = append(append(f, source.AsSlice()...), responder[c.V6].AsSlice()...)
	if !c.V6 {
		ip := f[wire.EthernetLen:]
		binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	}
	port := uint16(sourcePort + p.Spoilt[SpoilUDPPort])
	f = binary.BigEndian.AppendUint16(f, port)
	f = binary.BigEndian.AppendUint16(f, wire.UDPPort)
	f = binary.BigEndian.AppendUint16(f, uint16(n+int(p.Spoilt[SpoilUDPLen])))
	return append(f, 0, 0) // no checksum: senders may leave it out (A17.3.1.2)
}

func (c *Case) bth(p *Packet, pad int, to *target) []byte {
	b := make([]byte, wire.BTHLen)
	h := wire.View[wire.BTH](b)
	h.Opcode = p.Op
	h.Flags = uint8(pad+int(p.Spoilt[SpoilPad]))<<4&wire.BTHPad |
		uint8(p.Spoilt[SpoilTVer])&wire.BTHTVer
	if p.Solicited {
		h.Flags |= wire.BTHSolicited
	}
	if p.MigReq {
		h.Flags |= wire.BTHMigReq
	}
	h.PKey.Set(wire.DefaultPKey)
	if p.has(SpoilPKey) {
		h.PKey.Set(uint16(p.Spoilt[SpoilPKey]))
	}
	h.DestQP.Set(uint32(to.qpn ^ wire.QPN(p.Spoilt[SpoilQPN])))
	h.Congestion = byte(p.Spoilt[SpoilByte4])
	h.PSN.Set(uint32(c.PSN.Add(uint32(p.PSN) & wire.PSNMask)))
	h.Ack = uint8(p.Spoilt[SpoilByte8]) &^ wire.BTHAckReq
	if p.AckReq {
		h.Ack |= wire.BTHAckReq
	}
	return b
}

// headers returns the extended headers of the opcode.
func (p *Packet) headers(c *Case, to *target) []byte {
	info := p.Op.Info()
	region := to.regions[p.Region]
	va, key := region.addr+uint64(p.Offset), region.key^uint32(p.Spoilt[SpoilKey])
	var b []byte
	if info.DETH {
		h := make([]byte, wire.DETHLen)
		wire.View[wire.DETH](h).Set(c.QKey^uint32(p.Spoilt[SpoilQKey]), requesterQPN)
		b = append(b, h...)
	}
	if info.RETH {
		h := make([]byte, wire.RETHLen)
		wire.View[wire.RETH](h).Set(va, key, p.Length)
		b = append(b, h...)
	}
	if info.AtomicETH {
		h := make([]byte, info.Ext)
		wire.View[wire.AtomicETH](h).Set(va, key, p.Operands[0], p.Operands[1])
		b = append(b, h...)
	}
	if info.AETH {
		b = binary.BigEndian.AppendUint32(b, uint32(p.Syndrome)<<24|1)
	}
	if info.Kind == wire.AtomicAck {
		b = binary.BigEndian.AppendUint64(b, p.Operands[0])
	}
	switch {
	case info.Imm:
		b = binary.BigEndian.AppendUint32(b, p.Imm)
	case info.Inv:
		b = binary.BigEndian.AppendUint32(b, key)
	case p.Op == wire.CNP:
		b = append(b, make([]byte, info.Ext)...)
	}
	return b
}

// checksum returns the checksum of an IPv4 header whose checksum field is 0.
func checksum(h []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// invariant returns the ICRC of a packet from its IP header on (IB 7.8.1, A17.3.3).
func invariant(packet []byte, v6 bool) uint32 {
	b := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, packet...)
	h, at := b[8:], []int{1, 8, 10, 11, 26, 27, 32}
	if v6 {
		h[0] |= 0x0f
		at = []int{1, 2, 3, 7, 46, 47, 52}
	}
	for _, i := range at {
		h[i] = 0xff
	}
	return crc32.ChecksumIEEE(b)
}
