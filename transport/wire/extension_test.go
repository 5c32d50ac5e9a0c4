package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

// anXACK is an ACK with a SACK of 32 bits, the first and the last set.
func anXACK(t testing.TB, v6 bool) []byte {
	frame := make([]byte, 256)
	ext, total := aTemplate(t, v6).Build(frame, Fields{Op: XACK, PSN: 7}, extension.SACKLen(32))
	View[XCH](frame[ext:]).Set(0x1234, extension.SACKLen(32))
	View[AETH](frame[ext+XCHLen:]).Set(SyndromeAck, 2)
	s := extension.SACK(frame[ext+XCHLen+AETHLen:])
	s.Init(32)
	s.SetBits(0, 1|1<<31)
	aTemplate(t, v6).Seal(frame[:total])
	return frame[:total]
}

// anXDATA wraps a packet with payload bytes of payload and room for records, none when 0.
func anXDATA(t testing.TB, v6 bool, inner Opcode, records, payload int) []byte {
	return wrap(aTemplate(t, v6), inner, records, payload)
}

func wrap(tmpl *Template, inner Opcode, records, payload int) []byte {
	frame := make([]byte, 9216)
	tlvs := 0
	if records > 0 {
		tlvs = extension.INTLen(records)
	}
	ext, total := tmpl.Build(frame, Fields{Op: XDATA, PSN: 7}, tlvs+int(inner.Info().Ext)+payload)
	View[XCH](frame[ext:]).Set(0x1234, tlvs)
	SetInner(frame[ext+XCHLen:], inner)
	if records > 0 {
		extension.INT(frame[ext+XCHLen+InnerLen:][:tlvs]).Init(records)
	}
	tmpl.Seal(frame[:total])
	return frame[:total]
}

// TestWorkedXACK is an ACK of 0x100003 that says: 0x100004 and 6 are missing, 5, 7 and 8 are here;
// and times the last of them.
func TestWorkedXACK(t *testing.T) {
	const ethernet = "0200000000020200000000010800"
	frame := unhex(t, ethernet+`
		4500004c00004000401126050a4d00010a4d0002 c28612b700380000 c500ffff0000002200100003
		10061234 1f000002 02020020b0000000 01043e0110000801 00000352 01020304 1b1cbc92`)
	var p Packet
	require.NoError(t, p.Parse(frame))
	assert.True(t, p.ICRC())
	assert.Equal(t, XACK, p.Op)
	assert.Equal(t, PSN(0x100003), p.PSN)
	assert.Equal(t, uint16(0x1234), p.XCH().Tag.Get())
	assert.Equal(t, 24, p.XCH().TLVLen())
	assert.Equal(t, SyndromeAck, p.AETH().Syndrome)
	assert.Equal(t, uint32(2), p.AETH().MSN.Get())
	assert.Equal(t, 32, extension.TLVs(p.TLVs()).SACK().Len())
	assert.Equal(t, uint32(1|1<<2|1<<3), extension.TLVs(p.TLVs()).SACK().Bits(0))
	assert.Len(t, extension.TLVs(p.TLVs()).Find(extension.TLVTiming), extension.TimingLen)
	assert.Empty(t, p.Payload())

	tmpl := templateOf(t, &p)
	room := make([]byte, 128)
	ext, total := tmpl.Build(room, Fields{Op: XACK, PSN: 0x100003}, 24)
	View[XCH](room[ext:]).Set(0x1234, 24)
	View[AETH](room[ext+4:]).Set(SyndromeAck, 2)
	s := extension.SACK(room[ext+8:][:extension.SACKLen(32)])
	s.Init(32)
	s.SetBits(0, 1|1<<2|1<<3)
	copy(room[ext+16:], extension.TLVs(p.TLVs()).Find(extension.TLVTiming))
	tmpl.Seal(room[:total])
	assert.Equal(t, hex.EncodeToString(frame), hex.EncodeToString(room[:total]))
}

