package extension

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

// TLVHeaderLen is the length of type and length.
const TLVHeaderLen = 2

// MaxTLVs is the greatest length of an area of TLVs, in bytes.
const MaxTLVs = 192

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

// Valid reports whether the TLVs are valid: in an XDATA if data, otherwise in an XACK.
func (t TLVs) Valid(data bool) bool {
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
			ok = !data && len(tlv) == TimingLen
		case kind == TLVSack:
			ok = !data && SACK(tlv).valid()
		case kind == TLVINTEcho:
			ok = !data && INTEcho(tlv).valid()
		case kind == TLVECNEcho:
			ok = !data && len(tlv) == ECNEchoLen
		case kind == TLVBoltEcho:
			ok = !data && len(tlv) == BoltEchoLen
		case kind == TLVCredit:
			ok = !data && len(tlv) == CreditLen
		case kind == TLVHost:
			ok = !data && len(tlv) == HostLen
		case kind == TLVBolt:
			ok = data && first && len(tlv) == BoltLen
		case kind == TLVGrant:
			ok = data && len(tlv) == GrantLen
		case kind == TLVInt: // first, so that a switch finds it without a search
			ok = data && first && INT(tlv).valid()
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

// SACK returns the selective acknowledgement of an XACK, or nil if there is none.
func (t TLVs) SACK() SACK { return SACK(t.Find(TLVSack)) }

// INTEcho returns the telemetry that an XACK returns, or nil if there is none.
func (t TLVs) INTEcho() INTEcho { return INTEcho(t.Find(TLVINTEcho)) }

// Timing returns the timing of an XACK, or nil if there is none.
func (t TLVs) Timing() Timing { return Timing(t.Find(TLVTiming)) }

// ECNEcho returns the count of congestion marks in an XACK, or nil if there is none.
func (t TLVs) ECNEcho() ECNEcho { return ECNEcho(t.Find(TLVECNEcho)) }

// BoltEcho returns the counts of Bolt's flags in an XACK, or nil if there is none.
func (t TLVs) BoltEcho() BoltEcho { return BoltEcho(t.Find(TLVBoltEcho)) }

// Credit returns the credits in a CREDIT or an XACK, or nil if there is none.
func (t TLVs) Credit() Credit { return Credit(t.Find(TLVCredit)) }

// Host returns the time in the receiver's program, from an XACK, or nil if there is none.
func (t TLVs) Host() Host { return Host(t.Find(TLVHost)) }

// Bolt returns Bolt's flags in an XDATA, or nil if there is none.
func (t TLVs) Bolt() Bolt { return Bolt(t.Find(TLVBolt)) }

// INT returns the telemetry in an XDATA, or nil if there is none.
func (t TLVs) INT() INT { return INT(t.Find(TLVInt)) }

// Grant returns the number of the TOKEN of an XDATA, or nil if there is none.
func (t TLVs) Grant() Grant { return Grant(t.Find(TLVGrant)) }

// Gap returns the polling gap beside the Timing of an XACK, or nil if there is none.
func (t TLVs) Gap() Gap {
	if g := t.Find(TLVGap); len(g) == GapLen {
		return Gap(g)
	}
	return nil
}
