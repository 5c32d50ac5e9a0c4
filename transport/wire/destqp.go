package wire

// DestQP returns the destination queue pair of a frame, which Parse need not accept. ok is false if
// the frame is not a RoCEv2 packet.
func DestQP(frame []byte) (qpn QPN, ok bool) {
	if len(frame) < EthernetLen+minIPv4 {
		return 0, false
	}
	l3, etherType := EthernetLen, be16(frame[12:])
	if etherType == EtherTypeVLAN {
		l3, etherType = EthernetLen+vlanLen, be16(frame[EthernetLen+2:])
	}
	var udp []byte
	switch h := frame[l3:]; {
	case etherType == EtherTypeIPv4 && len(h) >= minIPv4:
		if h[0] != 0x45 || View[IPv4](h).Protocol != ProtocolUDP {
			return 0, false
		}
		udp = h[IPv4Len:]
	case etherType == EtherTypeIPv6 && len(h) >= minIPv6:
		if View[IPv6](h).NextHeader != ProtocolUDP {
			return 0, false
		}
		udp = h[IPv6Len:]
	default:
		return 0, false
	}
	if View[UDP](udp).DstPort.Get() != UDPPort {
		return 0, false
	}
	return QPN(be24(udp[UDPLen+4:])), true
}