func TestXDATAIsItsInnerPacket(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, records := range []int{0, 1, extension.MaxINTRecords} {
			for _, inner := range []Opcode{RCSendMiddle, RCWriteOnlyImm, RCReadRequest,
				RCReadResponseOnly, RCFetchAdd} {
				payload := 50
				if !inner.Info().Payload {
					payload = 0
				}
				var p Packet
				require.NoError(t, p.Parse(anXDATA(t, v6, inner, records, payload)))
				require.True(t, p.ICRC())
				require.Equal(t, XDATA, p.Op)
				require.Equal(t, inner, p.Inner())
				require.Len(t, p.Payload(), payload)
				require.Len(t, p.Ext(), int(inner.Info().Ext))
				require.Equal(t, records > 0, extension.TLVs(p.TLVs()).INT() != nil)
				views(t, &p)
			}
		}
	}
}

// TestBadExtensions has the ways in which a packet of the extension can be wrong before anybody
// looks at its ICRC.
func TestBadExtensions(t *testing.T) {
	const xch = 14 + 20 + 8 + 12
	const tlv = xch + 8
	ack, data := anXACK(t, false), anXDATA(t, false, RCWriteOnly, 2, 64)
	plain := anXDATA(t, false, RCSendOnly, 0, 64)
	bolt, credit := aBolt(t, false, extension.BoltINC, 64), aCredit(t, false)
	src := BuildSRC(make([]byte, maxSRC), bolt, 0, extension.QueueReport{}.Bytes())
	shorten := func(n int) func([]byte) []byte { // with an IP and a UDP header to match
		return func(f []byte) []byte {
			f = f[:len(f)-n]
			View[IPv4](f[14:34]).TotalLen.Set(uint16(len(f) - 14))
			View[UDP](f[34:]).Len.Set(uint16(len(f) - 34))
			return checksum(f)
		}
	}
	for _, c := range []struct {
		name  string
		frame []byte
		spoil func([]byte) []byte
		want  error
	}{
		{"XACK", ack, put(0), nil},
		{"XDATA", data, put(0), nil},
		{"XDATA without TLVs", plain, put(0), nil},
		{"a type that may be skipped", ack, put(tlv, 0x80), nil},
		{"pad", ack, put(tlv, 0), nil},
		{"another version", ack, put(xch, 0x20), ErrExtension},
		{"reserved bits", ack, put(xch, 0x1f), nil},
		{"reserved bytes of the inner opcode", data, put(xch+5, 1, 2, 3), nil},
		{"no room for XCH", ack, shorten(16), ErrExtension},
		{"no room for what follows XCH", ack, shorten(12), ErrExtension},
		{"more TLVs than there is room for", ack, put(xch+1, 3), ErrExtension},
		{"fewer TLVs than the packet has: bytes are left", ack, put(xch+1, 0), ErrLength},
		{"more TLVs than there may be", plain, put(xch+1, 49), ErrExtension},
		{"a TLV of length 0", ack, put(tlv+1, 0), ErrExtension},
		{"a TLV longer than the area", ack, put(tlv+1, 3), ErrExtension},
		{"a TLV shorter than the area", ack, put(tlv, 0x80, 1), ErrExtension},
		{"a type that must be known", ack, put(tlv, 0x7f), ErrExtension},
		{"a type twice", ack, put(tlv, 0x81, 1, 0, 0, 0x81, 1), ErrExtension},
		{"two types", ack, put(tlv, 0x81, 1, 0, 0, 0x82, 1), nil},
		{"pad twice", ack, put(tlv, 0, 1, 0, 0, 0, 1), nil},
		{"SACK of no bits", ack, put(tlv+2, 0, 0), ErrExtension},
		{"SACK of 31 bits", ack, put(tlv+2, 0, 31), ErrExtension},
		{"SACK of 64 bits in 32", ack, put(tlv+2, 0, 64), ErrExtension},
		{"SACK in XDATA", data, put(tlv, 2), ErrExtension},
		{"INT in XACK", ack, put(tlv, 3, 2, 0, 0), ErrExtension},
		{"INT with more room than it has", data, put(tlv+3, 3), ErrExtension},
		{"INT with more records than room", data, put(tlv+2, 3), ErrExtension},
		{"INT that is not first", data, put(tlv, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3,
			5, 0, 1), ErrExtension},
		{"timing of a wrong length", ack, put(tlv, 1), ErrExtension},
		{"INT echo of nothing", ack, put(tlv, 4, 2, 0), nil},
		{"INT echo that does not hold its records", ack, put(tlv, 4, 2, 1), ErrExtension},
		{"INT echo in XDATA", data, put(tlv, 4), ErrExtension},
		{"ECN echo", ack, put(tlv, 9, 2), nil},
		{"ECN echo of a wrong length", ack, put(tlv, 9, 1, 0, 0, 0, 1, 0, 0), ErrExtension},
		{"ECN echo in XDATA", data, put(tlv, 9, 2), ErrExtension},
		{"Bolt", bolt, put(0), nil},
		{"Bolt of a wrong length", plain, chain(put(xch+1, 2), put(tlv, 8, 2)), ErrExtension},
		{"Bolt that is not first", bolt, chain(put(xch+1, 4), put(tlv, 0, 1, 0, 0, 8, 3)),
			ErrExtension},
		{"Bolt in an XACK", ack, put(tlv, 8, 2), ErrExtension},
		{"Bolt echo of a wrong length", ack, put(tlv, 10, 2), ErrExtension},
		{"Bolt echo in XDATA", bolt, put(tlv, 10), ErrExtension},
		{"SRC", src, put(0), nil},
		{"SRC with TLVs", src, put(xch+1, 1), ErrExtension},
		{"SRC of another version", src, put(xch, 0x20), ErrExtension},
		{"SRC that is cut", src, shorten(4), ErrLength},
		{"SRC with bytes behind it", anXACK(t, false), put(xch-12, 0xc7, 0, 0xff, 0xff, 0, 0, 0, 1,
			0, 0, 0, 1, 0x10, 0), ErrLength},
		{"CREDIT", credit, put(0), nil},
		{"CREDIT without its TLV", credit, put(xch+1, 0), ErrExtension},
		{"CREDIT with more TLVs than there is room for", credit, put(xch+1, 5), ErrExtension},
		{"CREDIT with another TLV", credit, put(xch+4, 0x80), ErrExtension},
		{"CREDIT with a TLV of a wrong length", credit, put(xch+5, 3), ErrExtension},
		{"CREDIT with two TLVs", credit, put(xch+5, 2, 0, 0, 0, 0, 0, 0, 5, 2), ErrExtension},
		{"CREDIT of another version", credit, put(xch, 0x20), ErrExtension},
		{"CREDIT that is cut", credit, shorten(4), ErrExtension},
		{"credit and host in an XACK", aCreditOnXACK(t, false), put(0), nil},
		{"credit of a wrong length", ack, put(tlv, 5), ErrExtension},
		{"credit in XDATA", data, put(tlv, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 5),
			ErrExtension},
		{"host of a wrong length", ack, put(tlv, 7), ErrExtension},
		{"host in XDATA", data, put(tlv, 7, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 6),
			ErrExtension},
		{"pad bytes on an XACK", ack, put(xch-11, 0x10), ErrLength},
		{"inner opcode nobody knows", data, put(xch+4, 0x15), ErrExtension},
		{"inner CNP", data, put(xch+4, uint8(CNP)), ErrExtension},
		{"inner XDATA", data, put(xch+4, uint8(XDATA)), ErrExtension},
		{"inner ACK with payload", data, put(xch+4, uint8(RCAck)), ErrLength},
		{"inner header that does not fit", anXDATA(t, false, RCSendOnly, 0, 8),
			put(xch+4, uint8(RCFetchAdd)), ErrLength},
		{"an opcode that is reserved for the extension", ack, put(xch-12, 0xdf), ErrOpcode},
	} {
		var p Packet
		assert.Equal(t, c.want, p.Parse(c.spoil(bytes.Clone(c.frame))), c.name)
	}
}

