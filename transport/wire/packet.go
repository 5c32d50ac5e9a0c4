package wire

import (
	"encoding/binary"
	"net/netip"
)

// ICRCLen is the length of the invariant CRC that ends every packet (IB 7.8.1, A17.3.3).
const ICRCLen = 4

// Packet is a parsed view of one received frame. Its slices and headers point into the frame and
// are valid as long as the frame's buffer.
type Packet struct {
	Frame []byte // Ethernet header … ICRC; Ethernet padding cut off

	L3         uint16 // offset of the IP header
	BTHOff     uint16 // offset of the BTH
	ExtOff     uint16 // offset of the extended headers
	PayloadOff uint16 // offset of the payload, behind the extended headers
	End        uint16 // offset of the end of the payload: the first byte of pad and ICRC

	Op        Opcode
	Pad       uint8 // bytes of pad between payload and ICRC
	DSCP      uint8 // 6 bits of IP's TOS or traffic class
	ECN       uint8 // 2 bits of IP's TOS or traffic class
	V6        bool
	AckReq    bool
	Solicited bool

	SrcPort uint16
	PKey    uint16
	DestQP  QPN
	PSN     PSN
}

// The shortest RoCEv2 packets, from the IP header on: a BTH alone.
const (
	minIPv4 = IPv4Len + UDPLen + BTHLen + ICRCLen
	minIPv6 = IPv6Len + UDPLen + BTHLen + ICRCLen
)

// Parse makes p a view of frame, after all checks that need no state (IB 9.6.1, A17.4): lengths,
// IP header, versions, the opcode's extended headers, and payload only where the opcode allows it.
// It does not verify the ICRC or the path MTU. After an error the fields of p are undefined.
//
// It is one long function because every packet passes through it; wrong.go finds the error of a
// malformed one.
func (p *Packet) Parse(frame []byte) error {
	if len(frame) < EthernetLen+minIPv4 {
		return wrongHeaders(frame)
	}
	l3, etherType := EthernetLen, be16(frame[12:])
	if etherType == EtherTypeVLAN {
		l3, etherType = EthernetLen+vlanLen, be16(frame[EthernetLen+2:])
	}
	at, end := 0, 0 // offsets of the BTH and of the end of the ICRC
	switch h := frame[l3:]; {
	case etherType == EtherTypeIPv4 && len(h) >= minIPv4:
		ip, udp := View[IPv4](h), View[UDP](h[IPv4Len:])
		total := int(ip.TotalLen.Get())
		if ip.VersionIHL != 0x45 || ip.Protocol != ProtocolUDP || ip.isFragment() ||
			udp.DstPort.Get() != UDPPort || !ip.checksumOK() ||
			total > len(h) || total < minIPv4 || int(udp.Len.Get()) != total-IPv4Len {
			return wrongHeaders(frame)
		}
		at, end = l3+IPv4Len+UDPLen, l3+total
		p.V6, p.DSCP, p.ECN, p.SrcPort = false, ip.TOS>>2, ip.TOS&3, udp.SrcPort.Get()
	case etherType == EtherTypeIPv6 && len(h) >= minIPv6:
		ip, udp := View[IPv6](h), View[UDP](h[IPv6Len:])
		total := IPv6Len + int(ip.PayloadLen.Get())
		if ip.version() != 6 || ip.NextHeader != ProtocolUDP || udp.DstPort.Get() != UDPPort ||
			total > len(h) || total < minIPv6 || int(udp.Len.Get()) != total-IPv6Len {
			return wrongHeaders(frame)
		}
		tc := ip.TrafficClass()
		at, end = l3+IPv6Len+UDPLen, l3+total
		p.V6, p.DSCP, p.ECN, p.SrcPort = true, tc>>2, tc&3, udp.SrcPort.Get()
	default:
		return wrongHeaders(frame)
	}
	if end > 0xffff {
		return ErrLength // the offsets have 16 bits
	}

	bth := (*[BTHLen]byte)(frame[at:])
	info := &opcodes[bth[0]]
	if bth[1]&BTHTVer != 0 {
		return ErrBTH
	}
	ext := at + BTHLen
	off := ext + int(info.Ext)
	if !info.Valid {
		if info.Kind != Extension {
			return ErrOpcode
		}
		if ext, off, info = parseExtension(frame[:end-ICRCLen], at); info == nil {
			return ErrExtension
		}
	}
	pad := int(bth[1] & BTHPad >> bthPadShift)
	padded := end - ICRCLen - off
	if padded < pad || padded&3 != 0 || padded > 0 && !info.Payload {
		return ErrLength
	}
	p.Frame = frame[:end:end]
	p.L3, p.BTHOff, p.ExtOff = uint16(l3), uint16(at), uint16(ext)
	p.PayloadOff, p.End, p.Pad = uint16(off), uint16(end-ICRCLen-pad), uint8(pad)
	p.Op, p.Solicited, p.PKey = Opcode(bth[0]), bth[1]&BTHSolicited != 0, be16(bth[2:])
	p.DestQP, p.AckReq, p.PSN = QPN(be24(bth[4:])), bth[8]&BTHAckReq != 0, PSN(be24(bth[8:]))
	return nil
}

