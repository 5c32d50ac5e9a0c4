package wire

import "github.com/goroce/goroce/internal/extension"

// goroce's own extension of RoCEv2 (docs/wire.md): packets with an opcode that IB table 38 leaves
// to manufacturers, between endpoints that agreed to it when they connected.
//
//	CREDIT     BTH, XCH, TLVs: one Credit
//	XACK       BTH, XCH, AETH, TLVs
//	XDATA      BTH, XCH, inner opcode, TLVs, extended headers and payload of the inner opcode
//	PROBE      BTH, XCH, probe field
//	PROBE_ACK  BTH, XCH, echo of a probe field
//	RTS        BTH, XCH, demand for tokens
//	TOKEN      BTH, XCH, tokens, ranges of missing packets
//	SRC        BTH, XCH, report of a queue; from a switch
//
// The bodies behind the XCH, and the TLVs, are those of package extension.

// ExtensionVersion is the version of the extension that this package implements.
const ExtensionVersion = 1

// XCHLen is the length of the extension's common header.
const XCHLen = 4

// InnerLen is the length of the inner opcode of an XDATA: one byte, and three reserved.
const InnerLen = 4

// tlvOffset is the offset of the TLVs from the BTH: XACK has an AETH where XDATA has the inner
// opcode.
const tlvOffset = BTHLen + XCHLen + AETHLen

// XCH is the common header of the extension's packets, behind the BTH.
type XCH struct {
	Version uint8 // of the extension, in the upper four bits; the others are reserved
	TLVs    uint8 // length of the TLVs in units of 4 bytes
	// Tag is the number that the receiver of the packet chose when it connected, never 0. Packets
	// of an earlier connection have another.
	Tag BE16
}

// TLVLen returns the length of the TLVs in bytes.
func (h *XCH) TLVLen() int { return int(h.TLVs) * 4 }

// Set writes all fields; tlvs is the length of the TLVs in bytes, a multiple of 4.
func (h *XCH) Set(tag uint16, tlvs int) {
	h.Version, h.TLVs = ExtensionVersion<<4, uint8(tlvs/4)
	h.Tag.Set(tag)
}

// current reports whether the packet is of the version that this package implements.
func (h *XCH) current() bool { return h.Version>>4 == ExtensionVersion }

// SetInner writes the inner opcode of an XDATA into the InnerLen bytes behind its XCH.
func SetInner(b []byte, op Opcode) { putBE32(b, uint32(op)<<24) }

// parseExtension finds the parts of a packet of the extension: the offsets of extended headers and
// payload, and the table row of the opcode that they belong to. The BTH is at offset at of frame,
// which ends before the ICRC. It returns a nil row for a malformed packet.
func parseExtension(frame []byte, at int) (ext, off int, info *OpcodeInfo) {
	if len(frame) < at+tlvOffset {
		return 0, 0, nil
	}
	op, h := Opcode(frame[at]), View[XCH](frame[at+BTHLen:])
	if op < XACK || op == SRC {
		return parseControl(frame, at, op, h)
	}
	end := at + tlvOffset + h.TLVLen()
	if !h.current() || h.TLVLen() > extension.MaxTLVs || end > len(frame) {
		return 0, 0, nil
	}
	if !extension.TLVs(frame[at+tlvOffset : end]).Valid(op == XDATA) {
		return 0, 0, nil
	}
	if op == XACK {
		return at + BTHLen + XCHLen, end, &opcodes[XACK]
	}
	inner := Opcode(frame[at+BTHLen+XCHLen])
	if info = &opcodes[inner]; !info.Valid || info.Kind == CNPKind {
		return 0, 0, nil
	}
	return end, end + int(info.Ext), info
}

// parseControl is parseExtension for the packets without AETH and inner opcode.
func parseControl(frame []byte, at int, op Opcode, h *XCH) (ext, off int, info *OpcodeInfo) {
	if !h.current() || op != CREDIT && h.TLVLen() != 0 {
		return 0, 0, nil
	}
	ext, info = at+BTHLen, &opcodes[op]
	body := frame[ext+XCHLen:]
	switch {
	case op == Token:
		if !extension.Token(body).Valid() {
			return 0, 0, nil
		}
		return ext, len(frame), info
	case op == CREDIT && (h.TLVLen() != extension.CreditLen ||
		!extension.TLVs(body[:min(extension.CreditLen, len(body))]).IsCredit()):
		return 0, 0, nil
	}
	return ext, ext + int(info.Ext), info
}

// Inner returns the opcode that an XDATA wraps, or the packet's own.
func (p *Packet) Inner() Opcode {
	if p.Op == XDATA {
		return Opcode(p.Frame[p.BTHOff+BTHLen+XCHLen])
	}
	return p.Op
}

// XCH returns the common header of a packet of the extension.
func (p *Packet) XCH() *XCH { return View[XCH](p.Frame[p.BTHOff+BTHLen:]) }

// TLVs returns the TLVs of an XACK, XDATA or CREDIT.
func (p *Packet) TLVs() []byte {
	at := int(p.BTHOff) + tlvOffset
	if p.Op == CREDIT {
		at = int(p.ExtOff) + XCHLen
	}
	return p.Frame[at : at+p.XCH().TLVLen()]
}

// Body returns what a PROBE, PROBE_ACK, RTS, TOKEN or SRC has behind its XCH.
func (p *Packet) Body() []byte { return p.Ext()[XCHLen:] }

// SwitchTLV returns the TLV of a frame that switches write into, an INT or a Bolt at the start of
// the TLVs of an XDATA, or nil if the frame has none. It looks at fixed offsets only, as a switch
// does, and changes to the TLV are changes to the frame: the ICRC does not cover its content.
func SwitchTLV(frame []byte) []byte {
	_, _, tlv := switchTLV(frame)
	return tlv
}

// switchTLV is SwitchTLV, and returns the offsets of the IP header and the BTH, too.
func switchTLV(frame []byte) (l3, bth int, tlv []byte) {
	l3 = EthernetLen
	if len(frame) < EthernetLen+vlanLen+minIPv4 {
		return 0, 0, nil
	}
	etherType := be16(frame[12:])
	if etherType == EtherTypeVLAN {
		l3, etherType = EthernetLen+vlanLen, be16(frame[EthernetLen+2:])
	}
	protocol := uint8(0)
	switch {
	case etherType == EtherTypeIPv4 && frame[l3] == 0x45:
		bth, protocol = l3+IPv4Len+UDPLen, frame[l3+9]
	case etherType == EtherTypeIPv6 && frame[l3]>>4 == 6:
		bth, protocol = l3+IPv6Len+UDPLen, frame[l3+6]
	default:
		return 0, 0, nil
	}
	at := bth + tlvOffset
	if protocol != ProtocolUDP || at >= len(frame) ||
		View[UDP](frame[bth-UDPLen:]).DstPort.Get() != UDPPort || Opcode(frame[bth]) != XDATA {
		return 0, 0, nil
	}
	h := View[XCH](frame[bth+BTHLen:])
	n := extension.WrittenLen(frame[at:])
	if !h.current() || n == 0 || n > h.TLVLen() {
		return 0, 0, nil
	}
	return l3, bth, frame[at : at+n : at+n]
}