func TestSACKBits(t *testing.T) {
	s := extension.SACK(make([]byte, extension.SACKLen(64)))
	s.Init(64)
	s.SetBits(0, 1)
	s.SetBits(1, 1<<1|1<<31)
	assert.Equal(t, "02030040"+"80000000"+"40000001", hex.EncodeToString(s))
	assert.Equal(t, uint32(1<<1|1<<31), s.Bits(1))
	assert.Equal(t, 64, s.Top())
	s.SetBits(1, 0)
	assert.Equal(t, 1, s.Top())
	s.SetBits(0, 0)
	assert.Equal(t, 0, s.Top())
	s.SetBits(1, 1<<31)
	assert.True(t, extension.TLVs(s).Valid(false))
	s.SetBits(0, 1<<3)
	assert.Equal(t, uint64(1<<3|1<<63), s.Word(0))
	odd := extension.SACK(make([]byte, extension.SACKLen(96)))
	odd.Init(96)
	odd.SetBits(2, 1<<5)
	assert.Zero(t, odd.Word(0))
	assert.Equal(t, uint64(1<<5), odd.Word(1), "the second half is not there")
}

// TestStampINT lets switches write into a packet until it is full.
func TestStampINT(t *testing.T) {
	record := extension.INTRecord{Port: 0x0102, Rate: 400 * units.Gbps,
		Time: units.Time(0).Add(0x01020304 * units.Nanosecond),
		Sent: 0x1_0000_0005, Queue: 77}
	onTheWire := record
	onTheWire.Sent = 5 // mod 2³²
	var tagged Template
	require.NoError(t,
		tagged.Set(Address{Src: sourceOf(aTemplate(t, false)),
			Dst: sourceOf(aTemplate(t, false)).Next(), VLAN: 5}))
	for _, frame := range [][]byte{
		anXDATA(t, false, RCSendOnly, 2, 64), anXDATA(t, true, RCWriteOnly, 2, 9), wrap(&tagged,
			RCSendOnly, 2, 64),
	} {
		sealed := bytes.Clone(frame[len(frame)-ICRCLen:])
		require.True(t, extension.Stamp(SwitchTLV(frame), record))
		require.True(t,
			extension.Stamp(SwitchTLV(frame), extension.INTRecord{Port: 9, Rate: 1 << 50,
				Queue: 1 << 40}))
		full := bytes.Clone(frame)
		require.False(t, extension.Stamp(SwitchTLV(frame), record), "no room for a third")
		require.Equal(t, full, frame)
		require.Equal(t, sealed, frame[len(frame)-ICRCLen:])
		var p Packet
		require.NoError(t, p.Parse(frame))
		require.True(t, p.ICRC(), "the ICRC does not cover what switches write")
		require.Equal(t, 2, extension.TLVs(p.TLVs()).INT().Filled())
		require.Equal(t, onTheWire, extension.TLVs(p.TLVs()).INT().Record(0))
		require.Equal(t, extension.INTRecord{Port: 9, Rate: 0xffff * (100 * units.Mbps),
			Queue: 0xffffffff},
			extension.TLVs(p.TLVs()).INT().Record(1))
		for at := int(p.BTHOff); at < len(frame); at++ { // every other byte behind is covered
			frame[at] ^= 1
			inside := at >= int(p.BTHOff)+tlvOffset+extension.TLVHeaderLen && at < int(p.ExtOff)
			require.Equal(t, inside || at == int(p.BTHOff)+4, p.ICRC(), "byte %d", at-int(p.BTHOff))
			frame[at] ^= 1
		}
	}
	for name, frame := range map[string][]byte{
		"a SEND": aFrame(t, 64), "no INT": anXDATA(t, false, RCSendOnly, 0, 64), "XACK": anXACK(t,
			true), "short": make([]byte, 20),
	} {
		before := bytes.Clone(frame)
		require.False(t, extension.Stamp(SwitchTLV(frame), record), name)
		require.Equal(t, before, frame, name)
	}
	frame := anXDATA(t, false, RCSendOnly, extension.MaxINTRecords, 64)
	require.Zero(t, testing.AllocsPerRun(extension.MaxINTRecords, func() {
		extension.Stamp(SwitchTLV(frame), record)
	}))
}

