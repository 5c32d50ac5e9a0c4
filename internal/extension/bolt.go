package extension

import (
	"encoding/binary"

	"github.com/goroce/goroce/units"
)

// Bolt's part of the extension (Arslan et al., NSDI 2023). A sender writes flags into each data
// packet, switches change them, and their sum comes back with the ACKs; a switch with a queue tells
// the sender itself (SRC).

// BoltFlags are what sender and switches write into a Bolt TLV.
type BoltFlags uint8

// The flags.
const (
	BoltFirst BoltFlags = 1  // of the flow's first window: no switch lets it increase
	BoltLast  BoltFlags = 2  // of the last window: its bandwidth is about to be free
	BoltINC   BoltFlags = 4  // another window follows; still there at the end: one packet more
	BoltDEC   BoltFlags = 8  // a queue was met
	BoltAI    BoltFlags = 16 // once a round trip: additive increase
)

// QueueReport is what a switch says of a queue that is too long.
type QueueReport struct {
	Drain units.Duration // until the queue would be empty; on the wire nanoseconds, at most 2³²−1
	Rate  units.BitRate  // of the link; on the wire in steps of 100 Mb/s
}

// QueueReportLen is the length of a report on the wire: rate, drain.
const QueueReportLen = 6

// Bytes returns the report as it is on the wire.
func (r QueueReport) Bytes() (b [QueueReportLen]byte) {
	r.put(b[:])
	return b
}

func (r QueueReport) put(b []byte) {
	binary.BigEndian.PutUint16(b, uint16(min(r.Rate/intRateUnit, 0xffff)))
	binary.BigEndian.PutUint32(b[2:], uint32(min(r.Drain/units.Nanosecond, 0xffffffff)))
}

// Report returns the report of an SRC, from the body behind its XCH.
func Report(body []byte) QueueReport { return queueReport(body[2:]) }

func queueReport(b []byte) QueueReport {
	return QueueReport{Drain: units.Duration(binary.BigEndian.Uint32(b[2:])) * units.Nanosecond,
		Rate: units.BitRate(binary.BigEndian.Uint16(b)) * intRateUnit}
}

// BoltLen is the length of a Bolt.
const BoltLen = 12

// Bolt is the TLV of a data packet of a flow that Bolt controls: flags, whom a switch may tell, and
// the longest queue so far. The ICRC takes all of it behind type and length as ones.
type Bolt []byte

// Set writes the whole TLV; sender is the queue pair that switches may tell.
func (t Bolt) Set(flags BoltFlags, sender uint32) {
	binary.BigEndian.PutUint32(t,
		uint32(TLVBolt)<<24|BoltLen/4<<16|uint32(flags)<<8|sender>>16&0xff)
	binary.BigEndian.PutUint16(t[4:], uint16(sender))
	clear(t[6:BoltLen])
}

// Flags are what is written now.
func (t Bolt) Flags() BoltFlags { return BoltFlags(t[2]) }

// Sender is the queue pair that sent the packet.
func (t Bolt) Sender() uint32 { return binary.BigEndian.Uint32(t[2:]) & (1<<24 - 1) }

// Report is the longest queue that the packet met; nothing without BoltDEC.
func (t Bolt) Report() QueueReport { return queueReport(t[6:]) }

// Clear takes flags away.
func (t Bolt) Clear(flags BoltFlags) { t[2] &^= uint8(flags) }

// Congest notes a queue: the packet asks for no increase any more, and of several queues it says
// the longest. It answers whether this is the first one.
func (t Bolt) Congest(r QueueReport) (first bool) {
	first = t.Flags()&BoltDEC == 0
	t.Clear(BoltINC)
	if first || r.Drain > t.Report().Drain {
		r.put(t[6:])
	}
	t[2] |= uint8(BoltDEC)
	return first
}

// BoltEchoLen is the length of a BoltEcho.
const BoltEchoLen = 16

// BoltEcho is the TLV of an XACK that tells what the packets of the flow have said since it began.
// It counts: an ACK that is lost loses nothing.
type BoltEcho []byte

// BoltCounts is what a receiver has seen of a flow's packets. Counts are modulo their width.
type BoltCounts struct {
	AI, DEC uint16 // packets with the flag
	INC     uint32
	Report  QueueReport // of the newest packet with BoltDEC
}

// Add counts a packet.
func (c *BoltCounts) Add(t Bolt) {
	flags := t.Flags()
	if flags&BoltAI != 0 {
		c.AI++
	}
	if flags&BoltINC != 0 {
		c.INC++
	}
	if flags&BoltDEC != 0 {
		c.DEC++
		c.Report = t.Report()
	}
}

// Set writes the whole TLV.
func (t BoltEcho) Set(c BoltCounts) {
	binary.BigEndian.PutUint32(t, uint32(TLVBoltEcho)<<24|BoltEchoLen/4<<16|uint32(c.AI))
	binary.BigEndian.PutUint32(t[4:], c.INC)
	binary.BigEndian.PutUint16(t[8:], c.DEC)
	c.Report.put(t[10:])
}

// Counts reads it.
func (t BoltEcho) Counts() BoltCounts {
	return BoltCounts{AI: binary.BigEndian.Uint16(t[2:]), INC: binary.BigEndian.Uint32(t[4:]),
		DEC:    binary.BigEndian.Uint16(t[8:]),
		Report: queueReport(t[10:])}
}

// AsBolt returns tlv as a Bolt, or nil if it is another TLV or nil.
func AsBolt(tlv []byte) Bolt {
	if len(tlv) == 0 || TLVType(tlv[0]) != TLVBolt {
		return nil
	}
	return Bolt(tlv)
}
