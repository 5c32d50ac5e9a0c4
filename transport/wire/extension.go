package wire

// goroce's own extension of RoCEv2 (docs/wire.md): packets with an opcode that IB table 38 leaves
// to manufacturers, between endpoints that agreed to it when they connected.
//
//	CREDIT     BTH, XCH, Credit
//	XACK       BTH, XCH, AETH, TLVs
//	XDATA      BTH, XCH, inner opcode, TLVs, extended headers and payload of the inner opcode
//	PROBE      BTH, XCH, ProbeField
//	PROBE_ACK  BTH, XCH, ProbeEcho
//	RTS        BTH, XCH, RTS
//	TOKEN      BTH, XCH, Token
//	SRC        BTH, XCH, report of a queue; from a switch

// ExtensionVersion is the version of the extension that this package speaks.
const ExtensionVersion = 1

// XCHLen is the length of the extension's common header.
const XCHLen = 4

// InnerLen is the length of what says the inner opcode of an XDATA: a byte, and three reserved.
const InnerLen = 4

// MaxTLVs is the longest area of TLVs, in bytes.
const MaxTLVs = 192

// tlvOffset is where the TLVs begin, counted from the BTH: XACK has an AETH where XDATA has the
// inner opcode.
const tlvOffset = BTHLen + XCHLen + AETHLen

// XCH is the common header of the extension's packets, behind the BTH.
type XCH []byte

// Version is that of the extension.
func (h XCH) Version() uint8 { return h[0] >> 4 }

// TLVLen is the length of the TLVs in bytes.
func (h XCH) TLVLen() int { return int(h[1]) * 4 }

// Tag is the number that the receiver of the packet chose when it connected, never 0: a packet of
// an earlier connection does not have it.
func (h XCH) Tag() uint16 { return be16(h[2:]) }

// Set writes all fields; tlvs is a multiple of 4, at most MaxTLVs.
func (h XCH) Set(tag uint16, tlvs int) {
	putBE16(h[2:], tag)
	h[0], h[1] = ExtensionVersion<<4, uint8(tlvs/4)
}

// SetInner writes the inner opcode of an XDATA into the InnerLen bytes behind its XCH.
func SetInner(b []byte, op Opcode) { putBE32(b, uint32(op)<<24) }

// extension finds the parts of a packet whose BTH is at offset at of frame, which ends before the
// ICRC: the extended headers, the payload, and the opcode that says what those are. It answers nil
// for what cannot be.
func extension(frame []byte, at int) (ext, off int, info *OpcodeInfo) {
	if len(frame) < at+tlvOffset {
		return 0, 0, nil
	}
	op, h, inner := Opcode(frame[at]), XCH(frame[at+BTHLen:]), Opcode(frame[at+BTHLen+XCHLen])
	if op < XACK || op == SRC {
		if h.Version() != ExtensionVersion || op != CREDIT && h.TLVLen() != 0 {
			return 0, 0, nil
		}
		ext, info = at+BTHLen, &opcodes[op]
		if op == Token {
			if !TokenField(frame[ext+XCHLen:]).valid() {
				return 0, 0, nil
			}
			return ext, len(frame), info
		}
		if op == CREDIT &&
			(h.TLVLen() != CreditLen ||
				!TLVs(frame[ext+XCHLen:min(ext+XCHLen+CreditLen, len(frame))]).aCredit()) {
			return 0, 0, nil
		}
		return ext, ext + int(info.Ext), info
	}
	end := at + tlvOffset + h.TLVLen()
	if h.Version() != ExtensionVersion || h.TLVLen() > MaxTLVs || end > len(frame) {
		return 0, 0, nil
	}
	if !TLVs(frame[at+tlvOffset : end]).valid(op) {
		return 0, 0, nil
	}
	if op == XACK {
		return at + BTHLen + XCHLen, end, &opcodes[XACK]
	}
	if info = &opcodes[inner]; !info.Valid || info.Kind == CNPKind {
		return 0, 0, nil
	}
	return end, end + int(info.Ext), info
}

// Inner is the opcode that an XDATA wraps, of any other packet its own.
func (p *Packet) Inner() Opcode {
	if p.Op == XDATA {
		return Opcode(p.Frame[p.BTHOff+BTHLen+XCHLen])
	}
	return p.Op
}

// XCH is the common header of a packet of the extension.
func (p *Packet) XCH() XCH { return XCH(p.Frame[p.BTHOff+BTHLen : p.BTHOff+BTHLen+XCHLen]) }

// TLVs are the TLVs of an XACK, XDATA or CREDIT.
func (p *Packet) TLVs() TLVs {
	at := int(p.BTHOff) + tlvOffset
	if p.Op == CREDIT {
		at = int(p.ExtOff) + XCHLen
	}
	return TLVs(p.Frame[at : at+p.XCH().TLVLen()])
}

// SACK is the selective acknowledgement of an XACK, nil when it has none.
func (p *Packet) SACK() SACK { return SACK(p.TLVs().Find(TLVSack)) }

// INTEcho is the telemetry that an XACK brings back, nil when it has none.
func (p *Packet) INTEcho() INTEcho { return INTEcho(p.TLVs().Find(TLVINTEcho)) }

// Timing is the timing of an XACK, nil when it has none.
func (p *Packet) Timing() Timing { return Timing(p.TLVs().Find(TLVTiming)) }

// Gap is what an XACK says of the receiver's polling beside its Timing, nil when it says nothing.
func (p *Packet) Gap() Gap {
	if g := p.TLVs().Find(TLVGap); len(g) == GapLen {
		return Gap(g)
	}
	return nil
}

// ECNEcho is the count of marks in an XACK, nil when it has none.
func (p *Packet) ECNEcho() ECNEcho { return ECNEcho(p.TLVs().Find(TLVECNEcho)) }

// BoltEcho is what an XACK says of Bolt's flags, nil when it says nothing.
func (p *Packet) BoltEcho() BoltEcho { return BoltEcho(p.TLVs().Find(TLVBoltEcho)) }

// Bolt is the flags of an XDATA, nil when it has none.
func (p *Packet) Bolt() Bolt { return Bolt(p.TLVs().Find(TLVBolt)) }

// INT is the telemetry of an XDATA, nil when it has none.
func (p *Packet) INT() INT { return INT(p.TLVs().Find(TLVInt)) }