func TestOfferOnTheWire(t *testing.T) {
	o := Offer{Highest: 2, Lowest: 1, Tag: 0x1234, Features: FeatureSACK, SACKBits: 512,
		LineShift: 6, Credits: 0x01020304}
	b := o.Append(nil)
	assert.Equal(t, "47525831"+"0201"+"1234"+"00000010"+"0200"+"0006"+"01020304"+"00000000",
		hex.EncodeToString(b))
	got, err := ParseOffer(append(b, 1, 2, 3)) // a later version's
	require.NoError(t, err)
	assert.Equal(t, o, got)
	for name, bad := range map[string][]byte{
		"nothing": nil, "short": b[:23], "another magic": append([]byte("GRX2"), b[4:]...),
		"version 0": chain(put(4, 1, 0))(bytes.Clone(b)), "lowest above highest": put(4, 1,
			2)(bytes.Clone(b)),
		"tag 0": put(6, 0, 0)(bytes.Clone(b)),
	} {
		_, err := ParseOffer(bad)
		assert.ErrorIs(t, err, ErrOffer, name)
	}
	text, err := json.Marshal(o)
	require.NoError(t, err)
	var back Offer
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, o, back)
	assert.ErrorIs(t, back.UnmarshalText([]byte("xyz")), ErrOffer)
}

