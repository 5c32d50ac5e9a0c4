package wire

// wrongHeaders returns the error in the headers before the BTH that Parse found. A frame of another
// protocol is ErrNotRoCE even if it is malformed, because another receiver may process it.
func wrongHeaders(frame []byte) error {
	if len(frame) < EthernetLen {
		return ErrTruncated
	}
	l3, etherType := EthernetLen, View[Ethernet](frame).EtherType.Get()
	if etherType == EtherTypeVLAN {
		if len(frame) < EthernetLen+vlanLen {
			return ErrTruncated
		}
		l3, etherType = EthernetLen+vlanLen, View[VLAN](frame[EthernetLen:]).EtherType.Get()
	}
	switch etherType {
	case EtherTypeIPv4:
		return wrongIPv4(frame[l3:])
	case EtherTypeIPv6:
		return wrongIPv6(frame[l3:])
	}
	return ErrNotRoCE
}

func wrongIPv4(h []byte) error {
	if len(h) < IPv4Len {
		return ErrTruncated
	}
	ip := View[IPv4](h)
	if ip.Protocol != ProtocolUDP {
		return ErrNotRoCE
	}
	if ip.VersionIHL != 0x45 || ip.isFragment() {
		return ErrIPHeader // the port is not where we could look for it
	}
	if len(h) < IPv4Len+UDPLen {
		return ErrTruncated
	}
	udp := View[UDP](h[IPv4Len:])
	if udp.DstPort.Get() != UDPPort {
		return ErrNotRoCE
	}
	if !ip.checksumOK() {
		return ErrIPHeader
	}
	return wrongLength(udp, int(ip.TotalLen.Get())-IPv4Len, len(h)-IPv4Len)
}

func wrongIPv6(h []byte) error {
	if len(h) < IPv6Len {
		return ErrTruncated
	}
	ip := View[IPv6](h)
	if ip.NextHeader != ProtocolUDP {
		return ErrNotRoCE // RoCEv2 has no extension headers
	}
	if ip.version() != 6 {
		return ErrIPHeader
	}
	if len(h) < IPv6Len+UDPLen {
		return ErrTruncated
	}
	udp := View[UDP](h[IPv6Len:])
	if udp.DstPort.Get() != UDPPort {
		return ErrNotRoCE
	}
	return wrongLength(udp, int(ip.PayloadLen.Get()), len(h)-IPv6Len)
}

// wrongLength distinguishes a truncated frame from a wrong UDP length. The IP header announces
// payload bytes behind it, of which the frame has have.
func wrongLength(udp *UDP, payload, have int) error {
	if int(udp.Len.Get()) != payload && payload <= have {
		return ErrUDPLength
	}
	return ErrTruncated
}
