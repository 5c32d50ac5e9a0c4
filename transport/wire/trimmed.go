package wire

// ParseTrimmed makes p a view of a frame that a switch cut to its headers instead of dropping it
// (NDP, SIGCOMM 2017; the trimming of Ultra Ethernet's switches, which also changes the DSCP): its
// IP header tells of more than there is. The BTH is whole; nothing else is: there is no payload, no
// ICRC, and no view but those of Ethernet, IP, UDP and BTH has a meaning, and XCH of an XDATA. It
// answers how many bytes of payload were cut off, at most: of an XDATA its TLVs and inner headers
// count as payload.
//
// A frame that is broken in another way is an error, as in Parse; one that is whole is ErrLength.
// Nothing protects a frame without an ICRC but the check sequence of Ethernet: what comes of it
// must do no harm when it lies.
func (p *Packet) ParseTrimmed(frame []byte) (payload int, err error) {
	if err := wrongHeaders(frame); err != ErrTruncated {
		return 0, err
	}
	l3 := EthernetLen
	if len(frame) >= EthernetLen+vlanLen && View[Ethernet](frame).EtherType.Get() == EtherTypeVLAN {
		l3 += vlanLen
	}
	if len(frame) < l3+IPv4Len+UDPLen+BTHLen {
		return 0, ErrTruncated
	}
	h, at, total := frame[l3:], l3+IPv4Len, 0
	if p.V6 = h[0]>>4 == 6; p.V6 {
		if len(h) < IPv6Len+UDPLen+BTHLen {
			return 0, ErrTruncated
		}
		at = l3 + IPv6Len
		total = IPv6Len + int(View[IPv6](h).PayloadLen.Get())
		p.DSCP, p.ECN = View[IPv6](h).TrafficClass()>>2, View[IPv6](h).TrafficClass()&ECNMask
	} else {
		total = int(View[IPv4](h).TotalLen.Get())
		p.DSCP, p.ECN = View[IPv4](h).TOS>>2, View[IPv4](h).TOS&ECNMask
	}
	udp := View[UDP](frame[at:])
	switch {
	case int(udp.Len.Get()) != l3+total-at:
		return 0, ErrUDPLength
	case l3+total <= len(frame):
		return 0, ErrLength
	}
	at += UDPLen
	bth := frame[at:][:BTHLen]
	info := &opcodes[bth[0]]
	switch {
	case bth[1]&BTHTVer != 0:
		return 0, ErrBTH
	case !info.Valid && info.Kind != Extension:
		return 0, ErrOpcode
	}
	ext, pad := at+BTHLen, bth[1]&BTHPad>>bthPadShift
	if payload = l3 + total - ext - int(info.Ext) - int(pad) - ICRCLen; payload < 0 {
		return 0, ErrLength
	}
	if Opcode(bth[0]) == XDATA &&
		(len(frame) < ext+XCHLen || !View[XCH](frame[ext:]).current()) {
		return 0, ErrExtension
	}
	p.Frame = frame[:len(frame):len(frame)]
	p.L3, p.BTHOff, p.ExtOff = uint16(l3), uint16(at), uint16(ext)
	p.PayloadOff, p.End, p.Pad, p.SrcPort = p.ExtOff, p.ExtOff, pad, udp.SrcPort.Get()
	p.Op, p.Solicited, p.PKey = Opcode(bth[0]), bth[1]&BTHSolicited != 0, be16(bth[2:])
	p.DestQP, p.AckReq, p.PSN = QPN(be24(bth[4:])), bth[8]&BTHAckReq != 0, PSN(be24(bth[8:]))
	return payload, nil
}