func TestAgree(t *testing.T) {
	base := Offer{Highest: 1, Lowest: 1, Tag: 0x1111, Features: FeatureSACK, SACKBits: 512}
	with := func(change func(*Offer)) Offer {
		o := base
		o.Tag = 0x2222
		change(&o)
		return o
	}
	agreed := func(bits uint16) Agreement {
		return Agreement{Features: FeatureSACK, SendTag: 0x2222, RecvTag: 0x1111, SACKBits: bits}
	}
	for _, c := range []struct {
		name   string
		theirs Offer
		want   Agreement
	}{
		{"the same", with(func(*Offer) {}), agreed(512)},
		{"a peer without the extension", Offer{}, Agreement{}},
		{"a newer peer that still speaks ours", with(func(o *Offer) {
			o.Highest = 9
		}), agreed(512)},
		{"a newer peer that does not", with(func(o *Offer) {
			o.Highest, o.Lowest = 9, 2
		}), Agreement{}},
		{"no feature in common", with(func(o *Offer) { o.Features = 32 }), Agreement{}},
		{"more features than ours", with(func(o *Offer) { o.Features |= 32 }), agreed(512)},
		{"a smaller window", with(func(o *Offer) { o.SACKBits = 64 }), agreed(64)},
		{"a window that is no multiple of 32", with(func(o *Offer) {
			o.SACKBits = 95
		}), agreed(64)},
		{"a larger window", with(func(o *Offer) { o.SACKBits = 4096 }), agreed(512)},
		{"no window", with(func(o *Offer) { o.SACKBits = 31 }), Agreement{}},
		{"credits, of which we know nothing", with(func(o *Offer) {
			o.Features |= FeatureCredit
			o.LineShift = 6
			o.Credits = 1
		}), agreed(512)},
	} {
		got := Agree(base, c.theirs)
		assert.Equal(t, c.want, got, c.name)
		back := Agree(c.theirs, base)
		back.SendTag, back.RecvTag = back.RecvTag, back.SendTag
		assert.Equal(t, got, back, "%s, seen by the peer", c.name)
	}
	old := base
	old.Lowest, old.Highest = 2, 3
	assert.Zero(t, Agree(old, base), "ours is too new")
}