// ICRC reports whether the invariant CRC is right (IB 7.8.1, A17.3.3). It does not change the
// frame.
func (p *Packet) ICRC() bool {
	end := len(p.Frame) - ICRCLen
	if p.Op == XDATA {
		return p.icrc() == le32(p.Frame[end:])
	}
	return icrc(p.Frame[p.L3:end], p.V6) == le32(p.Frame[end:])
}

// icrc returns the invariant CRC of the frame.
func (p *Packet) icrc() uint32 {
	b := p.Frame[p.L3 : len(p.Frame)-ICRCLen]
	if p.Op == XDATA {
		return icrcXDATA(b, int(p.BTHOff-p.L3), p.V6)
	}
	return icrc(b, p.V6)
}

// Ethernet returns the Ethernet header.
func (p *Packet) Ethernet() *Ethernet { return View[Ethernet](p.Frame) }

// VLAN returns the 802.1Q tag, or nil if the frame has none.
func (p *Packet) VLAN() *VLAN {
	if p.L3 == EthernetLen {
		return nil
	}
	return View[VLAN](p.Frame[EthernetLen:])
}

// IPv4 returns the IP header of a packet that is not V6.
func (p *Packet) IPv4() *IPv4 { return View[IPv4](p.Frame[p.L3:]) }

// IPv6 returns the IP header of a V6 packet.
func (p *Packet) IPv6() *IPv6 { return View[IPv6](p.Frame[p.L3:]) }

// UDP returns the UDP header.
func (p *Packet) UDP() *UDP { return View[UDP](p.Frame[p.BTHOff-UDPLen:]) }

// BTH returns the base transport header (IB 9.2).
func (p *Packet) BTH() *BTH { return View[BTH](p.Frame[p.BTHOff:]) }

// TOS returns the DSCP and ECN that the packet arrived with.
func (p *Packet) TOS() uint8 { return p.DSCP<<2 | p.ECN }

// TTL returns the hop limit that the packet arrived with.
func (p *Packet) TTL() uint8 {
	if p.V6 {
		return View[IPv6](p.Frame[p.BTHOff-UDPLen-IPv6Len:]).HopLimit
	}
	return View[IPv4](p.Frame[p.BTHOff-UDPLen-IPv4Len:]).TTL
}

// Ext returns all extended headers: of XACK the AETH and the TLVs, of XDATA those of the inner
// opcode, of other packets of the extension the XCH and the body.
func (p *Packet) Ext() []byte { return p.Frame[p.ExtOff:p.PayloadOff] }

// RETH returns the RETH of an opcode that has one (IB 9.3.3).
func (p *Packet) RETH() *RETH { return View[RETH](p.Ext()) }

// AETH returns the AETH of an opcode that has one (IB 9.3.5).
func (p *Packet) AETH() *AETH { return View[AETH](p.Ext()) }

// AtomicETH returns the AtomicETH of RCCmpSwap and RCFetchAdd (IB 9.3.4).
func (p *Packet) AtomicETH() *AtomicETH { return View[AtomicETH](p.Ext()) }

// AtomicAck returns the value that an atomic found in memory, from the AtomicAckETH behind the AETH
// of RCAtomicAck (IB 9.3.6).
func (p *Packet) AtomicAck() uint64 { return View[BE64](p.Ext()[AETHLen:]).Get() }

// DETH returns the DETH of UD (IB 9.3.2).
func (p *Packet) DETH() *DETH { return View[DETH](p.Ext()) }

// Imm returns the immediate data of an opcode that has it (IB 9.3.8).
func (p *Packet) Imm() uint32 { return View[BE32](p.Frame[p.PayloadOff-ImmDtLen:]).Get() }

// IETH returns the key to invalidate, of an opcode that has it (IB 9.3.7).
func (p *Packet) IETH() uint32 { return View[BE32](p.Frame[p.PayloadOff-iethLen:]).Get() }

// Payload returns the payload without its pad.
func (p *Packet) Payload() []byte { return p.Frame[p.PayloadOff:p.End:p.End] }

// SrcIP returns the sender's address.
func (p *Packet) SrcIP() netip.Addr {
	if p.V6 {
		return netip.AddrFrom16(p.IPv6().Src)
	}
	return netip.AddrFrom4(p.IPv4().Src)
}

// DstIP returns the receiver's address.
func (p *Packet) DstIP() netip.Addr {
	if p.V6 {
		return netip.AddrFrom16(p.IPv6().Dst)
	}
	return netip.AddrFrom4(p.IPv4().Dst)
}

// GRHLen is the length of the global route header before the payload of a received datagram
// (IB 8.3).
const GRHLen = 40

// GRH writes to dst the bytes that verbs put before a received datagram: the IPv6 header, or 20
// zero bytes and the IPv4 header (A17.4.5.1).
func (p *Packet) GRH(dst []byte) {
	dst = dst[:GRHLen]
	if p.V6 {
		copy(dst, p.Frame[p.L3:p.L3+IPv6Len])
		return
	}
	clear(dst[:GRHLen-IPv4Len])
	copy(dst[GRHLen-IPv4Len:], p.Frame[p.L3:p.L3+IPv4Len])
}

// SetICRC writes the right invariant CRC into a frame that was changed after Seal. It does not
// change pad bytes.
func (p *Packet) SetICRC() {
	binary.LittleEndian.PutUint32(p.Frame[len(p.Frame)-ICRCLen:], p.icrc())
}
