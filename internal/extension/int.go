package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

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
		Port: binary.BigEndian.Uint16(b), Rate: units.BitRate(binary.BigEndian.Uint16(b[2:])) *
			intRateUnit,
		Time:  units.Time(0).Add(units.Duration(binary.BigEndian.Uint32(b[4:])) * units.Nanosecond),
		Sent:  units.Bytes(binary.BigEndian.Uint32(b[8:])),
		Queue: units.Bytes(binary.BigEndian.Uint32(b[12:])),
	}
}

// add writes the next record; false when there is no room.
func (t INT) add(r INTRecord) bool {
	i := t.Filled()
	if i >= t.Fits() {
		return false
	}
	b := t[intHeaderLen+i*intRecordLen:][:intRecordLen]
	binary.BigEndian.PutUint16(b, r.Port)
	binary.BigEndian.PutUint16(b[2:], uint16(min(r.Rate/intRateUnit, 0xffff)))
	binary.BigEndian.PutUint32(b[4:], r.Nanoseconds())
	binary.BigEndian.PutUint32(b[8:], uint32(r.Sent))
	binary.BigEndian.PutUint32(b[12:], uint32(min(r.Queue, 0xffffffff)))
	t[2]++
	return true
}

func (t INT) valid() bool {
	return t.Fits() <= MaxINTRecords && len(t) == INTLen(t.Fits()) && t.Filled() <= t.Fits()
}

// WrittenLen returns the length of the TLV at the start of b if switches write into it, as into an
// INT or a Bolt, otherwise 0.
func WrittenLen(b []byte) int {
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

// Stamp writes the next record into an INT. It returns false if tlv is not an INT or has no room.
func Stamp(tlv []byte, r INTRecord) bool {
	t := INT(tlv)
	return len(t) > 0 && TLVType(t[0]) == TLVInt && t.valid() && t.add(r)
}
