package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/gopacket/gopacket/layers"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// packet is a RoCEv2 packet.
type packet struct {
	at       units.Time
	src, dst netip.Addr
	op       wire.Opcode
	info     *wire.OpcodeInfo
	dest     wire.QPN
	psn      wire.PSN
	payload  units.Bytes
	length   units.Bytes // of a READ request
	syndrome wire.Syndrome
	ce       bool
	becn     bool
}

// parse sets p to the RoCEv2 packet in a frame of a link type, and reports whether there is one
// whose headers the frame has.
func (p *packet) parse(link layers.LinkType, frame []byte) bool {
	etherType, ip := network(link, frame)
	var udp []byte
	switch {
	case etherType == wire.EtherTypeIPv4 && len(ip) >= wire.IPv4Len:
		header := int(ip[0]&15) * 4
		if ip[0]>>4 != 4 || header < wire.IPv4Len || len(ip) < header ||
			ip[9] != wire.ProtocolUDP || binary.BigEndian.Uint16(ip[6:])&0x1fff != 0 {
			return false
		}
		p.src, p.dst = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
		p.ce, udp = ip[1]&wire.ECNMask == wire.ECNCE, ip[header:]
	case etherType == wire.EtherTypeIPv6 && len(ip) >= wire.IPv6Len:
		if ip[0]>>4 != 6 || ip[6] != wire.ProtocolUDP {
			return false
		}
		p.src, p.dst = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
		p.ce, udp = ip[1]>>4&wire.ECNMask == wire.ECNCE, ip[wire.IPv6Len:]
	default:
		return false
	}
	if len(udp) < wire.UDPLen+wire.BTHLen ||
		binary.BigEndian.Uint16(udp[2:]) != wire.UDPPort {
		return false
	}
	return p.transport(udp[wire.UDPLen:], int(binary.BigEndian.Uint16(udp[4:]))-wire.UDPLen)
}

// transport parses the transport headers in b, a packet of size bytes of which some may be cut off.
func (p *packet) transport(b []byte, size int) bool {
	bth := wire.View[wire.BTH](b)
	p.op, p.dest, p.psn = bth.Opcode, wire.QPN(bth.DestQP.Get()), wire.PSN(bth.PSN.Get())
	p.becn = bth.Congestion&wire.BTHBECN != 0
	ext := wire.BTHLen
	if p.op == wire.XDATA || p.op == wire.XACK {
		if ext += wire.XCHLen; len(b) < ext+wire.AETHLen {
			return false
		}
	}
	p.info = p.op.Info()
	if p.op == wire.XDATA { // behind its header are the inner opcode and TLVs
		p.op = wire.Opcode(b[ext])
		p.info = p.op.Info()
		ext += wire.InnerLen + wire.View[wire.XCH](b[wire.BTHLen:]).TLVLen()
	}
	if p.info.Kind == 0 {
		return false
	}
	pad := int(bth.Flags & wire.BTHPad >> 4)
	p.payload, p.length, p.syndrome = 0, 0, 0
	if p.info.Payload {
		p.payload = units.Bytes(max(0, size-ext-int(p.info.Ext)-pad-wire.ICRCLen))
	}
	if p.info.RETH && len(b) >= ext+wire.RETHLen {
		p.length = units.Bytes(wire.View[wire.RETH](b[ext:]).Len.Get())
	}
	if p.isAck() && len(b) > ext {
		p.syndrome = wire.Syndrome(b[ext])
	}
	return true
}

// isAck reports whether the packet is an ACK or NAK.
func (p *packet) isAck() bool { return p.info.Kind == wire.Ack || p.op == wire.XACK }

// network returns the network header in a frame, and its EtherType.
func network(link layers.LinkType, frame []byte) (etherType uint16, ip []byte) {
	at := 0 // offset of the EtherType
	switch link {
	case layers.LinkTypeEthernet:
		at = 12
	case layers.LinkTypeLinuxSLL:
		at = 14
	case layers.LinkTypeLinuxSLL2:
		if len(frame) < 20 {
			return 0, nil
		}
		return binary.BigEndian.Uint16(frame), frame[20:]
	case layers.LinkTypeRaw, layers.LinkTypeIPv4, layers.LinkTypeIPv6:
		if len(frame) > 0 && frame[0]>>4 == 6 {
			return wire.EtherTypeIPv6, frame
		}
		return wire.EtherTypeIPv4, frame
	default:
		return 0, nil
	}
	const vlan, providerVLAN = 0x8100, 0x88a8
	for ; len(frame) >= at+2; at += 4 {
		etherType = binary.BigEndian.Uint16(frame[at:])
		if etherType != vlan && etherType != providerVLAN {
			return etherType, frame[at+2:]
		}
	}
	return 0, nil
}
