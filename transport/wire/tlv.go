package wire

// TLVType says what a TLV of the extension is. A receiver skips a type it does not know from
// TLVOptional on, and drops a packet with any other.
type TLVType uint8

// The types of TLVs, and the first of those that may be skipped.
const (
	TLVPad      TLVType = 0  // zeros
	TLVTiming   TLVType = 1  // in XACK: Timing
	TLVSack     TLVType = 2  // in XACK: SACK
	TLVInt      TLVType = 3  // in XDATA, first: INT
	TLVINTEcho  TLVType = 4  // in XACK: INTEcho
	TLVCredit   TLVType = 5  // in CREDIT, XACK: Credit
	TLVHost     TLVType = 7  // in XACK: Host
	TLVBolt     TLVType = 8  // in XDATA, first: Bolt
	TLVECNEcho  TLVType = 9  // in XACK: ECNEcho
	TLVBoltEcho TLVType = 10 // in XACK: BoltEcho
	TLVGrant    TLVType = 11 // in XDATA: Grant
	TLVOptional TLVType = 0x80
	TLVGap      TLVType = 0x8c // in XACK: Gap
)

// tlvHeaderLen is type and length.
const tlvHeaderLen = 2

// TLVs is an area of TLVs: each is a type, a length in units of 4 bytes that counts the whole TLV,
// and its content. They fill the area exactly, and none but TLVPad comes twice.
type TLVs []byte

// next parts the first TLV from the rest; ok is false when it does not fit.
func (t TLVs) next() (tlv []byte, rest TLVs, ok bool) {
	if len(t) < 4 {
		return nil, nil, false
	}
	n := int(t[1]) * 4
	if n == 0 || n > len(t) {
		return nil, nil, false
	}
	return t[:n:n], t[n:], true
}

// Find answers the whole TLV of a type, nil when there is none.
func (t TLVs) Find(want TLVType) []byte {
	for len(t) > 0 {
		tlv, rest, ok := t.next()
		if !ok {
			return nil
		}
		if TLVType(tlv[0]) == want {
			return tlv
		}
		t = rest
	}
	return nil
}

// valid says whether the TLVs may stand in a packet with this opcode.
func (t TLVs) valid(op Opcode) bool {
	var seen [256 / 64]uint64
	for first := true; len(t) > 0; first = false {
		tlv, rest, ok := t.next()
		if !ok {
			return false
		}
		kind := TLVType(tlv[0])
		switch {
		case kind == TLVPad:
		case kind == TLVTiming:
			ok = op == XACK && len(tlv) == TimingLen
		case kind == TLVSack:
			ok = op == XACK && SACK(tlv).valid()
		case kind == TLVINTEcho:
			ok = op == XACK && INTEcho(tlv).valid()
		case kind == TLVECNEcho:
			ok = op == XACK && len(tlv) == ECNEchoLen
		case kind == TLVBoltEcho:
			ok = op == XACK && len(tlv) == BoltEchoLen
		case kind == TLVCredit:
			ok = op == XACK && len(tlv) == CreditLen
		case kind == TLVHost:
			ok = op == XACK && len(tlv) == HostLen
		case kind == TLVBolt:
			ok = op == XDATA && first && len(tlv) == BoltLen
		case kind == TLVGrant:
			ok = op == XDATA && len(tlv) == GrantLen
		case kind == TLVInt: // first, so that a switch finds it without a search
			ok = op == XDATA && first && INT(tlv).valid()
		default:
			ok = kind >= TLVOptional
		}
		bit := uint64(1) << (kind % 64)
		if !ok || kind != TLVPad && seen[kind/64]&bit != 0 {
			return false
		}
		seen[kind/64] |= bit
		t = rest
	}
	return true
}
