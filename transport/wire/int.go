package wire

import "github.com/goroce/goroce/units"

// MaxINTRecords is how many switches can write into one packet.
const MaxINTRecords = 7

// intHeaderLen is what an INT has before its records.
const intHeaderLen = 4

// intRecordLen is the length of a record.
const intRecordLen = 16

// MaxINTLen is the length of an INT with room for as many records as there may be.
const MaxINTLen = intHeaderLen + MaxINTRecords*intRecordLen

// intRateUnit is what the rate of a record counts in.
const intRateUnit = 100 * units.Mbps

// INTLen is the length of an INT with room for n records.
func INTLen(n int) int { return intHeaderLen + n*intRecordLen }

// INT is the TLV of in-band network telemetry: the sender leaves room, and each switch that the
// packet leaves fills one record (HPCC). The ICRC takes all of it behind type and length
// as ones.
type INT []byte

// INTRecord is what a switch says of the port that a packet leaves by, at that moment.
type INTRecord struct {
	Port  uint16        // which port, of which switch
	Rate  units.BitRate // of the link; on the wire in steps of 100 Mb/s
	Time  units.Time    // of the switch's clock; on the wire nanoseconds mod 2³²
	Sent  units.Bytes   // by the port since it came up; on the wire mod 2³²
	Queue units.Bytes   // behind the packet; on the wire at most 2³²−1
}

// Nanoseconds is the time as it is on the wire.
func (r INTRecord) Nanoseconds() uint32 { return uint32(r.Time.Sub(0) / units.Nanosecond) }

// Init makes a TLV without records: t is INTLen(n) long, n at most MaxINTRecords.
func (t INT) Init(n int) {
	clear(t)
	t[0], t[1], t[3] = uint8(TLVInt), uint8(INTLen(n)/4), uint8(n)
}

// Filled is how many records switches have written.
func (t INT) Filled() int { return int(t[2]) }

// Fits is how many records there is room for.
func (t INT) Fits() int { return int(t[3]) }

// Record answers record i.
func (t INT) Record(i int) INTRecord {
	return intRecord(t[intHeaderLen+i*intRecordLen:][:intRecordLen])
}

func intRecord(b []byte) INTRecord {
	return INTRecord{
		Port: be16(b), Rate: units.BitRate(be16(b[2:])) * intRateUnit,
		Time: units.Time(0).Add(units.Duration(be32(b[4:])) * units.Nanosecond),
		Sent: units.Bytes(be32(b[8:])), Queue: units.Bytes(be32(b[12:])),
	}
}

// add writes the next record; false when there is no room.
func (t INT) add(r INTRecord) bool {
	i := t.Filled()
	if i >= t.Fits() {
		return false
	}
	b := t[intHeaderLen+i*intRecordLen:][:intRecordLen]
	putBE16(b, r.Port)
	putBE16(b[2:], uint16(min(r.Rate/intRateUnit, 0xffff)))
	putBE32(b[4:], r.Nanoseconds())
	putBE32(b[8:], uint32(r.Sent))
	putBE32(b[12:], uint32(min(r.Queue, 0xffffffff)))
	t[2]++
	return true
}

func (t INT) valid() bool {
	return t.Fits() <= MaxINTRecords && len(t) == INTLen(t.Fits()) && t.Filled() <= t.Fits()
}

// writtenLen answers how long the TLV is that b begins with when switches write into it: INT and
// Bolt. 0 is another one, or none.
func writtenLen(b []byte) int {
	if len(b) < intHeaderLen {
		return 0
	}
	n := int(b[1]) * 4
	switch {
	case n > len(b):
	case TLVType(b[0]) == TLVInt && n >= intHeaderLen && n <= MaxINTLen:
		return n
	case TLVType(b[0]) == TLVBolt && n == BoltLen:
		return n
	}
	return 0
}

// findTLV answers the TLV of a type that switches write, where it stands in a frame, and where the
// IP header and the BTH begin; nil when the frame is no XDATA that begins with one. It looks at
// fixed places only, and checks nothing that a switch would not.
func findTLV(frame []byte, kind TLVType) (l3, bth int, tlv []byte) {
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
		View[UDP](frame[bth-UDPLen:]).DstPort.Get() != UDPPort ||
		Opcode(frame[bth]) != XDATA || XCH(frame[bth+BTHLen:]).Version() != ExtensionVersion ||
		TLVType(frame[at]) != kind {
		return 0, 0, nil
	}
	n := writtenLen(frame[at:])
	if n == 0 || n > XCH(frame[bth+BTHLen:]).TLVLen() {
		return 0, 0, nil
	}
	return l3, bth, frame[at : at+n : at+n]
}

// StampINT writes a record into a frame that leaves a switch, where it stands, and says whether it
// did: the frame is an XDATA whose INT has room. Nothing else of the frame changes, also not its
// ICRC.
func StampINT(frame []byte, r INTRecord) bool {
	_, _, b := findTLV(frame, TLVInt)
	t := INT(b)
	return t != nil && t.valid() && t.add(r)
}
